"""Which files of a conversation a text still names, whole or by enough of their folders to mean no other."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.audit_files import Touched, lost_files


def lost(text: str, *paths: str, kept: tuple[str, ...] = ()) -> list[str]:
    held = [Touched(path, is_written=True, message_index=number, message_id=f"m{number}") for number, path in enumerate(paths)]
    return [finding.text for finding in lost_files(held, text, set(kept))]


@pytest.mark.parametrize(
    ("path", "text", "is_named"),
    [
        ("src/app/refund.py", "edited src/app/refund.py", True),
        ("src/app/refund.py", "edited refund.py.", True),
        ("src/app/refund.py", "edited /home/ann/src/app/refund.py", True),
        ("src/app/refund.py", "edited ./refund.py", True),
        ("src/app/refund.py", "edited my_refund.py", False),
        ("src/app/refund.py", "edited refund.pyi", False),
        ("src/app/refund.py", "edited refund.py.bak", False),
        ("src/app/refund.py", "the app", False),
        ("/srv/app/refund.py", "edited /srv/app/refund.py", True),
        ("/srv/app/refund.py", "edited app/refund.py", True),
        (".env", "set in .env", True),
        (".env", "(.env)", True),
        (".env", "set in prod.env", False),
        (".env", "set in .env.local", False),
        ("-draft.md", "see my-draft.md", False),
        ("src/app/", "all of src/app", True),
        ("src/app/", "all of /home/ann/src/app", True),
        ("src/app/", "all of src/apps", False),
        ("src\\app\\refund.py", "edited app/refund.py", True),
        ("src/app/refund.py", "", False),
    ],
)
def test_a_file_is_named_by_a_whole_name(path: str, text: str, *, is_named: bool) -> None:
    """No longer name goes on at either edge; what it is relative to may stand before it."""
    assert ([] if is_named else [path]) == lost(text, path)


def test_a_name_of_two_files_names_neither() -> None:
    """Each needs the folder that tells them apart."""
    paths = ("src/app/total.py", "src/test/total.py")
    assert [*paths] == lost("edited total.py", *paths)
    assert [paths[1]] == lost("edited app/total.py", *paths)
    assert [] == lost("edited app/total.py and test/total.py", *paths)


def test_a_file_that_a_kept_call_names_is_not_lost() -> None:
    """Whatever the text says, the others in the order they were named."""
    assert ["c.py", "a.py"] == lost("nothing", "c.py", "b.py", "a.py", kept=("b.py",))
