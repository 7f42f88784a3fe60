"""Notes asked for over real protocols: the clients of OpenAI and Anthropic against a server on loopback that speaks their format."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.exceptions import ContextOverflowError, ModelAuthenticationError, ModelRateLimitError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

from langchain_ctxguard.backends.asking import Method
from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
from langchain_ctxguard.backends.patience import Patience
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.errors import InvalidSummaryError
from langchain_ctxguard.ports import SummaryRequest
from tests.support.builders import ai, human, result, tool_loop
from tests.support.wire import USAGE, Failure, Reply, Wire, serving

NOTES: dict[str, Any] = {
    "user_intent": "Refund order 12.",
    "pending_items": ["mail the ledger"],
    "facts": [{"statement": "The refund is 80 EUR.", "said_by": "tool", "source": 3, "quote": "refund 80 EUR"}],
    "decisions": [{"chosen": "refund", "rejected": ["voucher"], "why": "the user asked"}],
    "open_questions": ["Which account?"],
    "settled": [],
}
TEXT = json.dumps(NOTES)
MESSAGES = [human("Refund order 12.", "u1"), ai(calls=["c1"], message_id="a1"), result("c1", "refund 80 EUR", message_id="r1")]
STRUCTURED = ["chat", "responses", "messages"]


CAN_ALL = {"max_input_tokens": 200_000, "structured_output": True, "tool_calling": True}


@pytest.fixture(scope="module")
def server() -> Iterator[Wire]:
    with serving([]) as wire:
        yield wire


@pytest.fixture
def wire(server: Wire) -> Wire:
    server.play(Reply(TEXT))
    return server


@functools.cache
def client_of(dialect: str, url: str) -> BaseChatModel:
    if dialect == "messages":
        return ChatAnthropic(model="claude-of-the-test", api_key="k", base_url=url, max_retries=0, profile=CAN_ALL)
    name = "gpt-4.1-mini" if dialect == "chat" else "gpt-5-mini"
    return ChatOpenAI(model=name, api_key="k", base_url=f"{url}/v1", max_retries=0, use_responses_api=dialect == "responses")


def model_of(dialect: str, wire: Wire, **more: Any) -> BaseChatModel:
    return client_of(dialect, wire.url).model_copy(update=more)


def ask(messages: list[BaseMessage] | None = None, **more: Any) -> SummaryRequest:
    messages = messages or MESSAGES
    sources = tuple(message.id or f"s{index}" for index, message in enumerate(messages))
    return SummaryRequest(tuple(messages), sources, **{"previous": None, "max_tokens": 300, "count": count_tokens_approximately, **more})


class Pauses(list[float]):
    """A clock nobody waits for, and the pauses that were asked of it."""

    def patience(self, **more: Any) -> Patience:
        async def asleep(seconds: float) -> None:
            self.append(seconds)

        return Patience(sleep=self.append, asleep=asleep, jitter=lambda: 1.0, **more)


async def both(summarizer: ChatModelSummarizer, request: SummaryRequest | None = None) -> list[SummaryDraft]:
    """Return the drafts of the sync and the async way."""
    return [summarizer.summarize(request or ask()), await summarizer.asummarize(request or ask())]


def is_the_draft(draft: SummaryDraft) -> bool:
    fact = draft.facts[0]
    return (draft.user_intent, fact.statement, fact.source, fact.said_by) == ("Refund order 12.", "The refund is 80 EUR.", "r1", "tool")


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_a_model_with_schemas_is_held_to_ours(dialect: str, wire: Wire) -> None:
    """The schema goes out in the provider's own strict form, the answer comes back as a draft, sync and async."""
    summarizer = ChatModelSummarizer(model_of(dialect, wire))

    assert summarizer.method == "json_schema"
    assert all(map(is_the_draft, await both(summarizer)))
    assert wire.refused == []
    sent = {"chat": "response_format", "responses": "text", "messages": "output_config"}[dialect]
    assert all("open_questions" in json.dumps(body[sent]) and not body.get("stream") for body in wire.bodies)


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_a_model_with_tools_alone_answers_by_calling_one(dialect: str, wire: Wire) -> None:
    """The one tool is forced, and its arguments are the notes."""
    wire.script = [Reply(arguments=TEXT)]
    summarizer = ChatModelSummarizer(model_of(dialect, wire, profile={"tool_calling": True}))

    assert summarizer.method == "function_calling"
    assert all(map(is_the_draft, await both(summarizer)))
    assert all(len(body["tools"]) == 1 and "context_notes" in json.dumps(body["tool_choice"]) for body in wire.bodies)


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_a_model_without_either_is_asked_in_words(dialect: str, wire: Wire) -> None:
    """No schema and no tool go out; JSON in a fence is read all the same."""
    wire.script = [Reply(f"Here you are:\n```json\n{TEXT}\n```")]
    summarizer = ChatModelSummarizer(model_of(dialect, wire, profile={"max_input_tokens": 50_000}))

    assert summarizer.method == "words"
    assert all(map(is_the_draft, await both(summarizer)))
    assert not any({"tools", "response_format", "output_config"} & body.keys() or "format" in body.get("text", {}) for body in wire.bodies)


