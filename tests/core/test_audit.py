"""An audit finds what a compaction lost, weakened or contradicted, says where it came from, and keeps silent where nothing is missing."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.audit import Trail, audit, audit_run
from langchain_ctxguard.core.audit_told import as_summary, is_told
from langchain_ctxguard.domain.audit import Audit, AuditFinding, Level
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.errors import ConfigurationError
from tests.support.builders import tool_unit

ENGLISH: list[BaseMessage] = [
    HumanMessage("Never delete an order. The budget is 500 EUR."),
    AIMessage("Understood."),
    HumanMessage("Let's go with PostgreSQL, not MongoDB. Refund order ORD-1177 by 2026-12-15."),
    AIMessage("Refunding.", tool_calls=[{"name": "edit_file", "args": {"path": "src/app/refund.py"}, "id": "c1"}]),
    ToolMessage("ok", tool_call_id="c1"),
]
CHINESE: list[BaseMessage] = [
    HumanMessage("不得删除订单。预算5万元。"),
    AIMessage("好的。"),
    HumanMessage("我们决定用PostgreSQL，不用MongoDB。请在2026-12-15前给订单ORD-1177退款。"),
    AIMessage("正在退款。", tool_calls=[{"name": "write_file", "args": {"file_path": "服务/退款.py"}, "id": "c1"}]),
    ToolMessage("好", tool_call_id="c1"),
]
FAITHFUL_ENGLISH = (
    "Rules: orders must never be deleted. Budget: EUR 500. PostgreSQL was chosen and MongoDB was rejected. "
    "Open: refund of order ORD-1177 by Dec 15, 2026. Edited refund.py."
)
FAITHFUL_CHINESE = "规则：不得删除订单。预算¥50,000。选择了PostgreSQL，排除了MongoDB。待办：2026-12-15前给订单ORD-1177退款。已改 服务/退款.py。"


def found(audit_: Audit) -> list[tuple[str, str, str]]:
    return [(finding.subject, finding.loss.value, finding.text) for finding in audit_.findings]


def one(before: list[BaseMessage], after: Any, subject: str, **options: Any) -> AuditFinding:
    (finding,) = [finding for finding in audit(before, after, **options).findings if finding.subject == subject]
    return finding


@pytest.mark.parametrize(("before", "after"), [(ENGLISH, FAITHFUL_ENGLISH), (CHINESE, FAITHFUL_CHINESE)])
def test_a_faithful_summary_in_other_words_is_clean(before: list[BaseMessage], after: str) -> None:
    """Rules, values, decisions, files and the open request may be told in other words and forms."""
    assert [] == found(audit(before, after))


@pytest.mark.parametrize("messages", [ENGLISH, CHINESE])
def test_what_stays_as_it_is_is_not_lost(messages: list[BaseMessage]) -> None:
    """A context held against itself is clean, and says how much it holds."""
    same = audit(messages, messages)
    assert [] == found(same)
    assert {"constraint": 1, "decision": 2, "field": 3, "file": 1, "pending": 1, "must_keep": 0} == dict(same.held)


@pytest.mark.field("C085", "C094")
@pytest.mark.parametrize(
    ("before", "faithful", "cut", "put", "expected"),
    [
        (ENGLISH, FAITHFUL_ENGLISH, "orders must never be deleted", "be polite", ("constraint", "lost", 0)),
        (ENGLISH, FAITHFUL_ENGLISH, "orders must never be deleted", "try not to delete orders", ("constraint", "weakened", 0)),
        (ENGLISH, FAITHFUL_ENGLISH, "orders must never be deleted", "orders may be deleted", ("constraint", "contradicted", 0)),
        (ENGLISH, FAITHFUL_ENGLISH, "EUR 500", "EUR 5,000", ("field", "changed", 0)),
        (ENGLISH, FAITHFUL_ENGLISH, "EUR 500", "USD 500", ("field", "changed", 0)),
        (ENGLISH, FAITHFUL_ENGLISH, "ORD-1177", "the customer", ("field", "lost", 2)),
        (ENGLISH, FAITHFUL_ENGLISH, "ORD-1177", "ORD-1771", ("field", "changed", 2)),
        (ENGLISH, FAITHFUL_ENGLISH, "by Dec 15, 2026", "soon", ("field", "weakened", 2)),
        (ENGLISH, FAITHFUL_ENGLISH, "PostgreSQL was chosen and MongoDB", "MongoDB", ("decision", "lost", 2)),
        (
            ENGLISH,
            FAITHFUL_ENGLISH,
            "PostgreSQL was chosen and MongoDB was rejected",
            "PostgreSQL and MongoDB were rejected",
            ("decision", "contradicted", 2),
        ),
        (ENGLISH, FAITHFUL_ENGLISH, "MongoDB was rejected", "the other one was rejected", ("decision", "lost", 2)),
        (ENGLISH, FAITHFUL_ENGLISH, "MongoDB was rejected", "MongoDB holds the files", ("decision", "weakened", 2)),
        (ENGLISH, FAITHFUL_ENGLISH, " Edited refund.py.", "", ("file", "lost", 3)),
        (CHINESE, FAITHFUL_CHINESE, "不得删除订单", "注意礼貌", ("constraint", "lost", 0)),
        (CHINESE, FAITHFUL_CHINESE, "不得删除订单", "尽量不删除订单", ("constraint", "weakened", 0)),
        (CHINESE, FAITHFUL_CHINESE, "不得删除订单", "可以删除订单", ("constraint", "contradicted", 0)),
        (CHINESE, FAITHFUL_CHINESE, "¥50,000", "¥500,000", ("field", "changed", 0)),
        (CHINESE, FAITHFUL_CHINESE, "订单ORD-1177", "那个客户", ("field", "lost", 2)),
        (CHINESE, FAITHFUL_CHINESE, "2026-12-15前", "近期", ("field", "weakened", 2)),
        (CHINESE, FAITHFUL_CHINESE, "选择了PostgreSQL，", "", ("decision", "lost", 2)),
        (CHINESE, FAITHFUL_CHINESE, "排除了MongoDB", "排除了另一个", ("decision", "lost", 2)),
        (CHINESE, FAITHFUL_CHINESE, "已改 服务/退款.py。", "", ("file", "lost", 3)),
    ],
)
def test_each_kind_of_loss_is_found_and_traced(before: list[BaseMessage], faithful: str, cut: str, put: str, expected: tuple[str, str, int]) -> None:
    """One change to a faithful summary gives one finding about that subject, with the message it came from."""
    assert cut in faithful
    findings = audit(before, faithful.replace(cut, put)).findings
    subject, loss, message = expected
    hits = [finding for finding in findings if finding.subject == subject]
    assert hits, findings
    assert {message} == {finding.message_index for finding in hits}
    assert [loss] == [finding.loss.value for finding in hits], hits


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Let's go with PostgreSQL, not MongoDB.", "We decided to use MongoDB. PostgreSQL was rejected."),
        ("我们决定用PostgreSQL，不用MongoDB。", "我们决定用MongoDB，不用PostgreSQL。"),
    ],
)
def test_a_decision_turned_round_is_contradicted(said: str, told: str) -> None:
    """What was chosen is told as turned down, what was turned down as chosen: both are critical."""
    decisions = [finding for finding in audit([HumanMessage(said)], told).critical if finding.subject == "decision"]
    assert ["contradicted", "contradicted"] == [finding.loss.value for finding in decisions]


def test_a_choice_that_names_nothing_is_not_looked_for() -> None:
    """`I'll take the first one` can be told any way, and nobody could say that it is missing."""
    assert [] == [
        finding for finding in audit([HumanMessage("OK, let's go with that one.")], "They agreed.").findings if finding.subject == "decision"
    ]


@pytest.mark.parametrize(
    ("request_", "lost"),
    [
        ("Please compare the shipping tariffs of Hamburg and Rotterdam.", "The user said hello."),
        ("请比较汉堡和鹿特丹的运费。", "用户打了招呼。"),
    ],
)
def test_a_request_without_an_answer_must_survive(request_: str, lost: str) -> None:
    """It is critical until an answer without calls ends the turn; after that it is no open item."""
    finding = one([HumanMessage(request_)], lost, "pending")
    assert ("request", "lost", Level.CRITICAL, 0) == (finding.kind, finding.loss.value, finding.level, finding.message_index)
    assert [] == found(audit([HumanMessage(request_), AIMessage("Hamburg is cheaper. 汉堡更便宜。")], lost))
    assert [] == found(audit([HumanMessage(request_)], f"Open: {request_}"))


@pytest.mark.field("C044")
def test_todos_must_survive_until_they_are_done() -> None:
    """The newest list counts; a done item may go, an open one that is told as done is contradicted."""
    todos = [
        {"content": "Write the migration", "status": "completed"},
        {"content": "Measure the nightly import", "status": "in_progress"},
        {"content": "发布说明写好", "status": "pending"},
    ]
    old = [{"content": "Buy flowers", "status": "pending"}]
    before: list[BaseMessage] = [
        AIMessage("", tool_calls=[{"name": "write_todos", "args": {"todos": old}, "id": "t1"}]),
        AIMessage("", tool_calls=[{"name": "write_todos", "args": {"todos": todos}, "id": "t2"}]),
    ]
    assert [] == found(audit(before, "Left to do: measure the nightly import; 发布说明写好."))
    assert [
        ("pending", "contradicted", "Measure the nightly import"),
        ("pending", "lost", "发布说明写好"),
    ] == found(audit(before, "The nightly import has been measured."))


@pytest.mark.parametrize(
    ("said", "kept", "done"),
    [
        ("Also send the invoice to Anna later.", "Later: send Anna the invoice.", "The invoice has been sent to Anna."),
        ("别忘了稍后把发票发给王芳。", "稍后发票要发给王芳。", "发票已发给王芳。"),
    ],
)
def test_what_was_put_off_must_survive(said: str, kept: str, done: str) -> None:
    """Deferred wishes outlive the answer to their message; told as done without a call that did it, they are contradicted."""
    before: list[BaseMessage] = [HumanMessage(said), AIMessage("OK.")]
    assert [] == [finding for finding in audit(before, kept).findings if finding.subject == "pending"]
    assert "lost" == one(before, "They talked.", "pending").loss
    assert ("contradicted", "told_as_done", done) == ((item := one(before, done, "pending")).loss.value, item.reason, item.now)


def test_declared_rules_are_looked_for_in_place_of_inferred_ones() -> None:
    """Their severity says how bad the loss is; a rule that nothing before said cannot be lost, only contradicted."""
    rules = [
        Constraint(constraint_id="no-deletes", text="Never delete an order."),
        Constraint(constraint_id="tone", text="Be polite to customers.", severity="low"),
        Constraint(constraint_id="unsaid", text="Never show a phone number."),
    ]
    before = [SystemMessage("Never delete an order. Be polite to customers."), HumanMessage("Always write in blue ink.")]
    findings = audit(before, "They talked.", constraints=rules).findings
    rule_findings = [finding for finding in findings if finding.subject == "constraint"]
    assert [("no-deletes", Level.CRITICAL, "system"), ("tone", Level.WARNING, "system")] == [
        (finding.label, finding.level, finding.said_by) for finding in rule_findings
    ]
    contradicted = one([HumanMessage("Hello, who is there?")], "You may show phone numbers.", "constraint", constraints=rules[2:])
    assert ("unsaid", "contradicted", Level.WARNING) == (contradicted.label, contradicted.loss.value, contradicted.level)


def test_a_summary_that_speaks_against_a_rule_that_still_stands_is_a_warning() -> None:
    """The system message keeps the rule, and the model reads the opposite below it."""
    rule = SystemMessage("Never delete an order.")
    after = [rule, as_summary("The user said that orders may be deleted.")]
    finding = one([rule, HumanMessage("hello")], after, "constraint", constraints=["Never delete an order."])
    assert ("contradicted", "summary_disagrees", Level.WARNING) == (finding.loss.value, finding.reason, finding.level)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (SystemMessage, "absent"),
        (HumanMessage, "absent"),
        (AIMessage, "permission"),
        (lambda text: ToolMessage(text, tool_call_id="c"), "permission"),
    ],
    ids=["application", "person", "assistant", "tool"],
)
@pytest.mark.parametrize("constraints", [None, ["Never delete an order."]])
def test_a_sentence_that_was_said_before_stands_for_itself(make: Any, reason: str, constraints: Any) -> None:
    """Said by a person or the application it does not stand in the place of a rule that is gone; said by anybody else it does."""
    said = "You may delete orders of the archive."
    finding = one([HumanMessage("Never delete an order."), make(said)], [HumanMessage(said)], "constraint", constraints=constraints)
    assert reason == finding.reason


@pytest.mark.field("C093")
def test_every_point_of_an_agreement_is_a_rule_of_its_own() -> None:
    """A compaction that keeps three of five points lost two, each named."""
    points = ["Write tests first.", "Ask before a release.", "No new dependencies.", "Keep the changelog up to date.", "Answer in German."]
    said = "We agree on these rules:\n" + "\n".join(f"{number}. {point}" for number, point in enumerate(points, 1))
    kept = "\n".join(points[:3])
    lost = [finding.text for finding in audit([HumanMessage(said)], kept).findings if finding.subject == "constraint"]
    assert ["4. Keep the changelog up to date.", "5. Answer in German."] == lost


def test_texts_to_keep_must_stand_verbatim_or_with_their_value() -> None:
    """`must_keep` is the caller's word: what was never said is not lost, what was is critical."""
    before = [HumanMessage("The code word is blue heron. 预算5万元。")]
    finding = one(before, "A code word was given. Budget: ¥50,000.", "must_keep", must_keep=["blue heron", "5万元", "never said", " "])
    assert ("blue heron", Level.CRITICAL, 0, "user") == (finding.text, finding.level, finding.message_index, finding.said_by)


