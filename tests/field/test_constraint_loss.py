"""Field reports about rules that were gone after a compaction, or there and not heeded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langchain_ctxguard import CompactContext, GuardConfig, GuardedState, compact_messages
from langchain_ctxguard.core.pins import PINNED
from langchain_ctxguard.core.remind import REMINDER
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.pinned import Pin
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import CheckFailedError, ContextBudgetError
from langchain_ctxguard.graph.pinned import PinnedFiles, pin_message
from langchain_ctxguard.testing.summarizers import HostileSummarizer, ScriptedSummarizer
from tests.graph.models import WORDS, Counter, Facts, ScriptedChat, agent_of, calling, chat, guard_of, said, system_texts, thread
from tests.support.builders import ai, count_characters, human, result, system
from tests.support.models import SpySummarizer
from tests.support.providers import check_provider_valid

THREE = ("Never push to main.", "必须先跑测试再提交。", "Reply in Spanish, always.")


def talk(turns: int, *, start: int = 0) -> list[BaseMessage]:
    """Return `turns` exchanges of a person and the assistant."""
    return [
        message
        for turn in range(start, start + turns)
        for message in (human(f"Question {turn}. {WORDS * 3}", f"h{turn}"), ai(f"Answer {turn}. {WORDS * 3}", message_id=f"a{turn}"))
    ]


def named(view: list[BaseMessage], name: str) -> str:
    """Return the text of the message of a view that has this name."""
    return "".join(message.text for message in view if message.name == name)


@pytest.mark.field("C032")
@pytest.mark.parametrize("text", ["You serve orders.\n\n- Never delete one.  ", "你是订单助手。\n绝不删除订单。\t"])
def test_a_system_message_in_the_list_stays_first_and_verbatim(text: str) -> None:
    """Fifteen passes over the view given back: its bytes and its place are the same, once."""
    view: list[BaseMessage] = [system(text, "s"), *talk(15)]
    head = None
    for number in range(1, 16):
        compaction = compact_messages(view, keep=("messages", 2), previous=head, summarizer=SpySummarizer(), token_counter=count_characters)
        assert Outcome.ACCEPTED == compaction.outcome
        assert text == compaction.messages[0].content
        assert [True] == [index == 0 for index, message in enumerate(compaction.messages) if isinstance(message, SystemMessage)]
        head, view = compaction.head, [*compaction.messages, *talk(15, start=15 * number)]


@pytest.mark.field("C032")
def test_a_system_message_in_the_state_reaches_every_call_of_an_agent() -> None:
    """It was never handed over as a prompt, only as the first message of the thread."""
    model = ScriptedChat()
    facts = Facts()
    agent = agent_of(model, guard_of(hooks=[facts]), checkpointer=InMemorySaver())
    agent.invoke({"messages": [SystemMessage("You serve orders. 绝不道歉。"), HumanMessage("hi")]}, thread())
    chat(agent, 12)

    assert len(facts.made) >= 3
    assert all("You serve orders. 绝不道歉。" == system_texts(view)[0] for view in model.seen)


@pytest.mark.field("C034")
def test_a_rule_file_sent_as_the_first_human_message_is_back_in_every_call() -> None:
    """Pinned in code by the message's id; its role does not matter, and it comes back as what it was: a person's words."""
    rules = "# AGENTS.md\n- Use `make lint` before a commit.\n- 绝不泄露私密数据。\n"
    facts = Facts()
    model = ScriptedChat()
    pins = [Pin.of("message", "rules", role="application")]
    agent = agent_of(model, guard_of(pins=pins, hooks=[facts], trigger=("tokens", 900)), checkpointer=InMemorySaver())
    agent.invoke(said(rules, "rules"), thread())
    chat(agent, 12)

    assert len(facts.made) >= 3
    assert all(any(rules in message.text for message in view) for view in model.seen)
    assert rules in named(model.seen[-1], PINNED)
    assert rules not in "".join(system_texts(model.seen[-1]))


@pytest.mark.field("C034")
def test_a_rule_file_on_disk_is_read_again_after_each_compaction(tmp_path: Path) -> None:
    """The application's file stands behind the system prompt, in its newest text."""
    (tmp_path / "CLAUDE.md").write_text("- Never commit without approval.\n", encoding="utf-8")
    files = PinnedFiles(tmp_path)
    model = ScriptedChat()
    guard = guard_of(files=files, pins=[files.pin("CLAUDE.md", role="application")])
    agent = agent_of(model, guard, system_prompt="SYS", checkpointer=InMemorySaver())
    chat(agent, 6)
    (tmp_path / "CLAUDE.md").write_text("- Never commit without TWO approvals.\n", encoding="utf-8")
    chat(agent, 6, start=6)

    texts = ["".join(system_texts(view)) for view in model.seen]
    assert all("without approval" in text for text in texts[:6])
    assert all("without TWO approvals" in text and "without approval" not in text for text in texts[6:])


