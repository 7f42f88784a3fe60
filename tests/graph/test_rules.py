"""Rules that change while an agent runs: in force at the very next call, at the place they are for, enforced or plainly not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.domain.constraint import Constraint, ConstraintSource, Scope
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.errors import CheckFailedError, ConfigurationError, ConstraintConflictError
from langchain_ctxguard.graph.rules import RulesInForce
from langchain_ctxguard.records.constraints import ConstraintRegistry
from tests.graph.models import Facts, ScriptedChat, agent_of, calling, guard_of, look_up, said, system_texts, thread

ASK_FIRST = Constraint(constraint_id="ask-first", text="Ask before you send a mail.")


def registry() -> ConstraintRegistry:
    """Return an empty registry in memory."""
    return ConstraintRegistry(MemoryLog())


def pins(view: Any) -> str:
    """Return the system text of a view."""
    return "\n".join(system_texts(view))


def test_a_security_update_holds_at_the_very_next_call() -> None:
    """Declared between two calls of one run; no cache is asked to forget anything."""
    rules = registry()

    def script(number: int, _: Any) -> AIMessage | str:
        if number == 0:
            rules.writer("system", by="security").declare(ASK_FIRST, "incident 12")
            return calling("a")
        return "done"

    model = ScriptedChat(script=script)
    agent_of(model, guard_of(registry=rules), tools=[look_up]).invoke(said("go"))

    assert ASK_FIRST.text not in pins(model.seen[0])
    assert ASK_FIRST.text in pins(model.seen[1])


async def test_a_revoked_rule_is_gone_at_the_next_call() -> None:
    """Async alike; the rule of the code stays."""
    rules = registry()
    writer = rules.writer("system", by="security")
    writer.declare(ASK_FIRST, "incident 12")
    model = ScriptedChat()
    agent = agent_of(model, guard_of(registry=rules), checkpointer=InMemorySaver())

    await agent.ainvoke(said("one"), thread())
    writer.revoke("ask-first", "incident closed")
    await agent.ainvoke(said("two"), thread())

    assert ASK_FIRST.text in pins(model.seen[0])
    assert ASK_FIRST.text not in pins(model.seen[1])
    assert "Never delete an order." in pins(model.seen[1])


def test_only_the_newest_version_is_ever_visible() -> None:
    """A superseded text never stands in a request again."""
    rules = registry()
    writer = rules.writer("system", by="ops")
    writer.declare(Constraint(constraint_id="limit", text="Refund at most 500 EUR."), "start")
    model = ScriptedChat()
    agent = agent_of(model, guard_of(registry=rules), checkpointer=InMemorySaver())
    agent.invoke(said("one"), thread())

    writer.supersede(Constraint(constraint_id="limit", version=2, text="Refund at most 300 EUR.", supersedes="limit@1"), "new policy")
    agent.invoke(said("two"), thread())

    assert "500 EUR" in pins(model.seen[0])
    assert "300 EUR" in pins(model.seen[1])
    assert "500 EUR" not in pins(model.seen[1])


def test_a_rule_ends_when_its_time_is_over() -> None:
    """Time alone takes a rule out, between two calls, without a change on record."""
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)
    moment = [now]
    rule = Constraint(constraint_id="freeze", text="Do not deploy.", expires_at=now + timedelta(hours=1))
    model = ScriptedChat()
    agent = agent_of(model, guard_of(constraints=[rule], clock=lambda: moment[0]), checkpointer=InMemorySaver())

    agent.invoke(said("one"), thread())
    moment[0] = now + timedelta(hours=2)
    agent.invoke(said("two"), thread())

    assert "Do not deploy." in pins(model.seen[0])
    assert "Do not deploy." not in pins(model.seen[1])


def test_a_rule_holds_where_it_is_for() -> None:
    """Thread, tool, agent and workspace: inside they are pinned, outside they are not there."""
    scoped = [
        Constraint(constraint_id="in-thread", text="Rule of thread t-7.", scope=Scope(kind="thread", value="t-7")),
        Constraint(constraint_id="for-tool", text="Rule for look_up.", scope=Scope(kind="tool", value="look_up")),
        Constraint(constraint_id="for-agent", text="Rule for the clerk.", scope=Scope(kind="agent", value="clerk")),
    ]
    model = ScriptedChat()
    guard = guard_of(constraints=scoped, agent="clerk")
    saver = InMemorySaver()
    agent_of(model, guard, checkpointer=saver).invoke(said("one"), thread("t-7"))
    agent_of(model, guard, tools=[look_up], checkpointer=saver).invoke(said("two"), thread("t-8"))
    agent_of(model, guard_of(constraints=scoped, agent="cook"), checkpointer=saver).invoke(said("three"), thread("t-9"))

    shown = [[rule.text in pins(view) for rule in scoped] for view in map(list, model.seen[:2])]
    assert [[True, False, True], [False, True, True]] == shown
    assert "Rule" not in pins(model.seen[2]).replace("Rules in force", "")


def test_an_idle_registry_costs_one_question() -> None:
    """A call asks where the streams end; it reads none of them again while they stand still."""

    class Counting(MemoryLog):
        reads = 0
        heads_asked = 0

        def read(self, stream: Stream, since: int = 0) -> Any:
            Counting.reads += 1
            return super().read(stream, since)

        def heads(self, streams: Any) -> Any:
            Counting.heads_asked += 1
            return super().heads(streams)

    rules = ConstraintRegistry(Counting())
    rules.writer("system", by="ops").declare(ASK_FIRST, "start")
    agent = agent_of(ScriptedChat(), guard_of(registry=rules), checkpointer=InMemorySaver())
    agent.invoke(said("one"), thread())
    reads, asked = Counting.reads, Counting.heads_asked

    agent.invoke(said("two"), thread())

    assert reads == Counting.reads
    assert 1 == Counting.heads_asked - asked


def test_refresh_in_seconds_is_a_relaxation_one_has_to_choose() -> None:
    """Within the seconds nobody asks the registry; after them the change is there."""
    rules = registry()
    held = RulesInForce((), rules.reader(), clock=lambda: datetime.now(UTC), refresh=3_600)
    from langchain_ctxguard.domain.constraint import Place

    assert () == held.at(Place()).pinned
    rules.writer("system", by="ops").declare(ASK_FIRST, "start")
    assert () == held.at(Place()).pinned
    assert (ASK_FIRST.text,) == tuple(rule.text for rule in RulesInForce((), rules.reader(), clock=lambda: datetime.now(UTC)).at(Place()).pinned)


def test_two_texts_of_one_rule_are_refused_while_constructing() -> None:
    """Neither outranks the other: nobody could say which one holds."""
    rules = registry()
    rules.writer("system", by="ops").declare(ASK_FIRST, "start")
    with pytest.raises(ConstraintConflictError) as caught:
        guard_of(constraints=[ASK_FIRST.model_copy(update={"text": "Never ask."})], registry=rules)
    assert "Never ask." in str(caught.value)
    assert ASK_FIRST.text in str(caught.value)


def test_a_conflict_at_run_time_is_handed_to_a_person_with_both_texts() -> None:
    """The model is not called before the answer; the answer decides this call."""
    rules = registry()
    model = ScriptedChat()
    facts = Facts()
    agent = agent_of(model, guard_of(constraints=[ASK_FIRST], registry=rules, hooks=[facts]), checkpointer=InMemorySaver())
    agent.invoke(said("one"), thread())
    other = ASK_FIRST.model_copy(update={"text": "Never ask.", "source": ConstraintSource(type="registry")})
    rules.writer("system", by="ops").declare(other, "a slip")

    paused = agent.invoke(said("two"), thread())
    texts = {rule["text"] for rule in paused["__interrupt__"][0].value["rules"]}
    assert {"Never ask.", ASK_FIRST.text} == texts
    assert 1 == len(model.seen)


@pytest.mark.parametrize(
    "rule",
    [
        Constraint(constraint_id="r", text="x", enforcement="runtime"),
        Constraint(constraint_id="r", text="x", enforcement="human_approval"),
        Constraint(constraint_id="r", text="x", enforcement="verifier", validator="nobody"),
    ],
)
def test_a_rule_that_promises_what_nothing_keeps_is_refused(rule: Constraint) -> None:
    """Guidance is never sold as a guarantee."""
    with pytest.raises(ConfigurationError, match="'r@1'"):
        guard_of(constraints=[rule])


def answering_then(*answers: str) -> ScriptedChat:
    """Return a model that gives these answers in turn."""
    return ScriptedChat(script=lambda number, _: answers[min(number, len(answers) - 1)])


def checked(on_fail: str, **changes: Any) -> Constraint:
    """Return a rule that no answer holds a phone number."""
    given: dict[str, Any] = {"validator": {"pattern": r"\d{3}-\d{4}", "must": "not_match"}, **changes}
    return Constraint(constraint_id="no-phones", text="Never show a phone number.", enforcement="verifier", on_fail=on_fail, **given)


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_answer_that_fails_is_asked_again_and_never_kept(is_async: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The model is told the rule and the fault; only the answer that passes reaches the state."""
    model = answering_then("Call 555-1234.", "I cannot share numbers.")
    facts = Facts()
    agent = agent_of(model, guard_of(constraints=[checked("retry")], hooks=[facts]))

    state = await agent.ainvoke(said("phone?")) if is_async else agent.invoke(said("phone?"))

    assert ["phone?", "I cannot share numbers."] == [message.text for message in state["messages"]]
    assert "Never show a phone number." in model.seen[1][-1].text
    assert ["check_failed"] == [fact.kind for fact in facts.all if hasattr(fact, "kind")]
    assert "555" not in str(facts.all)


