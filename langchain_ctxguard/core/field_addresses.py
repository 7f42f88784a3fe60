"""Candidates written as one token: addresses, paths, codes, identifiers, versions. A reader says what a candidate is, or that it is nothing."""

from __future__ import annotations

import ipaddress
import re

from langchain_ctxguard.core.field_ids import identify, is_bare_number, named_by
from langchain_ctxguard.core.field_patterns import Candidate
from langchain_ctxguard.core.field_state import Found, Reading, dotted_at
from langchain_ctxguard.domain.control import FieldKind

_TRAILING = ".,;:!?'\"*_~"
_CONNECTIONS = re.compile(
    r"(?:jdbc|mongodb|postgres|postgresql|mysql|mariadb|redis|rediss|amqp|amqps|kafka|mqtt|mqtts|influxdb|cassandra|clickhouse|neo4j|bolt|ldap"
    r"|ldaps|oracle|mssql|sqlserver"
    r"|sqlite|db2|couchdb|couchbase|memcached|nats|pulsar|etcd|zookeeper|elasticsearch|snowflake|bigquery|trino|presto|hive|cockroachdb|rabbitmq"
    r"|odbc|smtp|smtps|imap|imaps)"
    r"(?:\+[a-z0-9]+)?(?::[a-z0-9:@]+)?:",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_FOLDERS = frozenset(
    [
        "src",
        "lib",
        "bin",
        "app",
        "test",
        "tests",
        "docs",
        "dist",
        "build",
        "etc",
        "var",
        "usr",
        "home",
        "opt",
        "tmp",
        "data",
        "packages",
        "pkg",
        "cmd",
        "internal",
        "assets",
        "scripts",
        "config",
        "public",
        "static",
        "node_modules",
        "target",
        "out",
    ]
)
_ANCHOR = re.compile(r"::[A-Za-z_~]|:[0-9]+(?::[0-9]+)?$")
_ERROR_WORDS = re.compile(
    r"ERR|ERROR|FAIL|TIMEOUT|TIMEDOUT|INVALID|DENIED|REFUSED|LOCKED|EXCEED|UNAVAILABLE|NOT_FOUND|CONFLICT|EXPIRED|FORBIDDEN|UNAUTHORIZED"
    r"|MISSING|REJECTED|OVERFLOW|ABORT|RESET|QUOTA|VIOLATION|EXCEPTION|PANIC|FAULT|DISCONNECT|CORRUPT|MISMATCH|DUPLICATE|DEADLOCK|UNREACHABLE"
    r"|REMOVED|OVERLAP|FULL$"
)
_ERRNO = re.compile(
    r"E(?:ACCES|ADDRINUSE|ADDRNOTAVAIL|AGAIN|ALREADY|BADF|BUSY|CONNABORTED|CONNREFUSED|CONNRESET|EXIST|FAULT|FBIG|HOSTUNREACH|INTR|INVAL|ISDIR"
    r"|LOOP|MFILE|MSGSIZE|NAMETOOLONG"
    r"|NETDOWN|NETUNREACH|NFILE|NOBUFS|NODEV|NOENT|NOEXEC|NOLCK|NOMEM|NOPROTOOPT|NOSPC|NOSYS|NOTCONN|NOTDIR|NOTEMPTY|NOTFOUND|NOTSOCK|NOTSUP|PERM"
    r"|PIPE|PROTO|PROTONOSUPPORT"
    r"|RANGE|ROFS|SRCH|TIMEDOUT|TIMEOUT|XDEV|RESOLVE|INTEGRITY|TARGET|PEERINVALID|LIFECYCLE|USAGE|PUBLISHCONFLICT|CANCELED|OTP|BADENGINE"
    r"|BADPLATFORM|JSONPARSE|AI_AGAIN)$"
)
_PLAIN_WORDS = frozenset(
    [
        "Office",
        "Unity",
        "Express",
        "Phoenix",
        "Spark",
        "Consul",
        "Vault",
        "Remix",
        "Astro",
        "Bun",
        "Caddy",
        "Excel",
        "Outlook",
        "Oracle",
        "Edge",
        "Opera",
        "Unreal",
        "Safari",
        "Spring",
        "Swift",
        "Flask",
        "Rails",
        "Celery",
        "Poetry",
        "Hive",
        "Bash",
        "Envoy",
        "Lua",
        "Julia",
        "Git",
        "Windows",
        "Bootstrap",
        "Electron",
        "Docker",
        "Linux",
    ]
) - {"Windows"}
_HAN_START = re.compile("[\u4e00-\u9fff]")
_DOCKET = re.compile(r"[〔\[（(](?:19|20)[0-9]{2}[〕\]）)][\u4e00-\u9fff0-9]{0,12}?第?[0-9]{1,8}号")
_DOCKET_LEAD = re.compile(
    r"(?:(?:号|批文|房产证|产权证|许可证|证书|公证书|判决书|裁定书|决定书|通知书|文件)(?:是|为|:|：)?)?((?:(?!号)[\u4e00-\u9fff]){1,8}|[A-Z]{1,4})$"
)
_NAMED_PAPER = re.compile("(?:批文|房产证|产权证|许可证|证书|公证书|判决书|裁定书|决定书|通知书|文件)(?:是|为)?")
_FILE_IN_CLAUSE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}(?=[\u4e00-\u9fff])")


