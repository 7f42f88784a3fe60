"""YAML text to a mapping, and where in the text a key stands. And the two checks every section shares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from langchain_ctxguard.errors import ConfigurationError


class _UniqueKeyLoader(yaml.SafeLoader):
    """A loader that refuses a key given twice: YAML would silently keep the last."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - as below
        """Return the value of `node`; what looks like a date or number and is none is refused where it stands."""
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, OverflowError) as error:
            problem = f"{node.value!r} is not the value it looks like ({error}); put it in quotes"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the signature is PyYAML's
        """Return the mapping of `node`; raise on a repeated key."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                problem = f"a key is a text, not {key_node.value if isinstance(key_node, yaml.ScalarNode) else 'a collection'}; put it in quotes"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            if key in seen:
                problem = f"the key {key!r} is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read_mapping(text: str, *, name: str) -> dict[str, Any]:
    """Return the mapping that `text` holds; an empty text is an empty mapping.

    Raises:
        ConfigurationError: naming `name` and the line.
    """
    data = read_data(text, name=name)
    if data is None:
        return {}
    if not isinstance(data, dict):
        msg = f"{name}:1: a config file is a mapping of sections (constraints, compaction), not a {type(data).__name__}."
        raise ConfigurationError(msg)
    return data


def read_data(text: str, *, name: str) -> Any:
    """Return what a YAML text holds.

    Raises:
        ConfigurationError: naming `name` and the line.
    """
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        msg = f"{name}:{line}: {error.problem or 'not valid YAML'}."
        raise ConfigurationError(msg) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character)
        msg = f"{name}:{line}: the character U+{code:04X} may not stand in a YAML file."
        raise ConfigurationError(msg) from error
    except RecursionError as error:
        msg = f"{name}:1: the file is nested too deep to be a config."
        raise ConfigurationError(msg) from error


def read_file(source: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a config file and the mapping it holds.

    Raises:
        ConfigurationError: naming the file, and the line where there is one.
    """
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"Cannot read the config file '{source}': {error}."
        raise ConfigurationError(msg) from error
    return text, read_mapping(text, name=str(source))


def known_timezone(timezone: str) -> str:
    """Return the name of a time zone that is known here.

    Raises:
        ValueError: it is not.
    """
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        msg = f"{timezone!r} is no IANA time zone known here; use a name such as 'Europe/Berlin' or 'Asia/Shanghai'"
        raise ValueError(msg) from error
    return timezone


def locate(text: str, path: Sequence[str | int]) -> int:
    """Return the line, from 1, of the deepest part of `path` that stands in `text`."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = 1
    for part in path:
        found = None
        if isinstance(part, int) and isinstance(node, yaml.MappingNode):
            # One mapping may stand where a list of them is meant.
            continue
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    line, found = key.start_mark.line + 1, value
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = node.value[part]
            line = found.start_mark.line + 1
        if found is None:
            return line
        node = found
    return line
