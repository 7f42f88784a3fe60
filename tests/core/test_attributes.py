"""What a person says of an attribute holds until a person says otherwise: the earlier value is not told again as if it held."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard import compact_messages
from langchain_ctxguard.core.attributes import REMEMBERED, read_stated, states_attribute, with_values_in_force
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.evidence import Evidence, Stated

CHANGES = [
    # old statement, what is said later, old value, new value
    ("The reviewer is Ana.", "The reviewer is now Ben.", "Ana", "Ben"),
    ("The reviewer is Ana.", "Ben reviews it now.", "Ana", "Ben"),
    ("The reviewer is Ana.", "The owner is now Cleo, the reviewer is now Ben.", "Ana", "Ben"),
    ("The reviewer is Ana Lopez.", "Change the reviewer to Ben Okafor.", "Ana Lopez", "Ben Okafor"),
    ("The reviewer is Ana.", "The reviewer is no longer Ana but Ben.", "Ana", "Ben"),
    ("The reviewer is Ana.", "Ben is now the reviewer.", "Ana", "Ben"),
    ("The reviewer is Ana.", "The reviewer is Ben.", "Ana", "Ben"),
    ("Ana is the reviewer.", "Please make Ben the reviewer instead.", "Ana", "Ben"),
    ("Reviewer: Ana", "Update: the reviewer should be Ben, not Ana.", "Ana", "Ben"),
    ("The owner of the billing module is Carla Reyes.", "The billing module is now owned by Dev Patel.", "Carla Reyes", "Dev Patel"),
    ("Carla owns the billing module.", "Dev takes over the billing module from Carla.", "Carla", "Dev"),
    ("The on-call engineer this week is Mira Vale.", "Tomas Lind now has the pager this week.", "Mira Vale", "Tomas Lind"),
    ("Mira is handling customer escalations this week.", "Customer escalations now belong to Tomas.", "Mira", "Tomas"),
    ("Please use spaces as the indentation style.", "Switch the style to tabs.", "spaces", "tabs"),
    ("The code style is black.", "Let's change the code style from black to ruff.", "black", "ruff"),
    ("Show all times in UTC.", "From now on, show all times in Eastern time.", "UTC", "Eastern time"),
    ("The time zone is Europe/Berlin.", "The time zone is now Asia/Tokyo.", "Europe/Berlin", "Asia/Tokyo"),
    ("The service runs on host alpha-1.", "Let's move the service to host beta-2.", "alpha-1", "beta-2"),
    ("Move the service to host A.", "Let's move the service to host B instead.", "host A", "host B"),
    ("The service runs on web-2.", "Move the service to web-3.", "web-2", "web-3"),
    ("We moved the queue from web-1 to web-2.", "The queue is now running on web-3.", "web-2", "web-3"),
    ("The database is in region eu-west-1.", "We moved the database to region us-east-2.", "eu-west-1", "us-east-2"),
    ("The region for the archive is eu-west-1.", "Region for the archive: us-east-2", "eu-west-1", "us-east-2"),
    ("The working branch is feature/alpha.", "We switched to branch feature/omega.", "feature/alpha", "feature/omega"),
    ("We work on branch feature/alpha.", "The branch has changed to feature/omega.", "feature/alpha", "feature/omega"),
    ("Branch spike/amber-1 is based on the old base.", "We rebased onto spike/birch-2; the tests come next.", "spike/amber-1", "spike/birch-2"),
    ("The harbour upgrade is at phase 2 of 5.", "Harbour progress: phase 3 of 5.", "2 of 5", "3 of 5"),
    ("Answer in French.", "From now on, answer in Spanish.", "French", "Spanish"),
    ("Please answer in Socratic style.", "My preferred answer style is Laconic.", "Socratic", "Laconic"),
    ("I want verbose answers.", "I would rather get short answers.", "verbose", "short"),
    ("Use metric units.", "Use imperial units instead.", "metric", "imperial"),
    ("The rollout is at phase 2 of 4.", "The rollout is now at phase 3 of 4.", "2 of 4", "3 of 4"),
    ("Rollout progress: phase 2 of 4.", "Rollout progress: phase 3 of 4.", "2 of 4", "3 of 4"),
    ("The pager owner is Mira Vale.", "Tomas Lind now owns the pager.", "Mira Vale", "Tomas Lind"),
    ("Only Ana Lopez may approve refunds.", "Only Ben Okafor may approve refunds.", "Ana Lopez", "Ben Okafor"),
    ("The mascot is Otto.", "The mascot is now Bruno.", "Otto", "Bruno"),
    ("The venue is Riverside Hall.", "The venue has moved to Harbour House.", "Riverside Hall", "Harbour House"),
    ("The next step is the load test.", "Next up: the rollback plan.", "the load test", "the rollback plan"),
    ("The next step for billing is the audit.", "Our next step for billing is the export.", "the audit", "the export"),
    ("We are working on branch spike/amber-1.", "Current branch: spike/birch-2, still unpushed.", "spike/amber-1", "spike/birch-2"),
    ("The refit is in the demolition phase.", "Demolition is done, the refit has moved on to the plumbing phase.", "demolition", "plumbing"),
    ("Rollout phase: pilot", "Rollout phase: general availability", "pilot", "general availability"),
    ("Dr. Petrov holds the paediatrics pager.", "Handover just happened, Dr. Okoro now holds the paediatrics pager.", "Dr. Petrov", "Dr. Okoro"),
    ("Ingrid is on call this week.", "Ingrid's sick, Marek has taken over on call for the rest of the week.", "Ingrid", "Marek"),
    ("Deploys need approval from Ana Lopez and nobody else.", "Only Ben Okafor may approve deploys.", "Ana Lopez", "Ben Okafor"),
    ("No deploy without Ana Lopez approving it first.", "Only Ben Okafor may approve deploys.", "Ana Lopez", "Ben Okafor"),
    ("Reviews of the ingest job go to Dana.", "Halima is reviewer for the ingest job now.", "Dana", "Halima"),
    ("Petra owns the catalogue.", "Jonas took over the catalogue.", "Petra", "Jonas"),
    ("Catalogue owner - Petra", "Jonas is the owner of the catalogue.", "Petra", "Jonas"),
    ("Use EAT for all timestamps.", "tz: Atlantic/Azores", "EAT", "Atlantic/Azores"),
    ("The database region is eu.west.1.", "Never mind the old one, the database region is us.east.2.", "eu.west.1", "us.east.2"),
    ("The project codename is Otter.", "Codename of the project: Badger", "Otter", "Badger"),
    ("下一步是整理访谈记录。", "先不整理了，下一步改为联系出版社。", "整理访谈记录", "联系出版社"),
    ("食堂改造目前处于设计阶段。", "设计做完了，食堂改造已经进入施工阶段。", "设计", "施工"),
    ("负责人是王芳。", "负责人改成李雷。", "王芳", "李雷"),
    ("项目的负责人是王芳。", "把项目的负责人换成李雷吧。", "王芳", "李雷"),
    ("审核人：王芳", "审核人不再是王芳，而是李雷。", "王芳", "李雷"),
    ("审核人是王芳。", "以后由李雷审核。", "王芳", "李雷"),
    ("时区用北京时间。", "时区改为UTC。", "北京时间", "UTC"),
    ("风格用正式。", "风格换成轻松。", "正式", "轻松"),
    ("请用中文回答。", "从现在起用英文回答。", "中文", "英文"),
    ("分支是feature/alpha。", "分支变成feature/omega了。", "feature/alpha", "feature/omega"),
    ("会场定在东厅。", "会场改到西厅。", "东厅", "西厅"),
    ("主机为alpha-1。", "主机现在是beta-2。", "alpha-1", "beta-2"),
    ("现在是第二阶段，负责人：王芳。", "负责人变为赵敏。", "王芳", "赵敏"),
]

KEPT = [
    # nothing of the first may be marked after the second
    ("The reviewer of part A is Ana.", "The reviewer of part B is now Ben."),
    ("Reviewer of A: Ana", "The reviewer of B is now Ben."),
    ("The billing reviewer is Ana.", "The search reviewer is Ben."),
    ("The reviewer is Ana.", "Is the reviewer now Ben?"),
    ("The reviewer is Ana.", "What if the reviewer is Ben?"),
    ("The reviewer is Ana.", "If the reviewer is now Ben, tell me."),
    ("The reviewer is Ana.", "Maybe the reviewer should be Ben."),
    ("The reviewer is Ana.", "Don't change the reviewer to Ben."),
    ("The reviewer is Ana.", "The second reviewer is Ben."),
    ("The reviewer is Ana.", "Ben is also a reviewer."),
    ("The reviewer is Ana.", "Another reviewer is Ben."),
    ("The reviewer is Ana.", "The reviewer was Ben."),
    ("The reviewer is Ana.", "The wiki says the reviewer is now Ben."),
    ("The reviewer is Ana.", "The reviewer is busy now."),
    ("The reviewer is Ana.", "The reviewer is not Ben."),
    ("The reviewer is Ana.", "The approver is now Ben."),
    ("The reviewer is Ana.", "> the reviewer is now Ben"),
    ("The host is alpha-1.", "The host is beta-2."),
    ("The service runs on host alpha-1.", "The cache runs on host beta-2."),
    ("The service runs on web-2.", "Move the cache to web-3."),
    ("The service runs on web-2.", "Move the meeting to 10.30."),
    ("The meeting is in region Alpha-1.", "The backup is in region Beta-2."),
    ("I want verbose answers.", "I want friendly answers."),
    ("Show all times in UTC.", "The call starts at 3pm Eastern time."),
    ("Answer in French.", "Translate the letter into Spanish."),
    ("Only Ana Lopez may approve refunds.", "Only Ben Okafor may approve transfers."),
    ("Never send payroll data outside.", "Never send medical data outside."),
    ("The next step is the load test.", "After that, the next step is the rollback plan."),
    ("The next step is the load test.", "For the docs, the next step is a rewrite."),
    ("The next step is the load test.", "We also move the archive. Next step is the index."),
    ("The current task is the login. Next step is the load test.", "The archive is next to the garage. Next step is the index."),
    ("The refit is in the demolition phase.", "The garden is in the planting phase."),
    ("The rollout phase is pilot.", "The rollout phase is over."),
    ("The Oslo study is in phase 3.", "Good news, the Bergen study has moved on to phase 1."),
    ("The queue runs on host alpha-1.", "The cache has just moved to host beta-2."),
    ("The refit is in the demolition phase.", "The kitchen refit is in the planning phase."),
    ("No deploy without Ana Lopez approving it first.", "No deploy without Ben Okafor approving it first."),
    ("Show all times in UTC.", "For Maria's calendar, show all times in CET."),
    ("Ingrid is on call for the database.", "Marek is on call for the network."),
    ("Dana reviews the ingest job.", "Ask Sam to review the ingest job."),
    ("The reviewer is Ana.", "Ben is tired, do not make Ben the reviewer."),
    ("A组的负责人是王芳。", "B组的负责人改成李雷。"),
    ("负责人是王芳。", "负责人改成李雷了吗？"),
    ("负责人是王芳。", "如果负责人改成李雷，会怎样。"),
    ("负责人是王芳。", "不要把负责人改成李雷。"),
    ("负责人是王芳。", "审核人改成李雷。"),
    ("负责人是王芳。", "听说负责人改成李雷了。"),
]


@pytest.mark.parametrize(("before", "after", "old", "new"), CHANGES)
def test_a_change_ends_the_earlier_value(before: str, after: str, old: str, new: str) -> None:
    """The sentence that told the old value names the one that holds, and the old one no more."""
    stated = read_stated((), [("user", before), ("user", after)])
    text, replaced = with_values_in_force(before, stated)
    assert replaced >= 1
    assert old not in text
    assert f"[now: {new}]" in text or f"[现为：{new}]" in text


@pytest.mark.parametrize(("before", "after", "old", "new"), CHANGES)
def test_a_change_is_known_in_a_later_round(before: str, after: str, old: str, new: str) -> None:
    """What was said before the first cut is superseded by what is said after it, with only the head in between."""
    first = read_stated((), [("user", before)])
    stored = Evidence.model_validate(Evidence(stated=first).model_dump(mode="json")).stated
    text, _ = with_values_in_force(before, read_stated(stored, [("user", after)]))
    assert old not in text
    assert new in text


@pytest.mark.parametrize(("before", "after", "old", "new"), CHANGES)
def test_what_announced_the_change_keeps_the_new_value(before: str, after: str, old: str, new: str) -> None:
    """The value that holds is never marked."""
    text, _ = with_values_in_force(after, read_stated((), [("user", before), ("user", after)]))
    assert new in text


@pytest.mark.parametrize(("before", "after"), KEPT)
def test_something_else_ends_nothing(before: str, after: str) -> None:
    """Another thing, a question, a condition, hearsay and a second value leave the first as it stands."""
    stated = read_stated((), [("user", before), ("user", after)])
    assert with_values_in_force(before, stated) == (before, 0)


@pytest.mark.parametrize("origin", ["tool", "ai"])
def test_only_a_person_changes_what_a_person_said(origin: str) -> None:
    """What a tool returns or a model says supersedes nothing."""
    stated = read_stated((), [("user", "The reviewer is Ana."), (origin, "The reviewer is now Ben.")])
    assert with_values_in_force("The reviewer is Ana.", stated)[1] == 0


def test_a_lower_origin_does_not_replace_the_application() -> None:
    """What the system prompt states stands against a user who states otherwise."""
    stated = read_stated((), [("system", "The approver is Ana."), ("user", "The approver is now Ben.")])
    assert with_values_in_force("The approver is Ana.", stated)[1] == 0


def test_a_value_that_comes_back_holds_again() -> None:
    """A, then B, then A: B is the old one."""
    said = [("user", "The reviewer is Ana."), ("user", "The reviewer is now Ben."), ("user", "The reviewer is Ana again.")]
    stated = read_stated((), said)
    assert with_values_in_force("The reviewer is Ana.", stated)[1] == 0
    assert with_values_in_force("The reviewer is Ben.", stated)[0] == "The reviewer is [now: Ana]."


def test_a_marked_value_is_marked_anew_once() -> None:
    """A mark that is out of date is put right, not wrapped in another."""
    said = [("user", "The reviewer is Ana."), ("user", "The reviewer is now Ben."), ("user", "The reviewer is now Cleo.")]
    assert with_values_in_force("The reviewer is [now: Ben].", read_stated((), said))[0] == "The reviewer is [now: Cleo]."


def test_the_same_name_elsewhere_is_left_alone() -> None:
    """Only a sentence about the attribute is about its old value."""
    stated = read_stated((), [("user", "The reviewer is Ana."), ("user", "The reviewer is now Ben.")])
    stated = read_stated(stated, [("user", "The reviewer of part B is Ana.")])
    for text in ("Ana booked the flights.", "The author is Ana.", "The reviewer of part B is Ana, as agreed.", "Anaconda is there for the reviewer."):
        assert with_values_in_force(text, stated) == (text, 0)


def test_two_candidates_are_left_alone() -> None:
    """Where two things have the attribute, a change that names neither ends neither."""
    said = [("user", "The reviewer of part A is Ana."), ("user", "The reviewer of part B is Cleo."), ("user", "The reviewer is now Ben.")]
    stated = read_stated((), said)
    assert with_values_in_force("The reviewer of part A is Ana.", stated)[1] == 0
    assert with_values_in_force("The reviewer of part B is Cleo.", stated)[1] == 0


def test_the_head_stays_small() -> None:
    """However much is stated, a bounded number is remembered, superseded ones first, and nothing stated takes no room."""
    said = [("user", f"The reviewer of part {number} is Ana.") for number in range(300)]
    said[:0] = [("user", "The owner is Ana."), ("user", "The owner is now Ben.")]
    stated = read_stated((), said)
    assert len(stated) <= REMEMBERED
    assert any(one.earlier == ("Ana",) and one.value == "Ben" for one in stated)
    assert "stated" not in Evidence().model_dump(mode="json")
    assert Evidence(stated=(Stated(head="owner", value="Ben"),)).model_dump(mode="json")["stated"] == [{"head": "owner", "value": "Ben"}]


def test_what_is_read_at_once_is_bounded_at_its_end() -> None:
    """A change far behind the first statement still ends its value."""
    said = [("user", f"The reviewer of part {number} is Ana.") for number in range(REMEMBERED + 10)]
    stated = read_stated((), [("user", "The owner is Ana."), *said, ("user", "The owner is now Ben.")])
    assert [("Ben", ("Ana",))] == [(one.value, one.earlier) for one in stated if one.head == "owner"]


@given(st.lists(st.tuples(st.sampled_from(["user", "system", "tool", "ai"]), st.text(max_size=200)), max_size=6), st.text(max_size=200))
def test_any_text_is_read(said: list[tuple[str, str]], text: str) -> None:
    """No text breaks the reading, and a text with nothing superseded comes back as it was."""
    stated = read_stated((), said)
    marked, replaced = with_values_in_force(text, stated)
    assert replaced or marked == text


@pytest.mark.parametrize("piece", ["the reviewer is ", "a" * 50, "负责人", "is the of ", ", ", "move the to ", "only Ana may ", "[now: ", "\n"])
def test_a_huge_text_is_read_in_time(piece: str) -> None:
    """Reading is linear in the text."""
    text = piece * (200_000 // len(piece))
    begun = time.perf_counter()
    stated = read_stated((), [("user", "The reviewer is Ana."), ("user", text), ("user", "The reviewer is now Ben.")])
    with_values_in_force(text, stated)
    assert time.perf_counter() - begun < 3


def _compacted_twice(before: str, after: str) -> tuple[str, str, object]:
    """Return the view after a cut between the two statements, the view after another, and the last head."""
    filler = [
        {"role": "user" if number % 2 else "assistant", "content": f"Paragraph {number}: " + "the sea is calm and wide. " * 20}
        for number in range(30)
    ]
    first = compact_messages([{"role": "user", "content": before}, *filler])
    again = [*first.messages, {"role": "assistant", "content": "Noted."}, {"role": "user", "content": after}, *filler]
    second = compact_messages(again, previous=first.head)
    texts = ["\n".join(str(message.content) for message in done.messages) for done in (first, second)]
    return texts[0], texts[1], second.head


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        (
            "You must know: the reviewer of the billing module is Ana Lopez.",
            "The reviewer of the billing module is now Ben Okafor.",
            "Ana Lopez",
            "Ben",
        ),
        ("You must report all times in UTC.", "From now on, report all times in Pacific time.", "UTC", "Pacific time"),
        ("必须记住：负责人是王芳。", "负责人改成李雷。", "王芳", "李雷"),
        ("Never tell anyone the vault code QIBA-575.", "The vault code is now UMZX-858.", "QIBA-575", "UMZX-858"),
    ],
)
def test_a_view_tells_the_old_value_no_more(before: str, after: str, old: str, new: str) -> None:
    """Not in the summary and not in a quote, though the old statement was cut a round before the change."""
    first, second, _ = _compacted_twice(before, after)
    assert old in first
    assert old not in second
    assert new in second


def test_a_quote_is_stored_as_it_was_said() -> None:
    """A rule that shows another value than it was said with is stored word for word: that is what a person would confirm."""
    _, second, head = _compacted_twice("You must report all times in UTC.", "From now on, report all times in Pacific time.")
    assert "You must report all times in [now: Pacific time]" in second
    assert "You must report all times in UTC." in str(head)


def test_work_rebased_onto_the_trunk_is_still_on_its_branch() -> None:
    """Only a branch of the same kind takes the place of another."""
    words = "Branch spike/amber-1 must stay unpushed."
    stated = read_stated((), [("user", words), ("user", "We rebased onto origin/main.")])
    assert with_values_in_force(words, stated) == (words, 0)


def test_the_phases_of_two_things_are_two() -> None:
    """A phase is that of what the sentence names; a word both share names neither."""
    words = "The importer is at phase 1 of 3. The harbour upgrade is at phase 2 of 5. The office upgrade is at phase 4 of 6."
    stated = read_stated((), [("user", words), ("user", "Upgrade progress: phase 5 of 6.")])
    assert with_values_in_force(words, stated) == (words, 0)
    assert states_attribute("The importer is at phase 1 of 3.")


def _view(*said: str) -> str:
    """Return the view of a conversation in which all of this was said and left."""
    turns = [*said, *(f"We walk through part {number} of the design notes with the whole team." for number in range(12))]
    messages = [{"role": role, "content": text} for words in turns for role, text in (("user", words), ("assistant", "Okay."))]
    return "\n".join(text_of(message) for message in compact_messages(messages, keep=("turns", 1)).messages)


def test_a_value_is_not_carried_once_its_attribute_has_another() -> None:
    """The ledger of control fields knows the address as a value of its own; it does not bring it back beside the one that holds."""
    view = _view("Staging API lives at https://a.example/v2.", "Use https://b.example/v2 as the staging API base URL.")
    assert "https://a.example/v2" not in view
    assert "https://b.example/v2" in view


def test_a_marked_sentence_beside_the_one_in_the_same_words_is_left_out() -> None:
    """A line that says "the branch is [now: b]" tells nothing beside "the branch is b"."""
    view = _view("Hello there, we plan the release.", "FACT: The working branch is spike/a-1.", "FACT: The working branch is spike/b-2.")
    assert "FACT: The working branch is spike/b-2" in view
    assert "[now: spike/b-2]" not in view
