"""Case files on disk, and the cases that ship with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from langchain_ctxguard.domain.config_text import read_data
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.testing.retention.case import RetentionCase, cases_in

SUFFIX: Final = ".retention.yaml"
"""How the name of a case file ends."""

STARTER = Path(__file__).parent.parent / "cases"
"""The cases that ship."""


def read_cases(path: Path) -> list[RetentionCase]:
    """Return the cases of one file, in order.

    Raises:
        ConfigurationError: naming the file and the line or the case.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"Cannot read the case file '{path}': {error}."
        raise ConfigurationError(msg) from error
    return cases_in(read_data(text, name=str(path)), place=str(path))


def case_files(path: Path) -> list[Path]:
    """Return the file itself, or all case files below a folder, sorted.

    Raises:
        ConfigurationError: there is none.
    """
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob(f"*{SUFFIX}"))
    if not found:
        msg = f"There is no file '*{SUFFIX}' below '{path}'. `ctxguard check --starter` runs the cases that ship."
        raise ConfigurationError(msg)
    return found


def starter_cases() -> list[RetentionCase]:
    """Return the cases that ship: the order assistant in two languages, and cases for every failure path."""
    return [case for path in case_files(STARTER) for case in read_cases(path)]