@pytest.mark.parametrize("dialect", STRUCTURED)
@pytest.mark.parametrize("method", ["json_schema", "function_calling", "words"])
async def test_cost_is_noted_for_every_call(dialect: str, method: Method, wire: Wire) -> None:
    """Tokens as the provider reports them, and the number of calls."""
    wire.script = [Reply(TEXT) if method != "function_calling" else Reply(arguments=TEXT)]
    request = ask()
    await both(ChatModelSummarizer(model_of(dialect, wire), method=method), request)

    assert (2, 2 * USAGE[0], 2 * USAGE[1]) == (request.spent.calls, request.spent.tokens_in, request.spent.tokens_out)
    assert request.spent.seconds > 0


@pytest.mark.parametrize("dialect", STRUCTURED)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_what_passes_is_waited_out(dialect: str, status: int, wire: Wire) -> None:
    """Rate limits and server errors lead to pauses that double, then to the answer."""
    for is_async in (False, True):
        pauses, request = Pauses(), ask()
        wire.play(Failure(status), Failure(status), Reply(TEXT))
        summarizer = ChatModelSummarizer(model_of(dialect, wire), patience=pauses.patience())
        draft = await summarizer.asummarize(request) if is_async else summarizer.summarize(request)

        assert is_the_draft(draft)
        assert [1.0, 2.0] == pauses
        assert request.spent.calls == 3


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_waiting_ends(dialect: str, wire: Wire) -> None:
    """After the last try the provider's error is passed on."""
    for is_async in (False, True):
        pauses = Pauses()
        wire.play(Failure(429))
        summarizer = ChatModelSummarizer(model_of(dialect, wire), patience=pauses.patience(retries=3))
        with pytest.raises(ModelRateLimitError):
            await summarizer.asummarize(ask()) if is_async else summarizer.summarize(ask())

        assert [1.0, 2.0, 4.0] == pauses
        assert len(wire.bodies) == 4


@pytest.mark.parametrize("dialect", STRUCTURED)
def test_a_provider_that_names_the_pause_is_obeyed_within_reason(dialect: str, wire: Wire) -> None:
    """`retry-after` is waited out; a pause longer than anybody would wait is not begun."""
    pauses = Pauses()
    wire.script = [Failure(429, retry_after="7"), Reply(TEXT)]
    assert is_the_draft(ChatModelSummarizer(model_of(dialect, wire), patience=pauses.patience()).summarize(ask()))
    assert [7.0] == pauses

    wire.play(Failure(429, retry_after="3600"), Reply(TEXT))
    with pytest.raises(ModelRateLimitError):
        ChatModelSummarizer(model_of(dialect, wire), patience=pauses.patience()).summarize(ask())
    assert len(wire.bodies) == 1


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_a_refused_key_is_not_tried_again(dialect: str, wire: Wire) -> None:
    """One request, and the error that says what is wrong."""
    for is_async in (False, True):
        wire.play(Failure(401, "bad key"))
        summarizer = ChatModelSummarizer(model_of(dialect, wire), patience=Pauses().patience())
        with pytest.raises(ModelAuthenticationError):
            await summarizer.asummarize(ask()) if is_async else summarizer.summarize(ask())
        assert len(wire.bodies) == 1


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_a_provider_that_knows_no_schemas_is_asked_in_words_from_then_on(dialect: str, wire: Wire) -> None:
    """A profile may promise too much: the request it refuses is made once more without a schema, and the record says so."""
    wire.knows_schemas = False
    summarizer = ChatModelSummarizer(model_of(dialect, wire))
    request = ask()

    assert is_the_draft(summarizer.summarize(request))
    assert (2, ["no_structured_output"]) == (len(wire.bodies), request.spent.remarks)
    assert is_the_draft(await summarizer.asummarize(ask()))
    assert len(wire.bodies) == 3


