"""Which host an address names, and the hosts of a rule. An address that two programs could read differently is refused."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(?:[/?#].*)?", re.ASCII)
_WITHOUT_SCHEME = re.compile(r"([^/?#:]+(?::[0-9]{1,5})?)(?:[/?#].*)?", re.ASCII)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]+)(?::([0-9]{0,5}))?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
# Old and new rules for international names read these differently: one client goes to fass.de, another to faß.de.
_DEVIATING = frozenset("ßẞς\u200c\u200d")
_MOST = 253
_LONGEST = 65_536


@dataclass(frozen=True, slots=True)
class Place:
    """Where an address leads."""

    scheme: str
    """Empty where the address names none."""

    host: str
    """In its one form: lower case, punycode, no dot at the end; an IP address as the standard writes it."""

    port: int | None
    is_ip: bool


class AddressRefusedError(ValueError):
    """An address that must not be judged, because programs read it in different ways."""


def place_of(address: str) -> Place:
    r"""Return where an address leads.

    >>> place_of("https://Example.COM./x").host, place_of("http://bücher.example:8080").host, place_of("www.a.example/x").scheme
    ('example.com', 'xn--bcher-kva.example', '')

    Raises:
        AddressRefusedError: with the reason.
    """
    if len(address) > _LONGEST:
        msg = f"it is longer than {_LONGEST:,} characters, which programs cut in different places"
        raise AddressRefusedError(msg)
    is_plain = address.isascii() and address.isprintable() and " " not in address
    if not is_plain and any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"} for character in address):
        # Programs drop a tab, stop at a blank, or keep it.
        msg = "it holds a blank or a character nobody sees"
        raise AddressRefusedError(msg)
    if "\\" in address:
        msg = "it holds a backslash, which some programs take for a slash"
        raise AddressRefusedError(msg)
    if (found := _ADDRESS.fullmatch(address)) is not None:
        scheme, authority = found[1].lower(), found[2]
    elif "//" not in address[:2] and (bare := _WITHOUT_SCHEME.fullmatch(address)) is not None:
        scheme, authority = "", bare[1]
    else:
        msg = "it does not have the form scheme://host/path"
        raise AddressRefusedError(msg)
    if "@" in authority:
        msg = "it names a user before the host, which hides where it leads"
        raise AddressRefusedError(msg)
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        msg = "it names no host"
        raise AddressRefusedError(msg)
    host, is_ip = host_form(parts[1])
    return Place(scheme, host, _port(parts[2], scheme), is_ip)


def _port(digits: str | None, scheme: str) -> int | None:
    if not digits:
        return DEFAULT_PORTS.get(scheme)
    port = int(digits)
    if not 0 < port < 65_536:  # noqa: PLR2004 - what a port is
        msg = f"there is no port {port}"
        raise AddressRefusedError(msg)
    return port


@lru_cache(maxsize=4_096)
def host_form(host: str) -> tuple[str, bool]:
    """Return the one form of a host, and whether it is an IP address.

    Raises:
        AddressRefusedError: with the reason.
    """
    if host.startswith("[") and host.endswith("]"):
        return _ipv6(host[1:-1]), True
    if "%" in host:
        msg = "its host is encoded"
        raise AddressRefusedError(msg)
    name = host.lower() if host.isascii() else _in_ascii(host)
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        return _ipv4(name), True
    if len(name) > _MOST or not all(_LABEL.fullmatch(label) for label in labels):
        msg = f"'{host}' is no host name"
        raise AddressRefusedError(msg)
    return name, False


def _in_ascii(host: str) -> str:
    if any(character in _DEVIATING for character in host):
        msg = f"programs go to different hosts for '{host}'; write it in its xn-- form"
        raise AddressRefusedError(msg)
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        msg = f"'{host}' is no host name"
        raise AddressRefusedError(msg) from error


def _ipv4(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except AddressValueError as error:
        msg = f"'{text}' is a number that programs turn into an IP address in different ways; write it as four decimal parts"
        raise AddressRefusedError(msg) from error


def _ipv6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except AddressValueError as error:
        msg = f"'[{text}]' is no IP address"
        raise AddressRefusedError(msg) from error
    if address.scope_id is not None:
        msg = f"'[{text}]' names a network interface"
        raise AddressRefusedError(msg)
    return f"[{address.compressed}]"


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A host of a rule, ready to be compared."""

    host: str
    is_below: bool
    """`*.example.com`: what is below the host, not the host itself."""

    port: int | None
    """`None`: the usual port of the scheme; 0: any."""

    def fits(self, place: Place) -> bool:
        """Say whether an address leads there."""
        if self.port != 0 and place.port != (self.port or DEFAULT_PORTS.get(place.scheme)):
            return False
        if not self.is_below:
            return place.host == self.host
        if place.is_ip:
            return False
        # A name without a dot is a machine of the local network.
        return place.host.endswith(f".{self.host}") if self.host else "." in place.host


@lru_cache(maxsize=1_024)
def host_pattern(text: str) -> HostPattern:
    """Return a host of a rule, ready to be compared.

    Raises:
        ValueError: it is none.
    """
    bare, port = text, None
    if (found := re.fullmatch(r"(.+):(\d{1,5}|\*)", text)) and (not found[1].endswith(":") and ("[" in text or ":" not in found[1])):
        bare, port = found[1], 0 if found[2] == "*" else _port(found[2], "")
    if bare == "*":
        return HostPattern("", is_below=True, port=port)
    is_below = bare.startswith("*.")
    if any(mark in bare for mark in "/@?#"):
        msg = f"'{text}' is no host; write `example.com`, `*.example.com` or `example.com:8443`"
        raise ValueError(msg)
    try:
        form, is_ip = host_form(f"[{bare}]" if ":" in bare and not bare.startswith("[") else bare.removeprefix("*."))
    except AddressRefusedError as error:
        msg = f"'{text}' is no host: {error}"
        raise ValueError(msg) from error
    if is_below and is_ip:
        msg = f"'{text}' is no host: nothing is below an IP address"
        raise ValueError(msg)
    return HostPattern(form, is_below, port)
