"""Whether an address leads to a host it may lead to. Where a server redirects to is seen by nobody here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_ctxguard.domain.host import DEFAULT_PORTS, AddressRefusedError, HostPattern, Place, place_of


def address_fault(value: Any, patterns: Iterable[HostPattern], schemes: Iterable[str]) -> str | None:
    """Return why an address may not be used, `None` where it leads to one of the hosts."""
    if not isinstance(value, str):
        return f"{value!r} is no address"
    try:
        place = place_of(value)
    except AddressRefusedError as error:
        return f"'{value[:200]}' cannot be trusted to lead where it seems to: {error}"
    allowed = tuple(schemes)
    if place.scheme and place.scheme not in allowed:
        return f"'{value[:200]}' uses {place.scheme}, not {' or '.join(allowed)}"
    tried = [place] if place.scheme else [Place(scheme, place.host, place.port or DEFAULT_PORTS.get(scheme), place.is_ip) for scheme in allowed]
    if all(any(pattern.fits(one) for pattern in patterns) for one in tried):
        return None
    port = "" if place.port is None or place.port == DEFAULT_PORTS.get(place.scheme) else f":{place.port}"
    return f"'{place.host}{port}' is none of the hosts allowed"