def test_an_answer_that_never_passes_stops_the_run() -> None:
    """Asked again twice, then an error that names the rule; nothing was passed on."""
    model = answering_then("Call 555-1234.")
    with pytest.raises(CheckFailedError) as caught:
        agent_of(model, guard_of(constraints=[checked("retry")])).invoke(said("phone?"))
    assert 3 == len(model.seen)
    assert ("no-phones",) == caught.value.rules


def test_a_flagged_answer_is_passed_on_and_put_on_record() -> None:
    """`on_fail: flag` changes nothing but the record."""
    facts = Facts()
    state = agent_of(answering_then("Call 555-1234."), guard_of(constraints=[checked("flag")], hooks=[facts])).invoke(said("phone?"))
    assert "Call 555-1234." == state["messages"][-1].text
    assert "no-phones@1" in next(fact.detail for fact in facts.all if hasattr(fact, "kind"))


def test_a_validator_of_the_application_runs_by_its_name() -> None:
    """Its reason is told to the model."""
    rule = Constraint(constraint_id="short", text="Answer in one word.", enforcement="verifier", validator="one_word", on_fail="retry")
    guard = guard_of(
        constraints=[rule], extensions=Extensions(validators={"one_word": lambda text: len(text.split()) == 1 or "it has several words"})
    )
    model = answering_then("two words", "one")
    state = agent_of(model, guard).invoke(said("?"))
    assert "one" == state["messages"][-1].text
    assert "it has several words" in model.seen[1][-1].text


