"""Every way a cached prefix can move: the reason and the tokens still shared must be right in each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.backends.message_cost import json_text
from langchain_ctxguard.backends.tool_cost import tool_text
from langchain_ctxguard.core.compile import compile_view, leading_system
from langchain_ctxguard.core.fingerprint import canonical_text, first_changed_offset
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.tool_order import stable_tools, tool_name
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextBody
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.summary import StructuredSummary
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.prefix import PrefixWatch
from langchain_ctxguard.graph.thread import thread_of
from tests.conftest import check_prefix
from tests.graph.models import Counter, Notes, ScriptedChat, delete_order, look_up, said, thread
from tests.support.builders import tool_loop

RULES = tuple(
    Constraint(constraint_id=name, text=text)
    for name, text in [("no-delete", "Never delete an order."), ("no-phone", "绝不显示电话号码。"), ("log", "Log every write before it happens.")]
)
PROMPT = [
    SystemMessage("You serve orders.\nBe brief.\n你用客户的语言回答。"),
    SystemMessage([{"type": "text", "text": "Today's shop: 北京.", "cache_control": {"type": "ephemeral"}}]),
]
SCHEMA = {"name": "refund", "description": "Refund.", "input_schema": {"type": "object", "properties": {"amount": {"type": "number"}}}}
SWAPPED = {"input_schema": {"properties": {"amount": {"type": "number"}}, "type": "object"}, "description": "Refund.", "name": "refund"}


class Model(ScriptedChat):
    """A model that says who serves it."""

    provider: str = "openai"
    model: str = "gpt-x"

    def _get_ls_params(self, stop: list[str] | None = None, **_: Any) -> Any:
        return {"ls_provider": self.provider, "ls_model_name": self.model}


@dataclass(frozen=True)
class Case:
    """What a call is made of, before it is compiled."""

    talk: list[BaseMessage] = field(default_factory=lambda: tool_loop(6, size=40))
    prompt: list[SystemMessage] = field(default_factory=lambda: list(PROMPT))
    rules: tuple[Constraint, ...] = RULES
    tools: Sequence[Any] = (delete_order, look_up, SCHEMA)
    model: Model = field(default_factory=Model)
    head: int = 0
    body: ContextBody | None = None

    @property
    def system(self) -> SystemMessage:
        made = leading_system(self.prompt, render_rules(self.rules))
        assert made is not None
        return made

    @property
    def view(self) -> list[BaseMessage]:
        return compile_view(self.system, version=self.head, body=self.body, request=None, tail=self.talk).messages

    @property
    def text(self) -> str:
        tools = [(tool_name(item), json_text(item) if isinstance(item, dict) else tool_text(item)) for item in self.tools]
        return canonical_text(self.model.provider, self.model.model, tools=tools, system=self.system, messages=self.view)


def body_of(text: str) -> ContextBody:
    return ContextBody(summary=StructuredSummary(user_intent=text), evidence=Evidence(), summary_id="s", rules_fingerprint="", committed_at="m")


def bumped(rules: tuple[Constraint, ...], at: int) -> tuple[Constraint, ...]:
    return tuple(rule.model_copy(update={"version": 2, "text": f"{rule.text}!"}) if n == at else rule for n, rule in enumerate(rules))


def edited(messages: list[BaseMessage], at: int) -> list[BaseMessage]:
    return [m.model_copy(update={"content": "edited"}) if n == at else m for n, m in enumerate(messages)]


def reworded(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "description": "Refund at most 500 EUR."}


def first_lines(case: Case, count: int) -> SystemMessage:
    """Return the first `count` lines of a compiled system message, as one text."""
    blocks = [str(block["text"]) if isinstance(block, dict) else str(block) for block in case.system.content]
    lines = [line for block in blocks for line in block.splitlines(keepends=True)]
    return SystemMessage("".join(lines[:count]))


BASE = Case()
MORE = [*BASE.talk, AIMessage("Done."), HumanMessage("And now?")]
N = len(BASE.talk)

Change = Callable[[Case], Case]
Shared = tuple[Sequence[Any], int, int | None]
"""Tools shared, messages shared, and of the system message: all of it (`None`) or its first lines."""

MATRIX: list[tuple[str, Change, DriftReason | None, Shared]] = [
    ("same prefix", lambda c: c, None, (c_tools := BASE.tools, N, None)),
    ("only grown", lambda c: replace(c, talk=MORE), None, (c_tools, N, None)),
    ("changed tail", lambda c: replace(c, talk=edited(c.talk, N - 1)), None, (c_tools, N - 1, None)),
    ("changed middle", lambda c: replace(c, talk=edited(c.talk, 3)), DriftReason.UNKNOWN, (c_tools, 3, None)),
    (
        "changed system tail",
        lambda c: replace(c, prompt=[*c.prompt, SystemMessage("It is 08:15.")]),
        DriftReason.UNKNOWN,
        (c_tools, 0, 4),
    ),
    (
        "changed system line",
        lambda c: replace(c, prompt=[SystemMessage("You serve orders.\nBe verbose.\n你用客户的语言回答。"), c.prompt[1]]),
        DriftReason.UNKNOWN,
        (c_tools, 0, 1),
    ),
    ("rule version bump", lambda c: replace(c, rules=bumped(c.rules, 1)), DriftReason.POLICY_UPDATE, (c_tools, 0, 8)),
    ("rule added", lambda c: replace(c, rules=(*c.rules, Constraint.from_text("New."))), DriftReason.POLICY_UPDATE, (c_tools, 0, 8)),
    ("rule removed", lambda c: replace(c, rules=c.rules[:-1]), DriftReason.CONSTRAINT_REMOVED, (c_tools, 0, 8)),
    ("all rules removed", lambda c: replace(c, rules=()), DriftReason.CONSTRAINT_REMOVED, (c_tools, 0, 6)),
    ("tool order", lambda c: replace(c, tools=(look_up, delete_order, SCHEMA)), DriftReason.TOOL_ORDER, ((), 0, 0)),
    ("JSON key order", lambda c: replace(c, tools=(delete_order, look_up, SWAPPED)), DriftReason.KEY_ORDER, (c_tools[:2], 0, 0)),
    ("tool added at the end", lambda c: replace(c, tools=(*c.tools, {"name": "z"})), DriftReason.TOOL_CHANGE, (c_tools, 0, 0)),
    ("tool removed", lambda c: replace(c, tools=(delete_order, SCHEMA)), DriftReason.PERMISSION_SHRINK, (c_tools[:1], 0, 0)),
    ("last tool removed", lambda c: replace(c, tools=c.tools[:2]), DriftReason.PERMISSION_SHRINK, (c_tools[:2], 0, 0)),
    (
        "tool schema changed",
        lambda c: replace(c, tools=(delete_order, look_up, reworded(SCHEMA))),
        DriftReason.TOOL_CHANGE,
        (c_tools[:2], 0, 0),
    ),
    ("model changed", lambda c: replace(c, model=Model(model="gpt-y")), DriftReason.MODEL_CHANGE, ((), 0, 0)),
    ("provider changed", lambda c: replace(c, model=Model(provider="azure")), DriftReason.PROVIDER_CHANGE, ((), 0, 0)),
    ("compaction", lambda c: replace(c, talk=c.talk[-3:], head=1, body=body_of("Find ORD-1.")), DriftReason.COMPACTION, (c_tools, 0, None)),
]


def expected_tokens(counter: Counter, case: Case, shared: Shared) -> int:
    tools, messages, lines = shared
    leading = [case.system] if lines is None else [first_lines(case, lines)] if lines else []
    return counter.count_tools(tools) + counter([*leading, *case.view[:messages]])


def watched(watch: PrefixWatch, case: Case, *, key: Any = "t") -> Any:
    call = watch.before(
        key, model=case.model, messages=case.view, system=case.system, tools=case.tools, rules=case.rules, head=case.head, tokens=None
    )
    return call.after(ModelResponse(result=[AIMessage("ok")]))


@pytest.mark.parametrize(("change", "reason", "shared"), [row[1:] for row in MATRIX], ids=[row[0] for row in MATRIX])
def test_the_reason_and_the_shared_tokens_are_right(change: Change, reason: DriftReason | None, shared: Shared) -> None:
    """Each way to move a compiled prefix has its reason; the offset lies at the piece in which the texts first differ, the tokens end there."""
    counter = Counter()
    watch = PrefixWatch(count=counter)
    first, after = watched(watch, BASE), change(BASE)
    report = watched(watch, after)
    assert reason == report.drift_reason
    exact = first_changed_offset(BASE.text, after.text)
    assert (exact is None) == (report.first_changed_offset is None)
    if exact is not None:
        assert BASE.text[: report.first_changed_offset] == after.text[: report.first_changed_offset]
        assert report.first_changed_offset <= exact
    # Where the system message is cut, what its blocks carry beside their text and a mark between them belong to it.
    assert abs(expected_tokens(counter, after, shared) - report.common_prefix_tokens) <= (20 if shared[2] else 0)
    is_stable_zone = reason is not None and not (shared[1] and reason is DriftReason.UNKNOWN)
    assert is_stable_zone == (first.prefix_fingerprint != report.prefix_fingerprint)


@pytest.mark.parametrize("name", ["same prefix", "only grown", "changed tail", "changed middle"])
def test_conversation_does_not_move_the_fingerprint(name: str) -> None:
    """What is said, and what becomes of it, is no part of the fingerprint."""
    change = next(row[1] for row in MATRIX if row[0] == name)
    watch = PrefixWatch()
    assert watched(watch, BASE).prefix_fingerprint == watched(watch, change(BASE)).prefix_fingerprint


def test_stable_tools_keep_order_and_keys_from_moving_the_prefix() -> None:
    """What would be `tool_order` and `key_order` is no drift at all once the tools leave in stable order."""
    watch = PrefixWatch()
    order: tuple[str, ...] = ()
    fingerprints = set()
    for given in [(delete_order, look_up, SCHEMA), (SCHEMA, look_up, delete_order), (look_up, SWAPPED, delete_order)]:
        tools, order = stable_tools(given, order)
        report = watched(watch, replace(BASE, tools=tools))
        assert None is report.drift_reason
        fingerprints.add(report.prefix_fingerprint)
    assert 1 == len(fingerprints)


class Inner(AgentMiddleware[Any, Any, Any]):
    """Stands inside the guard and watches what the guard sends."""

    def __init__(self, watch: PrefixWatch, rules: tuple[Constraint, ...]) -> None:
        """Bind the watch and the rules in force."""
        super().__init__()
        self.watch = watch
        self.rules = rules
        self.reports: dict[str, list[Any]] = {}

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        key = thread_of(request.runtime)
        head = re.match(r'<context_summary version="(\d+)"', str(request.messages[0].content))
        with self.watch.before(
            key,
            model=request.model,
            messages=request.messages,
            system=request.system_message,
            tools=request.tools,
            rules=self.rules,
            head=int(head[1]) if head else 0,
        ) as call:
            response = handler(request)
        self.reports.setdefault(str(key[0]), []).append(call.after(response))
        return response


def guarded(watch: PrefixWatch, *, rules: tuple[Constraint, ...] = RULES, at: datetime | None = None, saver: Any = None) -> tuple[Any, Inner]:
    inner = Inner(watch, rules)
    guard = ContextGuard(
        constraints=rules,
        trigger=("tokens", 700),
        keep=("turns", 1),
        token_counter=Counter(),
        summarizer=Notes(),
        **({} if at is None else {"clock": lambda: at}),
    )
    script = lambda number, _: "answer"  # noqa: E731
    agent = create_agent(ScriptedChat(script=script), [look_up], middleware=[guard, inner], system_prompt="You serve.", checkpointer=saver)
    return agent, inner


def test_in_a_guarded_agent_only_compactions_move_the_prefix() -> None:
    """Over a long conversation of a real agent the prefix moves exactly when a new summary stands in it, and then the rules are still shared."""
    agent, inner = guarded(PrefixWatch(count=Counter()), saver=InMemorySaver())
    for turn in range(12):
        agent.invoke(said(f"Turn {turn}: " + "many words " * 30), thread())
    reports = inner.reports["t-1"]
    reasons = [report.drift_reason for report in reports]
    assert {None, DriftReason.COMPACTION} == set(reasons)
    assert reasons.count(DriftReason.COMPACTION) >= 2
    rules = Counter()([leading_system([SystemMessage("You serve.")], render_rules(RULES))]) + 50  # type: ignore[list-item]  # rules make one
    for before, report in pairwise(reports):
        assert report.common_prefix_tokens >= rules
        assert (report.drift_reason is not None) == (before.prefix_fingerprint != report.prefix_fingerprint)


def test_the_time_of_day_does_not_move_the_prefix() -> None:
    """The same thread continued in the morning, at night and a year later by agents made anew keeps fingerprint and prefix."""
    watch, saver = PrefixWatch(), InMemorySaver()
    reports = []
    for at in ("2026-01-05T08:00", "2026-01-05T23:59", "2027-02-01T12:30"):
        agent, inner = guarded(watch, at=datetime.fromisoformat(at).replace(tzinfo=UTC), saver=saver)
        agent.invoke(said("hello"), thread())
        reports += inner.reports["t-1"]
    # The model object is another one each time, its name is not.
    assert [None, None, None] == [report.drift_reason for report in reports]
    assert 1 == len({report.prefix_fingerprint for report in reports})


def test_a_rule_changed_between_two_runs_is_named() -> None:
    """A security update takes effect on the next call of a running thread, cache or no cache, and the report says why."""
    watch, saver = PrefixWatch(count=Counter()), InMemorySaver()
    for rules, reason in [(RULES, None), (bumped(RULES, 0), DriftReason.POLICY_UPDATE), (RULES[1:], DriftReason.CONSTRAINT_REMOVED)]:
        agent, inner = guarded(watch, rules=rules, saver=saver)
        agent.invoke(said("hello"), thread())
        assert [reason] == [report.drift_reason for report in inner.reports["t-1"]]


def test_ten_concurrent_threads_do_not_mix() -> None:
    """Ten conversations at once under one watch: each is compared with itself, and only the one whose rules change reports it, once."""
    counter = Counter()
    watch = PrefixWatch(count=counter)

    def talk(number: int) -> list[Any]:
        case = replace(BASE, talk=[HumanMessage(f"conversation {number}")])
        reports = []
        for turn in range(20):
            rules = bumped(RULES, 2) if number == 4 and turn >= 10 else RULES
            grown = [*case.talk, AIMessage(f"{number}/{turn}"), HumanMessage(f"{turn} of {number}")]
            case = replace(case, talk=grown, rules=rules)
            reports.append((watched(watch, case, key=f"thread-{number}"), case))
        return reports

    with ThreadPoolExecutor(10) as pool:
        runs = list(pool.map(talk, range(10)))
    for number, run in enumerate(runs):
        for turn, (report, _) in enumerate(run):
            is_update = number == 4 and turn == 10
            assert (DriftReason.POLICY_UPDATE if is_update else None) == report.drift_reason, (number, turn)
            if turn and not is_update:
                assert expected_tokens(counter, run[turn - 1][1], (BASE.tools, 10**6, None)) == report.common_prefix_tokens


def test_ten_concurrent_agents_do_not_mix() -> None:
    """Ten threads of one real agent at once, each with compactions of its own: no report speaks of another thread."""
    agent, inner = guarded(PrefixWatch(), saver=InMemorySaver())

    def talk(number: int) -> None:
        for turn in range(8):
            agent.invoke(said(f"{number}/{turn}: " + "many words " * 30), thread(f"t-{number}"))

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(talk, range(10)))
    assert 10 == len(inner.reports)
    for reports in inner.reports.values():
        assert 8 == len(reports)
        assert {None, DriftReason.COMPACTION} == {report.drift_reason for report in reports}


@pytest.mark.moves_cache_prefix(reason="written for the first time")
def test_our_own_prefix_stays_byte_for_byte(holds_cache_prefix: Callable[[str, str], None]) -> None:
    """The compiled system message (prompts coalesced, rules pinned) and the tools behind `stable_tools` are what running agents have cached."""
    tools, _ = stable_tools([look_up, SWAPPED, delete_order])
    sent = {
        "system": leading_system([*PROMPT, PROMPT[0]], render_rules(RULES)).content,  # type: ignore[union-attr]  # rules make one
        "alone": leading_system([], render_rules(RULES[:1])).content,  # type: ignore[union-attr]  # as above
        "tools": [json_text(item) if isinstance(item, dict) else tool_text(item) for item in tools],
    }
    holds_cache_prefix("prefix", json.dumps(sent, ensure_ascii=False, indent=1) + "\n")


def test_a_moved_prefix_needs_a_reason_of_its_own(tmp_path: Path) -> None:
    """The snapshot is written only on demand and with a new reason; a marker and a snapshot that disagree fail as well."""
    kept = tmp_path / "prefix.txt"
    for text, reason, is_update, match in [
        ("one", "", True, "needs a reason of its own"),
        ("one", "first", False, "would be lost"),
        ("one", "first", True, None),
        ("one", "first", False, None),
        ("two", "first", False, "CTXGUARD_MOVE_PREFIX=1"),
        ("two", "first", True, "needs a reason of its own"),
        ("two", "second", True, None),
        ("two", "first", False, "another reason"),
        ("two", "second", False, None),
    ]:
        if match is None:
            check_prefix(kept, text, reason=reason, is_update=is_update)
        else:
            with pytest.raises(pytest.fail.Exception, match=match):
                check_prefix(kept, text, reason=reason, is_update=is_update)
    assert "moved: second\ntwo" == kept.read_text(encoding="utf-8")


def test_a_tool_of_another_description_is_another_prefix() -> None:
    """A tool object with the same name and other words is a change, and nothing behind it is shared."""

    @tool("look_up")
    def other(key: str) -> str:
        """Look a key up, or else."""
        return key

    watch = PrefixWatch(count=Counter())
    watched(watch, BASE)
    report = watched(watch, replace(BASE, tools=(delete_order, other, SCHEMA)))
    assert (DriftReason.TOOL_CHANGE, 50) == (report.drift_reason, report.common_prefix_tokens)
