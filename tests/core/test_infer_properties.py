from __future__ import annotations

import json
import random
import time

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.bounds import bounded_evidence
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.infer import infer, merged, superseding
from langchain_ctxguard.core.render import render_evidence, render_inferred_rule
from langchain_ctxguard.core.results import own_words
from langchain_ctxguard.core.voice import own_voice
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.inferred import InferredConstraint
from tests.support.builders import count_characters

FRAGMENTS = [
    *("Never delete an order", "Always use tabs", "use spaces instead of tabs", "不要删除订单", "必须用中文回答", "You may go on", "可以删除"),
    *(
        "Rules:",
        "\n",
        "\n\n",
        "1. ",
        "2. ",
        "（1）",
        "①",
        "第三条改成",
        '"',
        "“",
        "”",
        "「",
        "」",
        "```",
        "`",
        "> ",
        ". ",
        "。",
        "? ",
        "；",
        ", but ",
    ),
    *(
        "He said ",
        "他说",
        "for example ",
        "例如",
        "for now",
        "这次",
        "not X but Y",
        "不是A而是B",
        "<document>",
        "</document>",
        "    ",
        "port 8080",
        "\ud800",
        "İ",
    ),
    *("\u200b", "’", "it must ", "from now on ", "从现在起", "不", "!", "：", " ", "rule 2 is now ", "x" * 450),
]
texts = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), max_size=30).map("".join))
messages_lists = st.lists(
    st.one_of(
        texts.map(HumanMessage),
        texts.map(AIMessage),
        texts.map(lambda text: ToolMessage(text, tool_call_id="c")),
        texts.map(lambda text: HumanMessage([{"type": "text", "text": text}, {"type": "tool_result", "tool_use_id": "c", "content": "Never stop."}])),
    ),
    max_size=5,
)


def inferred(messages: list[BaseMessage]) -> tuple[InferredConstraint, ...]:
    return infer(messages, message_keys(messages))


def storable(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


@given(messages=messages_lists)
def test_every_rule_is_a_verbatim_span_of_what_a_person_said(messages: list[BaseMessage]) -> None:
    """Whatever is said: nothing raises, each span gives the text back, spans of a message do not overlap, and each can be stored."""
    rules = inferred(messages)
    last = (-1, 0)
    for rule in rules:
        message = messages[rule.position]
        assert isinstance(message, HumanMessage)
        assert rule.text == storable(own_words(message)[rule.start : rule.stop])
        assert rule.text.strip()
        assert len(rule.text) <= 410
        assert (rule.position, rule.start) >= last
        last = (rule.position, rule.stop)
        assert rule == InferredConstraint.model_validate(json.loads(rule.model_dump_json()))
    assert len(rules) == len({rule.inferred_id for rule in rules})


@given(messages=messages_lists)
def test_what_is_inferred_does_not_depend_on_the_messages_around(messages: list[BaseMessage]) -> None:
    """A message gives the same rules alone as among others: eviction in any portion finds the same."""
    messages = [message.model_copy(update={"id": f"m{index}"}) for index, message in enumerate(messages)]
    keys = message_keys(messages)
    together = infer(messages, keys)
    alone = tuple(rule for index in range(len(messages)) for rule in infer(messages[index : index + 1], keys[index : index + 1], start=index))
    assert together == alone


@given(messages=messages_lists, data=st.data())
def test_what_stands_is_a_part_of_what_was_said_in_its_order(messages: list[BaseMessage], data: st.DataObject) -> None:
    """Superseding only takes away, keeps the newest, is settled after once, and does not care in which order it is told."""
    rules = inferred(messages)
    standing = superseding(rules)
    assert list(standing) == [rule for rule in rules if rule in standing]
    assert standing == superseding(standing)
    assert standing == superseding(data.draw(st.permutations(rules)))
    assert not rules or any(rule.position == rules[-1].position and rule.start == rules[-1].start for rule in standing)


@given(messages=messages_lists, cut=st.integers(min_value=0, max_value=5))
def test_two_compactions_carry_what_one_carries(messages: list[BaseMessage], cut: int) -> None:
    """Evicted at once or in two rounds, the same rules are carried."""
    messages = [message.model_copy(update={"id": f"m{index}"}) for index, message in enumerate(messages)]
    keys = message_keys(messages)
    early, late = infer(messages[:cut], keys[:cut]), infer(messages[cut:], keys[cut:], start=min(cut, len(messages)))
    at_once = merged((), (*early, *late))
    in_two = merged(merged((), early, kept=late), late)
    assert at_once == in_two


@given(messages=messages_lists, max_tokens=st.integers(min_value=0, max_value=400))
def test_lines_fit_their_tokens_and_stay_lines(messages: list[BaseMessage], max_tokens: int) -> None:
    """Nothing said breaks out of its line or closes a tag, and the lines cost no more than allowed."""
    lines = [render_inferred_rule(rule) for rule in inferred(messages)]
    assert not any("\n" in line or "<context" in line.lower() or "</context" in line.lower() for line in lines)
    rules = inferred(messages)
    evidence = bounded_evidence(Evidence(inferred=rules, inferred_shown=len(rules)), max_tokens=max_tokens, count=count_characters)
    assert evidence.is_empty or count_characters([HumanMessage(render_evidence(evidence))]) <= max_tokens
    "\n".join(lines).encode("utf-8")


@given(text=texts)
def test_covering_keeps_every_character_in_its_place(text: str) -> None:
    """What is not the writer's own is covered, never moved; line breaks stay."""
    voice = own_voice(text)
    assert len(text) == len(voice)
    assert [index for index, character in enumerate(text) if character == "\n"] == [
        index for index, character in enumerate(voice) if character == "\n"
    ]


@given(text=texts)
def test_a_cited_text_holds_no_rule(text: str) -> None:
    """Behind `>` on every line, anything at all is somebody else's."""
    assert () == inferred([HumanMessage("\n".join(f"> {line}" for line in text.split("\n")))])


def test_twice_the_text_takes_about_twice_the_time() -> None:
    """Linear in the length, for text that never repeats a sentence."""
    rng = random.Random(7)
    parts = [part for part in FRAGMENTS if part != "\ud800" and len(part) < 100]

    def seconds(characters: int) -> float:
        text = ""
        pieces = []
        while sum(map(len, pieces[-1:])) + len(text) < characters:
            pieces = [f"{rng.choice(parts)}{rng.randrange(10**6)}" for _ in range(200)]
            text += "".join(pieces)
        began = time.perf_counter()
        superseding(inferred([HumanMessage(text)]))
        return time.perf_counter() - began

    seconds(10_000)
    short, long = seconds(60_000), seconds(480_000)
    assert long < 8 * short * 3 + 0.5
