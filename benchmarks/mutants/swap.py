"""Puts a fault into code that is loaded: in place where only functions differ, else by loading the package anew."""

from __future__ import annotations

import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Sequence

from benchmarks.mutants.sample import CORE

_PACKAGE = "langchain_ctxguard.core"
_OF_THE_REPOSITORY = frozenset({"langchain_ctxguard", "benchmarks", "tests"})
Key = tuple[str, str, int]


def functions() -> dict[Key, list[types.FunctionType]]:
    """Return the loaded functions of `core`, by file, qualified name and line."""
    found: dict[Key, list[types.FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and one.__code__.co_filename.startswith(str(CORE)):
            found.setdefault(_key(one.__code__), []).append(one)
    return found


def _key(code: types.CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def put_in(source: str, changed: str, path: str, known: dict[Key, list[types.FunctionType]]) -> bool:
    """Exchange the code of the functions that differ.

    Returns:
        `False` where more than functions differ, and nothing was done.
    """
    pairs = _differing(compile(source, path, "exec"), compile(changed, path, "exec"))
    if pairs is None or not all(_key(old) in known and old.co_freevars == new.co_freevars for old, new in pairs):
        return False
    for old, new in pairs:
        for function in known[_key(old)]:
            function.__code__ = new
    _forget()
    return True


def _differing(old: types.CodeType, new: types.CodeType) -> list[tuple[types.CodeType, types.CodeType]] | None:
    """Return the outermost functions that differ; `None` where what runs at import differs."""
    inner = list(zip(_codes(old), _codes(new), strict=False))
    if _without_codes(old) != _without_codes(new):
        return None
    found: list[tuple[types.CodeType, types.CodeType]] = []
    for was, becomes in inner:
        if was == becomes:
            continue
        if was.co_flags & 0x02:  # a function has fast locals, the body of a class has none
            found.append((was, becomes))
        elif (below := _differing(was, becomes)) is None:
            return None
        else:
            found += below
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    return (one for one in code.co_consts if isinstance(one, types.CodeType))


def _without_codes(code: types.CodeType) -> tuple[object, ...]:
    constants = tuple(repr(one) if not isinstance(one, types.CodeType) else None for one in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames


def _forget() -> None:
    """Empty what functions of the package keep of earlier calls."""
    for name, module in list(sys.modules.items()):
        if name.startswith("langchain_ctxguard"):
            for one in list(vars(module).values()):
                if isinstance(one, functools._lru_cache_wrapper):  # noqa: SLF001 - the type has no public name
                    one.cache_clear()


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module with a fault in it."""

    def __init__(self, name: str, path: str, changed: str) -> None:
        self._name, self._path, self._changed = name, path, changed

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:  # noqa: ARG002
        """Return a specification for the module with the fault alone."""
        return importlib.util.spec_from_loader(fullname, self, origin=self._path) if fullname == self._name else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the changed text."""
        module.__file__ = self._path
        exec(compile(self._changed, self._path, "exec"), vars(module))  # noqa: S102 - our own code with a fault


def load_anew(module: str, changed: str) -> None:
    """Forget the package and its tests; the next import finds the module with the fault."""
    for name in [name for name in sys.modules if name.split(".")[0] in _OF_THE_REPOSITORY]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Changed(f"{_PACKAGE}.{module}", str(CORE / f"{module}.py"), changed))