@pytest.mark.parametrize(
    ("messages", "level"),
    [
        ([HumanMessage("Order ORD-4411 is late.")], Level.CRITICAL),
        ([HumanMessage("hi"), ToolMessage("order ORD-4411 is late", tool_call_id="c"), AIMessage("ORD-4411 is late.")], Level.CRITICAL),
        ([HumanMessage("hi"), ToolMessage("order ORD-4411 is late", tool_call_id="c"), AIMessage("It is late.")], Level.WARNING),
        ([HumanMessage("hi"), ToolMessage("ORD-4411: 90 EUR", tool_call_id="c"), AIMessage("Order ORD-4411.")], Level.CRITICAL),
        ([HumanMessage("hi"), AIMessage("Perhaps it is ORD-4411.")], Level.NOTE),
        ([HumanMessage("Order ORD-4411 is late.", additional_kwargs={"is_meta": True})], Level.WARNING),
    ],
)
def test_who_said_a_value_decides_how_bad_its_loss_is(messages: list[BaseMessage], level: Level) -> None:
    """A person's word, or a name from a tool that the assistant told, is critical; what only a tool said warns; an assistant's guess is a note."""
    (finding,) = [item for item in audit(messages, "Nothing.").findings if item.text == "ORD-4411"]
    assert level is finding.level


