"""A value that is told by its shape belongs to what its clause speaks of, however the sentence is put; of anything else it says nothing."""

from __future__ import annotations

import time

import pytest

from langchain_ctxguard.core.attribute_values import by_value
from langchain_ctxguard.core.attributes import read_stated, with_values_in_force

RESTATED = [
    # old statement, what is said later, old value, new value
    ("Send the weekly report on Monday.", "Weekly report day: Thursday.", "Monday", "Thursday"),
    ("The produce order goes in on Tuesdays, before ten.", "The produce order moves to Wednesdays from now on.", "Tuesdays", "Wednesdays"),
    ("The choir meets every Monday.", "The choir meets every Friday now.", "Monday", "Friday"),
    ("周报每周五发。", "周报的时间改到周一。", "周五", "周一"),
    ("例会定在每周三。", "例会改到每周四。", "周三", "周四"),
    (
        "The staging API lives at https://a.example/v2.",
        "Use https://b.example/v2 as the staging API base URL.",
        "https://a.example/v2",
        "https://b.example/v2",
    ),
    (
        "Point the webhook of the shop to https://a.example/h.",
        "The shop webhook is https://b.example/h",
        "https://a.example/h",
        "https://b.example/h",
    ),
    (
        "测试环境的接口地址是 https://a.example/api 。",
        "测试环境接口地址换成 https://b.example/api 了，旧的不要再用。",
        "https://a.example/api",
        "https://b.example/api",
    ),
    ("Redis host is a.wicker.example for the app.", "The app talks to Redis at b.wicker.example now.", "a.wicker.example", "b.wicker.example"),
    ("打印服务器是 print1.ex.example。", "打印服务器：print3.ex.example。", "print1.ex.example", "print3.ex.example"),
    ("Write code examples in Kotlin for this user.", "User wants code examples in Swift, not other languages.", "Kotlin", "Swift"),
    ("Code samples: Java", "Use Rust for the code samples.", "Java", "Rust"),
    ("示例用 Go 写。", "代码示例请用 Python。", "Go", "Python"),
    ("We branched from commit 8a3b99e.", "Base commit for the current work is b9cc531.", "8a3b99e", "b9cc531"),
    ("Vendored parser HEAD: 2ba95d1", "HEAD of the vendored parser is at 8e01fc4.", "2ba95d1", "8e01fc4"),
    ("The user's contact code is PIT-8270.", "Use contact code IXQ-3913 in confirmations.", "PIT-8270", "IXQ-3913"),
    ("The side door code is 4471.", "Side door code: 9026", "4471", "9026"),
    ("Alerts go to #ops-alerts.", "Please use #night-shift for alerts.", "#ops-alerts", "#night-shift"),
    ("The bucket sits in us-west-2.", "Switch the bucket to eu-north-1.", "us-west-2", "eu-north-1"),
    ("服务部署在 cn-north-1。", "服务改到 ap-shanghai。", "cn-north-1", "ap-shanghai"),
]

