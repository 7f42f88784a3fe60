from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.hosts import address_fault
from langchain_ctxguard.domain.host import AddressRefusedError, host_pattern, place_of

SCHEMES = ("https", "http")


def is_allowed(address: object, *hosts: str, schemes: tuple[str, ...] = SCHEMES) -> bool:
    return address_fault(address, tuple(map(host_pattern, hosts)), schemes) is None


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://example.com", "example.com"),
        ("https://example.com/a?b=c#d", "example.com"),
        ("HTTPS://EXAMPLE.com:443/", "example.com"),
        ("https://example.com./x", "example.com"),
        ("http://example.com:80", "example.com"),
        ("example.com/path", "example.com"),
        ("https://api.example.com/x", "*.example.com"),
        ("https://a.b.example.com", "*.example.com"),
        ("https://example.com:8443", "example.com:8443"),
        ("https://example.com:8443", "example.com:*"),
        ("https://[::1]:8080/", "[::1]:8080"),
        ("https://[0:0:0:0:0:0:0:1]/", "::1"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example/", "bücher.example"),
        ("https://BÜCHER.example/", "bücher.example"),
        ("https://例子.测试/路径?q=报告", "例子.测试"),
        ("https://my_bucket.example.com", "*.example.com"),
        ("https://example.com/@user", "example.com"),
        ("https://example.com/a:b@c", "example.com"),
        ("https://example.com?next=https://evil.example", "example.com"),
        ("https://x.example", "*"),
    ],
)
def test_an_address_of_an_allowed_host_is_allowed(address: str, host: str) -> None:
    """Case, a final dot, the usual port and either form of an international name make no other host."""
    assert is_allowed(address, host)


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example",
        "https://example.com.evil.example",
        "https://evil.example/example.com",
        "https://evil.example?example.com",
        "https://evil.example#example.com",
        "https://notexample.com",
        "https://example.comm",
        "https://sub.example.com",
        "https://example.com@evil.example",
        "https://example.com:443@evil.example",
        "https://user:pass@example.com",
        "https://example.com%40evil.example",
        "https://evil.example%2fexample.com",
        "https://evil.example\\@example.com",
        "https://evil.example\\.example.com",
        "https:\\\\evil.example",
        "https:/\\evil.example",
        "https:///evil.example",
        "https:evil.example",
        "//evil.example",
        "//example.com",
        "https://example.com:8080",
        "https://example.com:99999",
        "https://example.com:0",
        "https://example.com:80",
        "http://example.com:443",
        "ftp://example.com",
        "javascript:alert(1)//example.com",
        "data:text/html,example.com",
        "file://example.com/etc/passwd",
        "https://exam\tple.com",
        "https://exam\nple.com",
        "https://example.com\r\nHost: evil",
        " https://example.com",
        "https://example.com ",
        "https://example.com /x",
        "https://exam\u200bple.com",
        "https://exam\u00adple.com",
        "https://examp\u202ele.com",
        "https://example.com..",
        "https://.example.com",
        "https://example..com",
        "https://еxample.com",
        "https://exаmple.com",
        "https://example.c\u03bfm",
        "https://ex\u0131mple.com",
        "https://[::1]",
        "https://[::ffff:93.184.216.34]",
        "https://[fe80::1%25eth0]",
        "https://[example.com]",
        "https://",
        "https://?",
        "https://:80",
        "",
        "example.com:evil",
        "mailto:a@example.com",
        "https://-example.com",
        "https://example.com\x00.evil.example",
        "https://\ud800example.com",
        None,
        5,
        ["https://example.com"],
    ],
)
def test_no_trick_leads_to_another_host(address: object) -> None:
    """Where two programs could read an address differently, it is refused."""
    assert not is_allowed(address, "example.com")


@pytest.mark.parametrize(
    "form", ["2130706433", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "127.1", "127.0.1", "127.0.0.01", "127.0.0.1.", "127.0.0.0x1", "１２７.0.0.1"]
)
def test_an_ip_address_in_another_notation_is_refused(form: str) -> None:
    """Programs read octal, hexadecimal and short forms differently; only four decimal parts are one address."""
    assert not is_allowed(f"http://{form}/", "*", "example.com")
    if form not in {"127.0.0.1.", "１２７.0.0.1"}:
        with pytest.raises(AddressRefusedError):
            place_of(f"http://{form}/")


def test_any_host_means_any_name_with_a_dot() -> None:
    """`*` opens neither the machine itself nor its local network by number or short name."""
    for address in ("http://localhost/", "http://169.254.169.254/", "http://[::1]/", "http://intranet/"):
        assert not is_allowed(address, "*")


@pytest.mark.parametrize("host", ["faß.de", "ςigma.gr", "a\u200db.example"])
def test_a_name_that_programs_resolve_differently_is_refused(host: str) -> None:
    """Under old rules it is one host, under new rules another; its xn-- form is neither."""
    assert not is_allowed(f"https://{host}/", "fass.de", "*")
    with pytest.raises(ValueError, match=r"different hosts|no host"):
        host_pattern(host)


@pytest.mark.parametrize("text", ["", "http://x", "a b", "a/b", "a@b", "*.127.0.0.1", "exa*mple.com", "a..b", "[::1", "a:99999"])
def test_a_rule_names_hosts(text: str) -> None:
    """What could never match is refused where it is written."""
    with pytest.raises(ValueError, match=r"host|port"):
        host_pattern(text)


@given(st.text(alphabet=st.sampled_from("ex.com@:/\\?#[]%0x1-_ évil"), max_size=30))
def test_what_is_allowed_has_the_host_everybody_reads(rest: str) -> None:
    """Whatever surrounds it, an allowed address is one that Python's own reader takes to the same host."""
    from urllib.parse import urlsplit

    address = f"https://{rest}"
    if is_allowed(address, "example.com", "*.com"):
        assert (urlsplit(address).hostname or "").removesuffix(".").endswith("com")