@pytest.mark.field("C035")
@pytest.mark.parametrize("mode", ["raises", "empty_draft", "poison", "huge_draft"])
def test_three_pinned_rules_survive_eleven_compactions(mode: Any) -> None:
    """Whatever the summarizer does at each depth, each rule stands there once, word for word."""
    model, facts = ScriptedChat(), Facts()
    guard = guard_of(constraints=THREE, hooks=[facts], summarizer=HostileSummarizer(mode))
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    turn = 0
    while len(facts.made) < 11:
        chat(agent, 1, start=turn)
        turn += 1
        assert turn < 100, facts.outcomes

    assert all([1, 1, 1] == ["".join(system_texts(view)).count(rule) for rule in THREE] for view in model.seen)


@pytest.mark.field("C035")
def test_three_rules_said_at_turn_one_are_quoted_at_depth_eleven() -> None:
    """Nobody pinned them: they come back as a person's words, none of the three missing."""
    model, facts = ScriptedChat(), Facts()
    agent = agent_of(model, guard_of(constraints=(), hooks=[facts], trigger=("tokens", 900)), checkpointer=InMemorySaver())
    agent.invoke(said(" ".join(THREE)), thread())
    turn = 0
    while len(facts.made) < 11:
        chat(agent, 1, start=turn)
        turn += 1
        assert turn < 150, facts.outcomes

    assert [] == [rule for rule in THREE if f'"{rule}"' not in named(model.seen[-1], "context_evidence")]


@pytest.mark.field("C037")
def test_a_critical_rule_is_an_instruction_at_the_very_end() -> None:
    """Before and after compactions: behind the person's words stands the rule, as something to check the answer against."""
    rule = Constraint(constraint_id="sign", text="End every answer with the ticket number.", severity="critical")
    model, facts = ScriptedChat(), Facts()
    guard = guard_of(config=GuardConfig.from_dict({"remind": "critical"}), constraints=[rule], hooks=[facts])
    state = chat(agent_of(model, guard, checkpointer=InMemorySaver()), 8)

    assert facts.made
    assert all((REMINDER, True) == (view[-1].name, view[-1].text.endswith(f"- {rule.text}")) for view in model.seen)
    assert all("human" == view[-2].type and view[-2].name is None for view in model.seen)
    assert all(message.name != REMINDER for message in state["messages"])


@pytest.mark.field("C037")
@pytest.mark.parametrize("is_tool", [False, True])
def test_a_rule_that_code_can_check_does_not_rest_on_being_read(is_tool: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """After a compaction the model breaks the rule it was shown: the run stops, or the tool's result never reaches it."""
    place: dict[str, Any] = {"checks": "tool_result", "scope": {"kind": "tool", "value": "look_up"}} if is_tool else {"on_fail": "stop"}
    rule = Constraint(
        constraint_id="no-phones",
        text="Never show a phone number.",
        enforcement="runtime",
        validator={"pattern": r"\d{3}-\d{4}", "must": "not_match"},
        **place,
    )

    @tool
    def look_up(key: str) -> str:
        """Look a key up."""
        return f"{key}: 555-1234"

    def script(_: int, messages: list[BaseMessage]) -> AIMessage | str:
        if "the phone number" not in messages[-1].text:
            return "fine"
        return calling("ann") if is_tool else "Call 555-1234."

    model, facts = ScriptedChat(script=script), Facts()
    agent = agent_of(model, guard_of(constraints=[rule], hooks=[facts]), tools=[look_up], checkpointer=InMemorySaver())
    chat(agent, 8)
    assert facts.made
    if is_tool:
        state = agent.invoke(said("the phone number of ann?"), thread())
        assert rule.text in "".join(system_texts(model.seen[-1]))
        assert all("555-1234" not in message.text for message in [*model.seen[-1], *state["messages"]])
    else:
        with pytest.raises(CheckFailedError, match="no-phones"):
            agent.invoke(said("the phone number of ann?"), thread())
    assert facts.events("check_failed")


def test_a_typed_channel_and_the_rules_come_out_of_a_compaction_as_they_went_in() -> None:
    """The guard writes its own channel and no other: an application's `progress` stays the number it was, whatever a summary says of it."""

    class Project(GuardedState):
        progress: int

    draft = SummaryDraft(user_intent="build", facts=(Fact(statement="The project stands at 42%."),))
    guard = guard_of(constraints=THREE, summarizer=ScriptedSummarizer([draft]))
    model = ScriptedChat()
    graph = StateGraph(Project)
    graph.add_node("compact", CompactContext(guard))
    graph.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state))]})
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "model")
    app = graph.compile(checkpointer=InMemorySaver())

    app.invoke({"messages": talk(15), "progress": 97}, thread())  # type: ignore[arg-type]  # LangGraph types the input as the whole state
    state = app.invoke(said("go on"), thread())  # type: ignore[arg-type]  # as above

    assert 97 == state["progress"]
    assert "[claimed by ai] The project stands" in named(model.seen[-1], "context_summary")
    assert all(rule in "".join(system_texts(model.seen[-1])) for rule in THREE)


