"""A folder with everything the examples of the commands name, made once and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.stored_world import make_folder


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder, to be read only."""
    return make_folder(tmp_path_factory.mktemp("world"))


@pytest.fixture
def world(made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder as the working folder of a test."""
    folder = tmp_path / "world"
    shutil.copytree(made_folder, folder)
    monkeypatch.chdir(folder)
    return folder