def test_a_superseded_value_may_go() -> None:
    """Only what holds at the time of the compaction can be lost."""
    before = [HumanMessage("The deadline is June 30."), AIMessage("Noted."), HumanMessage("The deadline is now July 15."), AIMessage("Noted.")]
    assert [] == found(audit(before, "The deadline is July 15."))
    assert ["July 15"] == [finding.text for finding in audit(before, "The deadline is June 30.").findings if finding.subject == "field"]


def test_files_are_known_by_their_whole_path_or_an_ending_that_means_no_other() -> None:
    """`a/util.py` and `b/util.py` are two files, one name for both is none; a read that failed touched nothing."""
    calls = [
        {"name": name, "args": {"path": path}, "id": f"c{number}"}
        for number, (name, path) in enumerate([("write_file", "a/util.py"), ("read_file", "b/util.py"), ("read_file", "c/gone.py")])
    ]
    before = [AIMessage("", tool_calls=calls), ToolMessage("no such file", tool_call_id="c2", status="error")]
    lost = [(finding.text, finding.kind, finding.level) for finding in audit(before, "util.py was changed.").findings]
    assert [("a/util.py", "written", Level.WARNING), ("b/util.py", "read", Level.NOTE)] == lost
    assert [] == found(audit(before, "a/util.py was changed, /repo/b/util.py was read."))
    assert ["a/util.py"] == [finding.text for finding in audit(before, before[:1] and [AIMessage("", tool_calls=calls[1:])]).findings]


