"""A path as text: every way somebody may read it, or why nobody should. No file system here."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote_to_bytes

from langchain_ctxguard.core.lexicon import without_invisible

Flavour = Literal["posix", "windows"]

_ROUNDS = 4
"""How often a path may be encoded; one that still changes after that hides something."""

_LONGEST = 32_767
"""What Windows takes at most; others take less."""

_SLASHES = str.maketrans(
    {"\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u2571": "/", "\u1735": "/", "\u2216": "\\", "\u29f5": "\\", "\u29f9": "\\", "\u2572": "\\"}
)
_DOTS = str.maketrans({"\u2024": ".", "\u3002": ".", "\u0701": ".", "\u0702": ".", "\u06d4": ".", "\ua4f8": ".", "\u2025": ".."})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):", re.ASCII)
_SCHEMES = frozenset("blob data ftp ftps git glob http https jar javascript nfs phar php s3 sftp smb ssh vscode zip".split())  # noqa: SIM905
_DRIVE = re.compile(r"[A-Za-z]:", re.ASCII)
_VARIABLE = re.compile(r"\$[A-Za-z_{(\[]|`|%(?![0-9A-Fa-f]{2})[A-Za-z_()][^%/\\]*%")
_PERCENT = re.compile(r"%(?:[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})", re.ASCII)
_PERCENT_U = re.compile(r"%u([0-9A-Fa-f]{4})", re.ASCII)
_SHORT = re.compile(r"[^.~]{1,6}~[0-9]{1,2}(?:\.[^.]{0,3})?")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?:[ .:].*)?", re.IGNORECASE)
_QUOTES = "'\"`\u2018\u2019\u201c\u201d"


class PathRefusedError(ValueError):
    """A path that must not be judged, because programs read it in different ways. `instead` says how to write it."""

    def __init__(self, reason: str, instead: str) -> None:
        """Keep the advice beside the reason."""
        super().__init__(reason)
        self.instead = instead


@lru_cache(maxsize=1_024)
def readings(text: str, *, flavour: Flavour = "posix") -> tuple[str, ...]:
    r"""Return every path `text` may be read as, as written first, with `/` between names.

    >>> readings("src/a.py"), readings("a\\b"), readings("%2e%2e/x")
    (('src/a.py',), ('a\\b', 'a/b'), ('%2e%2e/x', '../x'))

    Raises:
        PathRefusedError: it names another machine, a device, a variable, or is no path at all.
    """
    if len(text) > _LONGEST:
        msg = f"{shown(text)} is longer than any path"
        raise PathRefusedError(msg, "Name the file.")
    found: dict[str, None] = {}
    waiting = [text]
    for _ in range(_ROUNDS):
        fresh = [form for form in waiting if form not in found]
        found.update(dict.fromkeys(fresh))
        waiting = [other for form in fresh for other in _other_forms(form) if other not in found]
        if not waiting:
            break
    if waiting:
        msg = f"{shown(text)} is encoded more than once"
        raise PathRefusedError(msg, "Write the path plainly.")
    told: dict[str, None] = {}
    for form in found:
        _refuse(form, flavour)
        path = _from_url(form) if form[:5].casefold() == "file:" else form
        if path is not form:
            told.update(dict.fromkeys(readings(path, flavour=flavour)))
            continue
        slashed = path.replace("\\", "/") if "\\" in path else path
        for plain in (path, slashed) if flavour == "posix" and slashed is not path else (slashed,):
            _refuse_names(plain, flavour)
            told[plain] = None
    return tuple(told)


def _other_forms(text: str) -> list[str]:
    forms = []
    if (bare := text.strip()) != text:
        forms.append(bare)
    if "%" in text and _PERCENT.search(text):
        forms.append(_decoded(text))
    if not text.isascii():
        # A dot or slash of another script is no separator to the kernel, but it becomes one where a program normalizes the text.
        forms.append(unicodedata.normalize("NFC", text))
        plain = unicodedata.normalize("NFKC", without_invisible(text).translate(_DOTS).translate(_SLASHES)).translate(_SLASHES)
        forms.append(plain)
    return [form for form in forms if form != text]


def _decoded(text: str) -> str:
    text = _PERCENT_U.sub(lambda found: chr(int(found[1], 16)), text)
    try:
        return unquote_to_bytes(text.encode("utf-8")).decode("utf-8")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        msg = f"{shown(text)} hides characters behind an encoding that is no UTF-8"
        raise PathRefusedError(msg, "Write the path plainly.") from error


def _refuse(text: str, flavour: Flavour) -> None:
    if not text.strip():
        msg = "an empty path names no file"
        raise PathRefusedError(msg, "Name the file.")
    # What is printable throughout holds none of them.
    if not text.isprintable() and any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in text):
        msg = f"{shown(text)} holds a control character"
        raise PathRefusedError(msg, "Write the path without it.")
    if text[0] in _QUOTES or text[-1] in _QUOTES:
        msg = f"{shown(text)} has quotation marks around it"
        raise PathRefusedError(msg, "Write the path without them.")
    if text.startswith(("~", "./~/", ".\\~\\")):
        msg = f"{shown(text)} begins in somebody's home folder"
        raise PathRefusedError(msg, "Write the path out, from the root or from the workspace.")
    if _VARIABLE.search(text):
        msg = f"{shown(text)} holds a variable or a command"
        raise PathRefusedError(msg, "Write the path out.")
    if "*" in text or "?" in text.removeprefix("\\\\?\\"):
        msg = f"{shown(text)} is a pattern: which files it names can only be told when it is used"
        raise PathRefusedError(msg, "Name each file.")
    _refuse_places(text, flavour)


def _refuse_places(text: str, flavour: Flavour) -> None:
    plain = text.replace("\\", "/")
    if plain.startswith(("//", "/??/", "/?/")):
        msg = f"{shown(text)} names another machine, or a device"
        raise PathRefusedError(msg, "Use a path on this machine, with one slash at its front.")
    if _DRIVE.match(text):
        if flavour == "posix" or plain[2:3] != "/":
            msg = f"{shown(text)} begins with a drive" + ("" if flavour == "posix" else " and goes on from wherever that drive stands")
            raise PathRefusedError(msg, "Use a path of this machine." if flavour == "posix" else "Write the path out from the root of the drive.")
    elif (scheme := _SCHEME.match(text)) and _is_address(scheme[1].casefold(), plain[scheme.end() :], flavour):
        msg = f"{shown(text)} is an address, not a path"
        raise PathRefusedError(msg, "Use a path.")
    elif flavour == "windows" and plain.startswith("/"):
        msg = f"{shown(text)} begins at the root of whatever drive is current"
        raise PathRefusedError(msg, "Write the path with its drive.")


def _is_address(scheme: str, rest: str, flavour: Flavour) -> bool:
    # A colon may stand in a name; only on Windows it may not.
    return scheme != "file" and (rest.startswith("/") or "://" in rest or scheme in _SCHEMES or flavour == "windows")


def _refuse_names(path: str, flavour: Flavour) -> None:
    rest = path[2:] if flavour == "windows" and _DRIVE.match(path) else path
    for name in rest.split("/"):
        if name in {"", ".", ".."}:
            continue
        if not name.strip(". "):
            msg = f"{shown(path)} holds a name of nothing but dots and blanks"
            raise PathRefusedError(msg, "Use `..` or a name.")
        if flavour == "windows" and (":" in name or _DEVICE.fullmatch(name) or _SHORT.fullmatch(name) or name[-1] in ". "):
            msg = f"in {shown(path)}, Windows reads '{name}' as a device, a stream, a short name, or without its end"
            raise PathRefusedError(msg, "Use the file's full name.")


def _from_url(text: str) -> str:
    rest = text[5:].replace("\\", "/")
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.casefold() not in {"", "localhost"} or not slash:
            msg = f"{shown(text)} names another machine"
            raise PathRefusedError(msg, "Use a path on this machine.")
        rest = f"/{path}"
    if rest.startswith("//") or not rest.startswith("/"):
        msg = f"{shown(text)} is no address of a file that everybody reads alike"
        raise PathRefusedError(msg, "Use a path.")
    if "#" in rest or "?" in rest:
        msg = f"{shown(text)} has a query or a fragment, which some programs take for a part of the name"
        raise PathRefusedError(msg, "Use a path.")
    return rest[1:] if re.match(r"/[A-Za-z]:", rest) else rest


def has_short_name(path: str) -> bool:
    """Say whether a name in `path` has the form Windows gives to long names: `GIT~1` may be `.git`."""
    return "~" in path and any(_SHORT.fullmatch(name) for name in path.split("/"))


def comparable(path: str) -> tuple[str, ...]:
    """Return the forms in which `path` is held against protected names: one case, one normal form; and as Windows trims names.

    >>> comparable("A/.GIT/config"), comparable("k.pem::$DATA"), comparable(".git./x")
    (('a/.git/config',), ('k.pem::$data', 'k.pem'), ('.git./x', '.git/x'))
    """
    plain = unicodedata.normalize("NFKC", without_invisible(path)).casefold() if not path.isascii() else path.lower()
    if ":" not in plain and ". " not in plain and "./" not in plain and " /" not in plain and plain[-1:] not in {".", " "}:
        return (plain,)
    trimmed = "/".join(name.partition(":")[0].rstrip(". ") or name for name in plain.split("/"))
    return (plain,) if trimmed == plain else (plain, trimmed)


def shown(text: str) -> str:
    """Return a text between quotation marks, short, with what nobody sees made visible."""
    told = "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text[:120])
    return f"'{told}…'" if len(text) > 120 else f"'{told}'"  # noqa: PLR2004 - enough to know it by