@pytest.mark.parametrize("dialect", STRUCTURED)
def test_a_request_refused_for_another_reason_stays_refused(dialect: str, wire: Wire) -> None:
    """Without a schema it is refused too: the error is passed on, and the schema is offered again the next time."""
    wire.script = [Failure(400, "no credit")]
    summarizer = ChatModelSummarizer(model_of(dialect, wire), patience=Pauses().patience())

    with pytest.raises(Exception, match="no credit"):
        summarizer.summarize(ask())
    assert len(wire.bodies) == 2
    assert summarizer.method == "json_schema"


@pytest.mark.parametrize("dialect", STRUCTURED)
@pytest.mark.parametrize("ending", ["refusal", "filter"])
async def test_a_refusal_is_no_summary(dialect: str, ending: Any, wire: Wire) -> None:
    """What the model says instead of notes is not taken for notes."""
    wire.script = [Reply("I cannot help with that.", ending=ending)]
    summarizer = ChatModelSummarizer(model_of(dialect, wire))

    for is_async in (False, True):
        with pytest.raises(InvalidSummaryError) as refused:
            await summarizer.asummarize(ask()) if is_async else summarizer.summarize(ask())
        assert refused.value.reason == "refused"


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_an_answer_cut_off_keeps_what_was_complete(dialect: str, wire: Wire) -> None:
    """What is complete is used, the record says that the answer broke off."""
    wire.script = [Reply(TEXT[: TEXT.index('"decisions"')], ending="length")]
    summarizer = ChatModelSummarizer(model_of(dialect, wire))

    for is_async in (False, True):
        request = ask()
        draft = await summarizer.asummarize(request) if is_async else summarizer.summarize(request)
        assert is_the_draft(draft)
        assert ["truncated"] == request.spent.remarks
        assert request.spent.tokens_out == USAGE[1]


@pytest.mark.parametrize("dialect", STRUCTURED)
def test_a_large_portion_whose_answer_breaks_off_is_read_in_halves(dialect: str, wire: Wire) -> None:
    """Less transcript, shorter notes: everything is read again, in two portions."""
    wire.script = [Reply(TEXT[:40], ending="length"), Reply(TEXT)]
    request = ask([human("Refund order 12."), *tool_loop(30)])

    assert ChatModelSummarizer(model_of(dialect, wire)).summarize(request).user_intent == "Refund order 12."
    assert request.spent.calls >= 3
    assert request.spent.remarks == []
    parts = [prompt.count("<context_message") for prompt in wire.prompts()]
    assert max(parts[1:]) < parts[0]
    assert sum(parts[1:]) == parts[0]


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_an_overflow_halves_the_portion(dialect: str, wire: Wire) -> None:
    """A provider that says the prompt is too long is asked with less."""
    wire.script = [Failure(400, "prompt is too long: context_length_exceeded"), Reply(TEXT)]
    draft = await ChatModelSummarizer(model_of(dialect, wire)).asummarize(ask([human("Refund order 12."), *tool_loop(30)]))

    assert draft.user_intent == "Refund order 12."
    assert len(wire.bodies) >= 3

    wire.play(wire.script[0])
    with pytest.raises(ContextOverflowError):
        ChatModelSummarizer(model_of(dialect, wire)).summarize(ask())


@pytest.mark.parametrize("dialect", ["responses", "messages"])
async def test_reasoning_before_the_notes_is_passed_over(dialect: str, wire: Wire) -> None:
    """Reasoning and notes: the notes. Reasoning alone: no summary."""
    wire.script = [Reply(TEXT, has_reasoning=True)]
    assert all(map(is_the_draft, await both(ChatModelSummarizer(model_of(dialect, wire)))))

    wire.script = [Reply("", has_reasoning=True)]
    with pytest.raises(InvalidSummaryError) as refused:
        ChatModelSummarizer(model_of(dialect, wire)).summarize(ask())
    assert refused.value.reason == "reasoning_only"


@pytest.mark.parametrize("dialect", STRUCTURED)
@pytest.mark.parametrize(
    ("reply", "reason"),
    [(Reply(""), "empty"), (Reply("<html>502</html>"), "not_json"), (Reply("{}"), "empty"), (Reply('{"summary": "x"}'), "wrong_type")],
)
def test_an_answer_that_is_no_summary_is_refused(dialect: str, reply: Reply, reason: str, wire: Wire) -> None:
    """A schema is a promise of the provider; what comes is judged all the same."""
    wire.script = [reply]
    with pytest.raises(InvalidSummaryError) as refused:
        ChatModelSummarizer(model_of(dialect, wire)).summarize(ask())
    assert reason == refused.value.reason


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_arguments_that_break_off_keep_what_was_complete(dialect: str, wire: Wire) -> None:
    """A tool call cut off by its length is repaired as a text is."""
    wire.script = [Reply(arguments=TEXT[: TEXT.index('"decisions"')])]
    request = ask()
    draft = ChatModelSummarizer(model_of(dialect, wire), method="function_calling").summarize(request)

    assert is_the_draft(draft)
    assert ["truncated"] == request.spent.remarks