OTHERS = [
    # nothing of the first may be marked after the second
    ("Send the weekly report on Monday.", "Send the weekly digest on Thursday."),
    ("Send the weekly report on Monday.", "Send the monthly report on Thursday, every month."),
    ("Send the weekly report on Monday.", "Just this once, send the weekly report on Thursday."),
    ("Send the weekly report on Monday.", "Send the weekly report on Thursday as well."),
    ("Send the weekly report on Monday.", "Last year we sent the weekly report on Thursday."),
    ("Send the weekly report on Monday.", "Should the weekly report go out on Thursday?"),
    ("Send the weekly report on Monday.", "The weekly report goes out on Tuesday and Thursday."),
    ("周会定在周三。", "周会这次改到周四。"),
    ("周会定在周三。", "周会改到周四吗？"),
    ("The staging API lives at https://a.example/v2.", "The production API lives at https://b.example/v2."),
    ("The staging API lives at https://a.example/v2.", "Open https://b.example/v2 for the staging API docs."),
    ("The staging API lives at https://a.example/v2.", "The staging API returned 500 at https://b.example/v2."),
    ("Redis host is a.wicker.example for the app.", "The broker host is b.wicker.example for the app."),
    ("Write code examples in Kotlin.", "For Maria, write code examples in Rust."),
    ("Write code examples in Kotlin.", "My brother wants his examples in Rust."),
    ("Write code examples in Kotlin.", "Give me one example in Rust for comparison."),
    ("Write code examples in Kotlin.", "Don't write code examples in Rust."),
    ("Write code examples in Kotlin.", "No Rust in the code examples please."),
    ("Write code examples in Kotlin.", "Avoid Java in the examples."),
    ("Write code examples in Kotlin.", "What about Rust for the examples"),
    ("Write code examples in Kotlin.", "Thinking of switching the examples to Rust."),
    ("Write code examples in Kotlin.", "I heard the examples are in Rust."),
    ("Write code examples in Kotlin.", "Switch the examples to Perl, just kidding."),
    ("Write code examples in Kotlin.", "Go through the examples one by one."),
    ("Write code examples in Go.", "Golang for the code examples please."),
    ("The choir meets every Monday.", "The choir meets on Mondays."),
    ("示例用 Go 写。", "示例里别用 Python。"),
    ("周会定在周三。", "考虑把周会改到周四。"),
    ("Write code examples in Kotlin.", "My colleague joins us, he'd like the examples in Rust."),
    ("Write code examples in Kotlin.", "For Maria write the code examples in Rust from now on."),
    ("Write code examples in Kotlin.", "There is rust on the sample."),
    ("We branched from commit 8a3b99e.", "Check commit b9cc531."),
    ("We branched from commit 8a3b99e.", "The release is built from commit b9cc531."),
    ("The contact code is PIT-8270.", "The access code is IXQ-3913."),
    ("The door code is 4471.", "The exit code is 137."),
    ("The code lives in module-2.", "The code lives in module-3."),
    ("Alerts go to #ops-alerts.", "Deploy notices go to #night-shift."),
    ("The bucket sits in us-west-2.", "The cluster sits in eu-north-1."),
    ("After the tests, the bucket sits in us-west-2.", "We looked at eu-north-1."),
]


@pytest.mark.parametrize(("before", "after", "old", "new"), RESTATED)
def test_the_later_value_holds(before: str, after: str, old: str, new: str) -> None:
    """Said in the same words or in others, the earlier value is marked by the one that holds."""
    text, replaced = with_values_in_force(before, read_stated((), [("user", before), ("user", after)]))
    assert replaced >= 1
    assert old not in text
    assert new in text


@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_something_else_ends_nothing(before: str, after: str) -> None:
    """Another thing or person, one occasion, an addition, a question, a report and the past leave the first value as it stands."""
    assert with_values_in_force(before, read_stated((), [("user", before), ("user", after)])) == (before, 0)


@pytest.mark.parametrize(
    "sentence",
    [
        "Weekly report: Monday or Thursday",
        "https://a.example/v2",
        "see #general",
        "Commit 8a3b99e",
        "The base commit is 12345678",
        "Move the weekly report from Monday to Thursday, or every Friday, or each Sunday.",
        "The weekly report of the long list of all the many small branch offices abroad is every Monday",
    ],
)
def test_what_is_of_nothing_or_of_two_things_states_nothing(sentence: str) -> None:
    """A bare value, a choice between two and a clause too long to be one thing's are no statement."""
    assert list(by_value(sentence, is_change=False)) == []


def test_what_is_given_up_is_not_the_value() -> None:
    """Behind "instead of" and "rather than" stands the value that holds no more."""
    (found,) = by_value("Send the weekly report on Thursday instead of Monday", is_change=True)
    assert (found.head, found.value) == ("day", "Thursday")
    (found,) = by_value("Write the examples in Rust rather than Java", is_change=True)
    assert found.value == "Rust"


@pytest.mark.parametrize(
    "run", ["A", "a", "A ", "Ab_", "for in on ", ", ", "no ", "’s", "not from ", "的", "every day ", "# a-", "a.", "a1", "http://", "周"]
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_run_of_anything_is_read_in_little_time(run: str, is_first: bool) -> None:  # noqa: FBT001 - a column
    """A sentence is read in hundredths of a second, whatever is repeated in it: one that names everything a value may be of."""
    said = "weekly report on Monday https://a.example/c is approved on call in the test phase, next branch code"
    long = run * (200 // len(run))
    text = f"{long} {said}" if is_first else f"{said} {long}"
    began = time.process_time()
    read_stated((), [("user", text)])
    assert time.process_time() - began < 1