def address(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a URL, or the string a program connects with."""
    _, start, stop = candidate
    stop = _unpunctuated(text, start, stop)
    span = text[start:stop]
    if _CONNECTIONS.match(span) or ("@" in span and "://" in span and not span.lower().startswith(("http", "ftp", "ssh", "git"))):
        return Found(FieldKind.CONNECTION_STRING, start, stop)
    if span.endswith("//") or (span.startswith("www.") and span.count(".") < 2):  # noqa: PLR2004 - www.name.tld
        return None
    return Found(FieldKind.URL, start, stop)


def settings(_reading: Reading, _text: str, candidate: Candidate) -> Found | None:
    """Return a connection string made of settings: `Server=...;Database=...`."""
    return Found(FieldKind.CONNECTION_STRING, candidate.start, candidate.stop)


def email(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return an email address without the full stop behind it."""
    return Found(FieldKind.EMAIL, candidate.start, _unpunctuated(text, candidate.start, candidate.stop))


def windows(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a Windows path or a share."""
    stop = _unpunctuated(text, candidate.start, candidate.stop)
    if clause := _FILE_IN_CLAUSE.search(text, max(candidate.start, text.rfind("\\", candidate.start, stop)), stop):
        stop = clause.end()
    return Found(FieldKind.PATH, candidate.start, stop) if stop - candidate.start > 3 else None  # noqa: PLR2004 - C:\ alone


def path(reading: Reading, text: str, candidate: Candidate) -> Found | None:  # noqa: PLR0911 - a list of cases
    """Return a path, or an anchor in a file; alternatives such as and/or are neither."""
    _, start, stop = candidate
    end = _unpunctuated(text, start, stop)
    span = text[start:end]
    if stop > end and text[end] == "?" and "::" in span and end + 1 < len(text) and not text[end + 1].isspace():
        end += 1
        span = text[start:end]
    before = text[start - 1] if start else " "
    if _ANCHOR.search(span):
        return Found(FieldKind.ANCHOR, start, end)
    if before in "<:=" and span.startswith("/") and before not in {"=", ":"}:
        return None  # a closing tag
    parts = [part for part in span.strip("/").split("/") if part]
    if not parts or all(part.replace(".", "").replace("-", "").isdigit() for part in parts):
        return token(reading, text, Candidate("token", start, end)) if parts else None
    if span[0] in "/~." and span[:2] != "//":
        if before.isascii() and before.isalnum():
            return None
        return (
            Found(FieldKind.PATH, start, end)
            if len(parts) > 1
            or parts[0] in _FOLDERS
            or (len(parts[0]) > 3 and parts[0].isascii() and parts[0].islower())  # noqa: PLR2004
            or _EXTENSION.search(span)
            or span.endswith("/")
            else None
        )
    if len(parts) == 1:
        return None
    if re.fullmatch(r"[0-9.]*(?:[A-Za-z]+)/[A-Za-z]+", span) and not _EXTENSION.search(span) and parts[0] not in _FOLDERS:
        return None
    has_extension = _EXTENSION.search(parts[-1]) is not None and not parts[-1][0].isdigit()
    if (
        has_extension
        or parts[0] in _FOLDERS
        or (len(parts) > 2 and all(part.islower() or not part.isalpha() for part in parts))  # noqa: PLR2004
        or span.endswith("/")
    ):
        return Found(FieldKind.PATH, start, end)
    return None


def code(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a status or exit code with the word that says so."""
    _, start, stop = candidate
    span = text[start:stop]
    low = span.lower()
    number = re.search("[0-9]+", span)
    if low.startswith("code") and number:
        return None
    if low.startswith("status") and (number is None or len(number[0]) != 3):  # noqa: PLR2004 - HTTP statuses have three digits
        return None
    if (
        low.startswith("error")
        and number
        and span.isascii()
        and low[:5] == "error"
        and not re.match(r"(?:ERROR|[Ee]rror code) ?[:=#]? ?[0-9]{2,}|[Ee]rror [0-9]{3,}", span)
    ):
        return None
    return Found(FieldKind.ERROR_CODE, start, stop)


def groups(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a card or account number written in groups of four; a short one needs the word."""
    _, start, stop = candidate
    if text[stop : stop + 1] in {"-", "/"}:
        stop += 1 + dotted_at(text, stop + 1) if dotted_at(text, stop + 1) else 0
    if candidate.stop - start < 13:  # noqa: PLR2004 - two groups and a rest
        kind, is_tight, _ = named_by(text, start)
        return Found(FieldKind.ID, start, stop) if is_tight and kind is FieldKind.ID else None
    return Found(FieldKind.ID, start, stop)


def iban(reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return an IBAN whose check digits are right, without the words behind it."""
    _, start, stop = candidate
    while stop - start > 14:  # noqa: PLR2004 - the shortest IBAN has 15 characters
        if _is_iban(text[start:stop].replace(" ", "")):
            return Found(FieldKind.IBAN, start, stop)
        space = text.rfind(" ", start, stop)
        if space < 0:
            break
        stop = space
    length = dotted_at(text, start)
    return token(reading, text, Candidate("token", start, start + length)) if length > 5 else None  # noqa: PLR2004


def phone(reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a phone number; without a plus or a zero it needs the word."""
    _, start, stop = candidate
    digits = sum(character.isdigit() for character in text[start:stop])
    after = text[stop : stop + 2]
    if after[:1] in "-." and after[1:2].isalnum():
        return token(reading, text, Candidate("token", start, start + dotted_at(text, start)))
    if after[:1] in {" ", "-"} and after[1:2].isdigit():
        return None
    if not 7 <= digits <= 15:  # noqa: PLR2004 - E.164
        return None
    kind, is_tight, _ = named_by(text, start)
    if digits < 10 and text[start] not in "+(0" and not (is_tight and kind is FieldKind.PHONE):  # noqa: PLR2004 - a local number is one only beside the word
        return token(reading, text, Candidate("token", start, start + dotted_at(text, start)))
    if (
        text[start] not in "+("
        and is_tight
        and kind in {FieldKind.ID, FieldKind.ORDER_ID, FieldKind.INVOICE_ID}
        and not (text[start] == "0" and " " in text[start:stop] and is_bare_number(text, start))
    ):
        return Found(kind or FieldKind.ID, start, stop)
    return Found(FieldKind.PHONE, start, stop)


def version(_reading: Reading, text: str, candidate: Candidate) -> Found | None:  # noqa: PLR0911 - a list of cases
    """Return a version: `v2.1`, or a product with its number."""
    _, start, stop = candidate
    span = text[start:stop]
    if span[0] in "vV" and span[1:2].isdigit():
        # v2 in a path or a name is part of it.
        return (
            None if text[stop : stop + 1] in {"_", "/", ":", "-"} or (start and text[start - 1] in "/_-.") else Found(FieldKind.VERSION, start, stop)
        )
    if span[:7].lower() == "version":
        number = re.search(r"v?[0-9].*", span)
        return Found(FieldKind.VERSION, start + number.start(), stop) if number else None
    if span[:5].lower() == "build" and "." in span:
        return Found(FieldKind.VERSION, start + 6, stop)
    name = re.match("[A-Za-z. ]+", span)
    if (" " not in span and not span[0].isupper()) or (name and name[0].strip() in _PLAIN_WORDS and "." not in span) or re.search(" 0[0-9]", span):
        return None
    number = re.search(r"[0-9].*", span)
    if number and number[0].isdigit() and int(number[0][:6]) >= 1000 and not span.startswith("Windows"):  # noqa: PLR2004 - a year, a count
        return None
    if re.match(r"[ ]?(?:times|days|minutes|hours|people|of|percent|%)|-[A-Za-z]", text[stop : stop + 8]) or (
        span.startswith(("Go ", "Edge ", "React ")) and "." not in span
    ):
        return None
    return Found(FieldKind.VERSION, start, stop)


def colons(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return an IPv6 address, or bytes written in hexadecimal."""
    _, start, stop = candidate
    span = text[start:stop]
    if text[stop : stop + 1] == "-" and text[stop + 1 : stop + 2].isalnum():
        return None
    address = span.partition("/")[0]
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        pairs = span.split(":")
        if len(pairs) > 3 and all(len(pair) == 2 for pair in pairs):  # noqa: PLR2004 - bytes in hexadecimal
            return Found(FieldKind.ID, start, stop)
        return None
    return Found(FieldKind.IP, start, stop) if address.count(":") > 1 and len(address) > 3 else None  # noqa: PLR2004 - `::` alone


def token(reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return what a token of letters and digits identifies."""
    _, start, stop = candidate
    before = text[start - 1] if start else " "
    if before in "./@=\\" and start > 1 and not text[start - 2].isspace() and before != "=":
        return None
    after = text[stop : stop + 2]
    if after[:1] == "-" and after[1:2].isalnum() and " " in text[start:stop]:
        return None
    if after[:1] == "@" or (after[:1] == "(" and text[start].islower()):
        return None
    named = identify(text, start, stop, reading.known)
    return None if named is None else Found(named.kind, named.start, named.stop, None, named.confidence)


def shout(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return an error code in capitals, or a registration."""
    _, start, stop = candidate
    span = text[start:stop]
    if _ERRNO.match(span):
        return Found(FieldKind.ERROR_CODE, start, stop)
    if "_" in span:
        if re.search(r"(?:失败|被拒|拒绝|原因|failed|declined|rejected|reason|状态)[^。；;\n]{0,6}$", text[max(0, start - 14) : start]):
            return Found(FieldKind.ERROR_CODE, start, stop)
        kind, is_tight, _ = named_by(text, start)
        if _ERROR_WORDS.search(span) or span.startswith("E_") or (is_tight and kind is FieldKind.ERROR_CODE):
            return Found(FieldKind.ERROR_CODE, start, stop)
        return None
    if re.fullmatch("[A-Z]-[A-Z]{4}", span):
        kind, is_tight, _ = named_by(text, start)
        return Found(FieldKind.ID, start, stop) if is_tight and kind is FieldKind.ID else None
    return None


def docket(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a number plate, or the number of a court's or an office's file."""
    if _HAN_START.match(text, candidate.start):
        if text[candidate.stop : candidate.stop + 1] == "-" and text[candidate.stop + 1 : candidate.stop + 2].isalnum():
            return None
        return Found(FieldKind.ID, candidate.start, candidate.stop)
    found = _DOCKET.match(text, candidate.start)
    if not found:
        return None
    lead = _DOCKET_LEAD.search(text, max(0, candidate.start - 12), candidate.start)
    start = lead.start(1) if lead else candidate.start
    # The word for the paper is no part of its number.
    for paper in _NAMED_PAPER.finditer(text, start, candidate.start):
        start = paper.end()
    return Found(FieldKind.ID, start, found.end())


def _unpunctuated(text: str, start: int, stop: int) -> int:
    """Return the end of an address without closing punctuation and without a bracket it did not open."""
    while stop > start + 1:
        last = text[stop - 1]
        if last in _TRAILING or (last in ")]" and text.count("([}"[0 if last == ")" else 1], start, stop) < text.count(last, start, stop)):
            stop -= 1
        else:
            break
    return stop


def _is_iban(plain: str) -> bool:
    if not 15 <= len(plain) <= 34 or not plain.isalnum():  # noqa: PLR2004 - ISO 13616
        return False
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1
