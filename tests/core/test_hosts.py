"""Why an address may not be used, in words a person can act on."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.hosts import address_fault
from langchain_ctxguard.domain.host import host_pattern


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("https://evil.example:443/x", "'evil.example' is none of the hosts allowed"),
        ("https://evil.example/x", "'evil.example' is none of the hosts allowed"),
        ("https://evil.example:8443", "'evil.example:8443' is none of the hosts allowed"),
        ("http://evil.example:443", "'evil.example:443' is none of the hosts allowed"),
        ("evil.example", "'evil.example' is none of the hosts allowed"),
        ("ftp://example.com", "'ftp://example.com' uses ftp, not https or http"),
        (5, "5 is no address"),
        ("https://example.com", None),
    ],
)
def test_a_fault_names_the_host_and_a_port_that_is_not_the_usual_one(address: object, fault: str | None) -> None:
    """However the usual port was written."""
    assert fault == address_fault(address, (host_pattern("example.com"),), ("https", "http"))