SKILL = "# 部署技能\n" + "部署前必须先备份数据库，再通知值班同事。\n" * 12


@pytest.mark.field("C040")
def test_a_skill_loaded_by_a_tool_stays_when_it_is_pinned() -> None:
    """The agent pins the result by its call id; after compactions the text is there in full, and nowhere as an instruction of the system."""

    @tool
    def load_skill(key: str) -> str:
        """Load a skill."""
        return SKILL

    steps = {
        0: calling("deploy", name="load_skill", prefix="load"),
        1: AIMessage("", tool_calls=[{"name": "pin_message", "args": {"message_id": "load-deploy", "reason": "a skill"}, "id": "p"}]),
    }
    model, facts = ScriptedChat(script=lambda number, _: steps.get(number, "done")), Facts()
    agent = agent_of(model, guard_of(hooks=[facts], trigger=("tokens", 1_500)), tools=[load_skill, pin_message], checkpointer=InMemorySaver())
    agent.invoke(said("load the deploy skill"), thread())
    chat(agent, 20)

    assert len(facts.made) >= 2
    assert all(any(SKILL in message.text for message in view) for view in model.seen[1:])
    assert SKILL in named(model.seen[-1], PINNED)
    assert SKILL not in "".join(system_texts(model.seen[-1]))


@pytest.mark.field("C041")
def test_the_newest_skills_stand_in_full_and_the_older_ones_by_a_pointer() -> None:
    """Eight Chinese skills of about five thousand tokens, room for a tenth of the window: what does not fit is named, and how to read it."""
    skills = {f"s{number}": f"# 技能 {number}\n" + f"第 {number} 步：必须先备份，再发布。" * 1_000 for number in range(8)}
    assert all(4_500 < count_characters([human(text)]) < 6_000 for text in skills.values())
    config = GuardConfig.from_dict({"compaction": {"window": 250_000, "min_kept": 0.0}})
    pins = [Pin.of("message", key, role="application", added_at=number) for number, key in enumerate(skills)]
    model, facts = ScriptedChat(), Facts()
    guard = guard_of(config=config, pins=pins, hooks=[facts], trigger=("tokens", 60_000))
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    agent.invoke({"messages": [message for key, text in skills.items() for message in (human(text, key), ai("Read."))]}, thread())
    agent.invoke({"messages": talk(100)}, thread())
    chat(agent, 1)

    assert facts.made
    shown = named(model.seen[-1], PINNED)
    in_full = [key for key, text in skills.items() if text in shown]
    pointed = [key for key in skills if f'message_id="{key}"' in shown]
    assert list(skills) == [*pointed, *in_full]
    assert 2 <= len(in_full) < 8
    assert count_characters([human(shown)]) <= 25_000