def test_a_kept_message_keeps_what_it_says() -> None:
    """What stands in the messages that stay is there, whatever the summary leaves out."""
    assert [] == [finding for finding in audit(ENGLISH, [as_summary("They talked."), *ENGLISH[2:]]).findings if finding.message_index != 0]


def test_a_summary_that_begins_a_list_is_its_past_and_one_in_the_middle_is_not() -> None:
    """A chain of compactions is audited from the summary before; a summary behind its own messages is no second source."""
    first = as_summary("Order ORD-1177 costs 500 EUR.")
    assert {"ORD-1177", "500 EUR"} == {finding.text for finding in audit([first, HumanMessage("Go on.")], "Go on.").critical}
    middle = [HumanMessage("The budget is 500 EUR."), as_summary("The budget is 5000 EUR."), HumanMessage("Go on.")]
    assert ["500 EUR"] == [finding.text for finding in audit(middle, "Go on.").critical if finding.subject == "field"]


def test_our_own_summaries_are_told_even_without_their_name() -> None:
    """A transcript in OpenAI's form keeps the tag and may lose the rest."""
    assert is_told(HumanMessage('<context_summary version="1" trust="untrusted">\n- x\n</context_summary>'))
    assert not is_told(HumanMessage("A <context_summary> is a tag."))
    assert not is_told(AIMessage("<context_summary>"))


