"""How the functions of the core are called: what a reader of a call cannot tell from its place has a name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

from langchain_ctxguard import core

MODULES = sorted(module.name for module in pkgutil.iter_modules(core.__path__))


def functions(name: str) -> Iterator[tuple[str, Any]]:
    """The functions and methods that a module makes."""
    module = importlib.import_module(f"{core.__name__}.{name}")
    for owner in [module, *(one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__)]:
        for value in vars(owner).values():
            function = inspect.unwrap(value.__func__ if isinstance(value, classmethod | staticmethod) else value) if callable(value) else None
            if inspect.isfunction(function) and function.__module__ == module.__name__ and function.__code__.co_filename == module.__file__:
                yield f"{name}.{function.__qualname__}", function


@pytest.mark.parametrize("name", MODULES)
def test_flags_are_named_and_every_argument_may_be(name: str) -> None:
    """No argument is by place alone; a flag is by name alone, unless it is the only thing a function is told."""
    for where, function in functions(name):
        arguments = [one for one in inspect.signature(function).parameters.values() if one.name not in {"self", "cls"}]
        assert [] == [one.name for one in arguments if one.kind is inspect.Parameter.POSITIONAL_ONLY], where
        flags = [one for one in arguments if one.annotation in {"bool", bool}]
        assert [] == [one.name for one in flags if one.kind is not inspect.Parameter.KEYWORD_ONLY and len(arguments) > 1], where