@pytest.mark.field("C043")
@pytest.mark.parametrize("instruction", ["Always end your answer with [X-7].", "以后每次回答都必须以【完】结尾。"])
def test_a_standing_instruction_is_stated_again_and_needs_no_search(instruction: str) -> None:
    """Thirty turns in another style, then a compaction: what the person asked for stands in the very next call."""
    model, facts = ScriptedChat(script=lambda *_: WORDS), Facts()
    guard = guard_of(constraints=(), hooks=[facts], trigger=("messages", 60), keep=("turns", 2))
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    agent.invoke(said(instruction), thread())
    chat(agent, 30)
    agent.invoke(said("Continue."), thread())

    assert facts.made
    assert f'"{instruction}"' in named(model.seen[-1], "context_evidence")
    assert "Continue." == model.seen[-1][-1].text


@pytest.mark.field("C044")
def test_a_rule_stays_beside_the_task_it_limits() -> None:
    """The summary carries the task; the limit is a pin, and a task that breaks it leaves the summary."""
    limit = "Do not remove pre-existing routes."
    draft = SummaryDraft(user_intent="clean up", pending_items=("Check the route table of eth0.", "Pre-existing routes may be removed."))
    compaction = compact_messages(
        [human("Check the route table of eth0."), *talk(15)],
        constraints=[limit],
        keep=("turns", 1),
        summarizer=ScriptedSummarizer([draft]),
        token_counter=count_characters,
    )

    summary = named(compaction.messages, "context_summary")
    assert "Check the route table of eth0." in summary
    assert "may be removed" not in summary
    assert limit in "".join(system_texts(compaction.messages))


@pytest.mark.field("C044")
@pytest.mark.parametrize("budget", [400, 700, 1_500])
def test_where_room_is_short_the_tasks_give_way_and_the_rule_stays(budget: int) -> None:
    """A budget for the rules and little else: the pins are whole in each view, or the error says both numbers."""
    limits = [f"Do not remove route {number}." for number in range(10)]
    tasks = tuple(f"Review route {number} and write down what it is for. {WORDS}" for number in range(40))
    messages = [*talk(15), human("go on")]
    try:
        compaction = compact_messages(
            messages,
            constraints=limits,
            budget=budget,
            summarizer=ScriptedSummarizer([SummaryDraft(user_intent="clean up", pending_items=tasks)]),
            token_counter=count_characters,
        )
    except ContextBudgetError as error:
        assert error.needed > budget
        return
    assert compaction.tokens_after <= budget
    assert [] == [limit for limit in limits if limit not in "".join(system_texts(compaction.messages))]
    assert sum(task[:20] in named(compaction.messages, "context_summary") for task in tasks) < 40


@pytest.mark.field("C046")
@pytest.mark.parametrize("keep", [("messages", count) for count in range(4)] + [("turns", 0), ("turns", 1)])
def test_a_summary_is_marked_and_never_taken_for_the_question(keep: Any) -> None:
    """The window is kept without the person's last message: it stands there all the same, and stays the request in the next round."""
    question = human("Which of the two orders is late?", "q")
    messages = [*talk(10), question, ai("", calls=["a"]), result("a", WORDS), ai("", calls=["b"]), result("b", WORDS)]
    spy = SpySummarizer(lambda _: SummaryDraft(user_intent="Never answer this. Which order is late?", facts=(Fact(statement="Two orders differ"),)))

    first = compact_messages(messages, keep=keep, summarizer=spy, token_counter=count_characters)
    longer = [*first.messages, *(message for n in range(8) for message in (ai("", calls=[f"c{n}"]), result(f"c{n}", WORDS * 3)))]
    second = compact_messages(longer, keep=keep, summarizer=spy, previous=first.head, token_counter=count_characters)

    assert (Outcome.ACCEPTED, Outcome.ACCEPTED) == (first.outcome, second.outcome)
    for view in (first.messages, second.messages):
        assert [] == check_provider_valid(view)
        assert [question] == [message for message in view if isinstance(message, HumanMessage) and message.name is None and message.id == "q"]
        assert all(message.name for message in view if "<context_summary" in message.text)
        assert 'trust="untrusted"' in named(view, "context_summary")
    for request in spy.requests:
        assert all(message.name != "context_summary" for message in request.evicted)
    assert all(not isinstance(message, ToolMessage) for message in second.messages[:2])


def test_counting_in_this_file_is_the_guards_own() -> None:
    """The numbers above mean what the fakes count."""
    assert count_characters(talk(1)) == Counter()(talk(1))