def test_a_path_that_was_named_and_touched_is_one_finding() -> None:
    """The graver of the two."""
    call = AIMessage("", tool_calls=[{"name": "write_file", "args": {"path": "/srv/app/a.py"}, "id": "c1"}])
    results = [ToolMessage("wrote /srv/app/a.py", tool_call_id="c1")]
    assert [("file", Level.WARNING)] == [(item.subject, item.level) for item in audit([call, *results], "Done.").findings]
    (asked,) = [item for item in audit([HumanMessage("See /srv/app/a.py."), AIMessage("ok"), call], "Done.").findings if item.text[0] == "/"]
    assert ("field", Level.CRITICAL) == (asked.subject, asked.level)


class Mark:
    """A compaction as a reader of transcripts marks it."""

    def __init__(self, start: int, dropped: tuple[int, ...] = (), summary: int | None = None, kind: str = "summary") -> None:
        """Mark a compaction before `start`."""
        self.start, self.dropped, self.summary, self.kind = start, dropped, summary, kind
        self.timestamp = None


@pytest.mark.field("C035", "C096")
def test_over_several_compactions_each_loss_is_reported_once_where_it_happened() -> None:
    """What the first summary lost is not lost again; what it carried and the second dropped is traced to the first message."""
    messages = [
        HumanMessage("Order ORD-1177 costs 500 EUR."),
        AIMessage("Yes."),
        as_summary("Order ORD-1177."),
        HumanMessage("The deadline is 2026-12-15."),
        AIMessage("Yes."),
        as_summary("The deadline is 2026-12-15."),
        HumanMessage("Go on."),
    ]
    first, second = audit_run(messages, [Mark(5, (2, 3, 4), 5), Mark(2, (0, 1), 2)])
    assert first.audit is not None
    assert second.audit is not None
    assert [("field", "lost", "500 EUR")] == found(first.audit)
    assert [("field", "lost", "ORD-1177")] == found(second.audit)
    assert (0, 3, 1) == (second.audit.findings[0].message_index, second.audit.messages_before, second.audit.messages_after)


def test_what_a_file_does_not_hold_is_not_judged() -> None:
    """No summary, no word of what left, no past: each is said, none is called clean."""
    said: list[BaseMessage] = [HumanMessage("Order ORD-1177."), AIMessage("Yes.")]
    (no_summary,) = audit_run(said, [Mark(2, (0, 1))])
    (no_word,) = audit_run([*said, as_summary("x")], [Mark(2, (), 2)])
    (no_past,) = audit_run([SystemMessage("Be kind."), as_summary("x"), HumanMessage("y")], [Mark(1, (), 1)], is_snapshot=True)
    assert [None, None, None] == [no_summary.audit, no_word.audit, no_past.audit]
    assert [
        "the file does not hold the summary that took the messages' place",
        "the file does not say which messages left",
        "the file does not hold the messages it replaced",
    ] == [audited.step.why_not for audited in (no_summary, no_word, no_past)]


def test_a_state_counts_what_follows_the_summary_as_there() -> None:
    """Nobody can tell there what was kept from what came later, so neither is called lost."""
    messages = [SystemMessage("Be kind."), HumanMessage("Order ORD-1177 costs 500 EUR."), as_summary("An order."), HumanMessage("ORD-1177 it is.")]
    (only,) = audit_run(messages, [Mark(2, (), 2)], is_snapshot=True)
    assert only.audit is not None
    assert ["500 EUR"] == [finding.text for finding in only.audit.findings if finding.subject == "field"]
    assert (0, 2, 3) == only.step.after