@pytest.mark.parametrize("dialect", STRUCTURED)
def test_signed_and_named_reasoning_of_the_conversation_never_goes_out(dialect: str, wire: Wire) -> None:
    """Thinking, its signature and the ids of reasoning items leave with their item, whichever provider wrote them."""
    history = [
        human("Refund order 12."),
        AIMessage([{"type": "thinking", "thinking": "SECRET-THOUGHT", "signature": "SEAL-1"}, {"type": "redacted_thinking", "data": "SEAL-2"}]),
        AIMessage(
            [
                {"type": "reasoning", "id": "rs_77", "summary": [{"text": "SECRET-THOUGHT"}], "encrypted_content": "SEAL-3"},
                {"type": "text", "text": "Paid.", "id": "msg_77"},
                {"type": "non_standard", "value": {"type": "reasoning", "id": "rs_78", "encrypted_content": "SEAL-4"}},
                {"type": "web_search_tool_result", "content": [{"type": "web_search_result", "title": "T", "encrypted_content": "SEAL-5"}]},
            ],
            additional_kwargs={"reasoning": {"id": "rs_79", "summary": "SECRET-THOUGHT"}, "reasoning_content": "SECRET-THOUGHT"},
            response_metadata={"id": "resp_77"},
        ),
    ]
    ChatModelSummarizer(model_of(dialect, wire)).summarize(ask(history))

    (prompt,) = wire.prompts()
    assert "Paid." in prompt
    assert not [word for word in ("SECRET", "SEAL", "rs_7", "msg_77", "resp_77", "thinking") if word in prompt]


@pytest.mark.parametrize("dialect", STRUCTURED)
async def test_the_shared_model_is_never_changed(dialect: str, wire: Wire) -> None:
    """The agent's model, asked by schema, stays as it was, and answers its agent without one."""
    model = model_of(dialect, wire)
    before = repr(sorted(model.model_dump(exclude={"client", "async_client", "root_client", "root_async_client"}).items(), key=str))
    await both(ChatModelSummarizer(model))
    wire.bodies.clear()
    model.invoke("hi")

    after = repr(sorted(model.model_dump(exclude={"client", "async_client", "root_client", "root_async_client"}).items(), key=str))
    assert before == after
    assert not any({"tools", "response_format", "output_config"} & body.keys() or "format" in body.get("text", {}) for body in wire.bodies)


@pytest.mark.parametrize("dialect", STRUCTURED)
def test_a_model_with_retries_of_its_own_is_held_to_the_schema_too(dialect: str, wire: Wire) -> None:
    """The wrapper stays around the model; one that is bound to arguments is asked in words, and keeps them."""
    model = model_of(dialect, wire)
    retrying = ChatModelSummarizer(model.with_retry(stop_after_attempt=2, wait_exponential_jitter=False))
    wire.script = [Failure(500), Reply(TEXT)]
    assert retrying.method == "json_schema"
    assert is_the_draft(retrying.summarize(ask()))
    assert len(wire.bodies) == 2

    bound = ChatModelSummarizer(model.bind(max_tokens=77))
    assert bound.method == "words"
    assert is_the_draft(bound.summarize(ask()))
    assert 77 in wire.bodies[-1].values()


@pytest.mark.parametrize("dialect", STRUCTURED)
@pytest.mark.parametrize("method", ["json_schema", "words"])
async def test_a_graph_that_streams_does_not_make_the_summarizer_stream(dialect: str, method: Method, wire: Wire) -> None:
    """In a node of a graph that streams messages the answer comes whole, with its cost, and no token of it is heard."""
    request = ask()

    async def node(state: MessagesState) -> dict[str, Any]:
        draft = await ChatModelSummarizer(model_of(dialect, wire), method=method).asummarize(request)
        assert is_the_draft(draft)
        return {"messages": [AIMessage("done", id="done")]}

    def sync_node(state: MessagesState) -> dict[str, Any]:
        assert is_the_draft(ChatModelSummarizer(model_of(dialect, wire), method=method).summarize(request))
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", node)
    graph.add_node("sync", sync_node)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "sync")
    graph.add_edge("sync", END)
    stream = graph.compile().astream({"messages": [human("hi")]}, stream_mode="messages")
    assert ["done"] == [chunk.content async for chunk, _ in stream]
    assert wire.refused == []
    assert request.spent.tokens_in == 2 * USAGE[0]