@tool
def directory(name: str) -> str:
    """Look a person up."""
    return f"{name}: 555-1234"


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_result_that_fails_is_withheld_from_the_model(is_async: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The model learns that the tool has run and which rule its result failed, not the result."""
    rule = checked("retry", checks="tool_result", scope={"kind": "tool", "value": "directory"})
    model = ScriptedChat(
        script=lambda number, _: AIMessage("", tool_calls=[{"name": "directory", "args": {"name": "Ann"}, "id": "c1"}]) if number == 0 else "sorry"
    )
    agent = agent_of(model, guard_of(constraints=[rule]), tools=[directory])

    state = await agent.ainvoke(said("Ann?")) if is_async else agent.invoke(said("Ann?"))

    result = next(message for message in state["messages"] if isinstance(message, ToolMessage))
    assert "error" == result.status
    assert "555-1234" not in str(model.seen)
    assert "no-phones" in result.text


def test_a_runtime_rule_with_a_check_blocks_whatever_it_says_about_failures() -> None:
    """`runtime` is a guarantee: a text that fails is never passed on."""
    rule = Constraint.model_validate({**checked("flag").model_dump(), "enforcement": "runtime"})
    with pytest.raises(CheckFailedError):
        agent_of(answering_then("Call 555-1234."), guard_of(constraints=[rule])).invoke(said("phone?"))


def test_a_person_decides_which_rule_holds_for_a_call() -> None:
    """Resumed with an option, the other text is left out of the call and the decision is on record; any other answer stops the call."""
    rules = registry()
    first = Constraint(constraint_id="first", text="Rule one.")
    model, facts = ScriptedChat(), Facts()
    guard = guard_of(constraints=[first], registry=rules, hooks=[facts])
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    agent.invoke(said("one"), thread())
    rules.writer("system", by="ops").declare(first.model_copy(update={"text": "Rule two."}), "a slip")
    paused = agent.invoke(said("two"), thread())
    option = next(rule["option"] for rule in paused["__interrupt__"][0].value["rules"] if rule["text"] == "Rule two.")

    agent.invoke(Command(resume={"keep": option}), thread())

    assert "Rule two." in pins(model.seen[1])
    assert "Rule one." not in pins(model.seen[1])
    assert ["conflict_asked"] == [fact.kind for fact in facts.all if hasattr(fact, "kind")]
    agent.invoke(said("three"), thread())
    with pytest.raises(ConstraintConflictError):
        agent.invoke(Command(resume={"keep": "nobody"}), thread())


def test_a_rule_declared_later_that_nothing_keeps_is_shown_and_on_record() -> None:
    """A run is not ended by somebody else's declaration, and nobody takes the rule for a guarantee."""
    rules = registry()
    facts = Facts()
    model = ScriptedChat()
    agent = agent_of(model, guard_of(registry=rules, hooks=[facts]), checkpointer=InMemorySaver())
    rules.writer("system", by="ops").declare(Constraint(constraint_id="late", text="No writes.", enforcement="runtime"), "in a hurry")

    agent.invoke(said("one"), thread())
    agent.invoke(said("two"), thread())

    assert "No writes." in pins(model.seen[0])
    assert ["late@1"] == [fact.detail.split()[1] for fact in facts.all if getattr(fact, "kind", "") == "unenforced_rule"]


def test_a_declared_rule_that_is_only_inferred_is_not_pinned_and_on_record() -> None:
    """It waits for a person, and does not vanish without a word; once a person superseded it, that is pinned."""
    rules = registry()
    facts = Facts()
    model = ScriptedChat()
    agent = agent_of(model, guard_of(registry=rules, hooks=[facts]), checkpointer=InMemorySaver())
    heard = Constraint(constraint_id="heard", text="No writes.", authority="inferred")
    rules.writer("inferred", by="reader").declare(heard, "said in a call")

    agent.invoke(said("one"), thread())
    agent.invoke(said("two"), thread())
    person = Constraint(constraint_id="heard", version=2, text="No writes.", authority="user", supersedes="heard@1")
    rules.writer("user", by="ann").supersede(person, "yes")
    agent.invoke(said("three"), thread())

    assert ["No writes." in pins(sent) for sent in model.seen] == [False, False, True]
    assert ["heard@1"] == [fact.detail.split()[1] for fact in facts.all if getattr(fact, "kind", "") == "inferred_waiting"]


def test_a_weaker_rule_may_ask_for_more_than_a_stronger_one() -> None:
    """Forbidding what a stronger rule merely permits relaxes nothing: both are pinned."""
    permission = Constraint(constraint_id="may", text="Orders may be deleted.")
    ban = Constraint(constraint_id="ban", text="Never delete an order.", authority="user")
    assert {"may", "ban"} == {rule.constraint_id for rule in guard_of(constraints=[permission, ban]).rules()}


def test_a_weaker_permission_does_not_relax_a_stronger_ban_and_that_is_on_record() -> None:
    """The ban is pinned, the permission is not, and whoever reads the record sees both names."""
    facts = Facts()
    ban = Constraint(constraint_id="ban", text="Never delete an order.")
    permission = Constraint(constraint_id="may", text="You may delete orders.", authority="user")
    model = ScriptedChat()
    agent_of(model, guard_of(constraints=[permission, ban], hooks=[facts])).invoke(said("go"))
    assert "You may delete orders." not in pins(model.seen[0])
    assert ["may@1 < ban@1"] == [fact.detail.split(": ")[1].split(". ")[0] for fact in facts.all if getattr(fact, "kind", "") == "rule_outranked"]


def test_a_conflict_without_a_checkpointer_is_an_error() -> None:
    """Nobody could resume the run: it does not pause for good."""
    rules = registry()
    first = Constraint(constraint_id="first", text="Rule one.")
    guard = guard_of(constraints=[first], registry=rules)
    rules.writer("system", by="ops").declare(first.model_copy(update={"text": "Rule two."}), "a slip")
    with pytest.raises(ConstraintConflictError):
        agent_of(ScriptedChat(), guard).invoke(said("go"))


def test_a_pattern_that_is_none_is_refused_while_constructing() -> None:
    """Not at the first answer."""
    with pytest.raises(ConfigurationError, match="no-phones"):
        guard_of(constraints=[checked("stop", validator={"pattern": "("})])


def test_a_plain_graph_checks_its_answers_by_a_call() -> None:
    """`check_answer` raises what an agent would raise, and records what it would record."""
    facts = Facts()
    guard = guard_of(constraints=[checked("stop")], hooks=[facts])
    guard.check_answer("All is well.")
    with pytest.raises(CheckFailedError):
        guard.check_answer(AIMessage("Call 555-1234."))
    assert ["check_failed"] == [fact.kind for fact in facts.all if hasattr(fact, "kind")]


def test_a_view_made_in_a_graph_has_the_rules_of_its_thread() -> None:
    """The thread need not be named where a graph is running."""
    from langgraph.graph import START, MessagesState, StateGraph

    from langchain_ctxguard import GuardedState

    guard = guard_of(constraints=[Constraint(constraint_id="in-thread", text="Rule of thread t-7.", scope=Scope(kind="thread", value="t-7"))])
    model = ScriptedChat()
    graph = StateGraph(GuardedState, input_schema=MessagesState, output_schema=MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state))]})
    graph.add_edge(START, "model")
    app = graph.compile(checkpointer=InMemorySaver())
    app.invoke(said("one"), thread("t-7"))
    app.invoke(said("two"), thread("t-8"))
    assert "Rule of thread t-7." in pins(model.seen[0])
    assert "Rule of thread t-7." not in pins(model.seen[1])