@pytest.mark.parametrize("kind", ["dropped", "cleared"])
def test_a_compaction_without_a_summary_is_audited(kind: str) -> None:
    """Messages that simply left, or results that were emptied, may have said something nothing else says."""
    messages = [
        HumanMessage("Look it up."),
        AIMessage("", tool_calls=[{"name": "find", "args": {}, "id": "c"}]),
        ToolMessage('{"order_id": "ORD-1177"}', tool_call_id="c"),
        AIMessage("It is ORD-1177, and what else?"),
    ]
    (kept,) = audit_run(messages, [Mark(4, (2,), None, kind)])
    assert kept.audit is not None
    assert [] == found(kept.audit)
    (gone,) = audit_run([*messages[:3], AIMessage("And?")], [Mark(4, (2,), None, kind)])
    assert gone.audit is not None
    assert [("field", "lost", "ORD-1177")] == found(gone.audit)


def test_findings_come_worst_first_and_in_the_order_they_were_said() -> None:
    """Whoever reads only the beginning reads what matters."""
    levels = [finding.level.rank for finding in audit([*ENGLISH, *CHINESE], "Nothing is left.").findings]
    assert levels == sorted(levels)
    assert len(set(levels)) > 1


def test_a_review_names_every_value_with_what_became_of_it() -> None:
    """Kept ones as well: a person checks both."""
    trail = Trail()
    trail.read(ENGLISH, start=0)
    became = {review.field.raw: (review.became, review.now) for review in trail.review([as_summary("Order ORD-1177 for 5000 EUR with PostgreSQL.")])}
    assert {
        "500 EUR": ("changed", "5000 EUR"),
        "ORD-1177": ("kept", None),
        "2026-12-15": ("lost", None),
        "Let's go with PostgreSQL": ("kept", None),
        "not MongoDB": ("lost", None),
    } == became


def test_what_is_no_message_is_refused() -> None:
    """By its place in the list."""
    with pytest.raises(ConfigurationError, match=r"messages\[1\]"):
        audit([("human", "hi"), 3], "hi")


texts = st.text(max_size=200) | st.sampled_from([ENGLISH[0].text, ENGLISH[2].text, CHINESE[0].text, CHINESE[2].text, "\ud800", "", "5万元\n" * 9])
conversations = st.lists(
    st.builds(HumanMessage, texts)
    | st.builds(AIMessage, texts)
    | st.builds(SystemMessage, texts)
    | st.builds(ToolMessage, texts, tool_call_id=st.just("c")),
    max_size=8,
)


@given(conversations)
def test_a_context_that_did_not_change_lost_nothing(messages: list[BaseMessage]) -> None:
    """Whatever it says."""
    assert () == audit(messages, messages, must_keep=["5万元"]).findings


@given(conversations, texts)
def test_every_finding_quotes_the_message_it_names(messages: list[BaseMessage], after: str) -> None:
    """Verbatim for values and decisions, and no text breaks an audit."""
    for finding in audit(messages, after).findings:
        if finding.subject in {"field", "decision"} and finding.message_index is not None:
            assert finding.text in messages[finding.message_index].text


def test_five_thousand_messages_are_audited_in_seconds() -> None:
    """Thousands of lost values beside a long rest are no reason to wait."""
    messages: list[BaseMessage] = []
    for number in range(1_000):
        rule = f"Never drop table t{number}. " if number % 10 == 0 else ""
        messages.append(HumanMessage(f"Please check ORD-{number:05d}, budget {1_000 + number} EUR. {rule}" + "It was placed last week. " * 3))
        messages += tool_unit(number, calls=2, size=300)
        messages.append(AIMessage(f"ORD-{number:05d} is complete; total {number} EUR."))
    summary = as_summary("Orders ORD-00001 to ORD-00900 were checked.")
    began = time.process_time()
    (only,) = audit_run([*messages, summary], [Mark(len(messages), tuple(range(4_500)), len(messages))])
    assert only.audit is not None
    assert 5_000 == len(messages)
    assert len(only.audit.findings) > 1_000
    assert time.process_time() - began < 30


def test_a_text_that_was_lost_is_found_where_it_was_said() -> None:
    """Its finding names the message of the whole list, also behind a summary that stands in the middle."""
    before = [HumanMessage("Hello."), AIMessage("Hi."), as_summary("They greeted."), HumanMessage("Go on."), AIMessage("Code K-9 is set.")]
    lost = one(before, "Nothing of it.", "must_keep", must_keep=["Code K-9"])
    assert ("Code K-9", 4) == (lost.text, lost.message_index)
