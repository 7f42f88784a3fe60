"""What a model is asked for, and what becomes of its notes from part to part."""

from __future__ import annotations

import gc
import json
import time
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from langchain_ctxguard.backends.answer import Reading, read_answer, texts_of
from langchain_ctxguard.backends.answer_json import object_in
from langchain_ctxguard.backends.notes import as_json, merged, shortened, wrong_language
from langchain_ctxguard.backends.notes_prompt import PROMPT
from langchain_ctxguard.backends.notes_schema import SETTLED, SOURCE_FIELDS, Form, form_of, notes_schema, told
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.domain.summary import Decision, Fact, SummaryDraft
from langchain_ctxguard.domain.value import Value

LETTERS = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"])
TEXTS = st.text(LETTERS, min_size=1, max_size=12).map(lambda text: f"s {text} e")


def values(form: Form, *, is_source: bool = False) -> st.SearchStrategy[Any]:
    """Return everything a model can be meant to say in a field of this form."""
    match form.kind:
        case "list":
            return st.lists(values(form.of, is_source=is_source), max_size=3, unique=is_source).map(tuple)
        case "object":
            parts = {name: values(form_of(field.annotation), is_source=name in SOURCE_FIELDS) for name, field in told(form.of).items()}
            return st.builds(form.of, **parts)
        case "choice":
            return st.sampled_from(form.of)
        case "plain":
            return st.sampled_from(["m-1", "m-2"]) if is_source else {str: TEXTS, bool: st.booleans()}.get(form.of, st.integers(0, 9))


DRAFTS = values(Form("object", SummaryDraft))


def read(text: str, **more: Any) -> Reading:
    return read_answer(text, longest=1_000_000, find_source=lambda named: named if named in ("m-1", "m-2") else None, **more)


@given(DRAFTS)
def test_what_is_asked_for_can_be_answered(draft: SummaryDraft) -> None:
    """Every draft, written in the form the prompt asks for, is read as itself: no field is asked for that cannot be read, and none is lost."""
    # A quote that is the statement is not shown twice.
    facts = tuple(fact.model_copy(update={"quote": None}) if fact.quote == fact.statement else fact for fact in draft.facts)
    assert draft.model_copy(update={"facts": facts}) == read(as_json(draft, lambda source: source)).draft


@given(DRAFTS)
def test_every_described_field_is_in_the_schema(draft: SummaryDraft) -> None:
    """The schema takes every draft a model may give, and asks for nothing the draft cannot hold."""
    import jsonschema

    data = json.loads(as_json(draft, lambda source: source))
    for fact in data["facts"]:
        fact.setdefault("quote", None)
    jsonschema.validate({**data, SETTLED: []}, notes_schema())


def test_a_new_field_comes_along_by_its_description() -> None:
    """Prompt and schema are made from the fields: what has a description is asked for, what has none is not."""
    asked = {*told(SummaryDraft), SETTLED}
    assert asked == set(notes_schema()["properties"]) == set(notes_schema()["required"])
    assert all(f'- "{name}" (' in PROMPT for name in asked)
    assert all(str(field.description) in PROMPT for field in told(SummaryDraft).values())
    assert not {"dropped_keys", "status"} & asked
    assert "status" not in notes_schema()["properties"]["facts"]["items"]["properties"]


class Risk(Value):
    title: str = Field(description="What may go wrong.")
    level: Literal["low", "high"] | None = Field(default=None, description="How bad.")
    sources: tuple[str, ...] = Field(default=(), description="Where it is named.")
    weight: int = Field(default=0, description="How often.")
    found: str = ""


def test_every_kind_of_field_has_a_form() -> None:
    """Texts, numbers, closed sets, objects and lists of them; what has no form is refused with what to do."""
    assert Form("list", Form("object", Risk)) == form_of(tuple[Risk, ...])
    assert Form("choice", ("low", "high")) == form_of(told(Risk)["level"].annotation)
    assert ["title", "level", "sources", "weight"] == list(told(Risk))
    with pytest.raises(TypeError, match="cannot be asked for"):
        form_of(dict[str, str])


@given(DRAFTS, DRAFTS)
def test_nothing_is_lost_by_merging(first: SummaryDraft, second: SummaryDraft) -> None:
    """Whatever a later answer leaves out, the notes still hold."""
    whole = merged(first, Reading(second))
    for name in ("pending_items", "facts", "decisions", "open_questions"):
        before = [*getattr(first, name), *getattr(second, name)]
        assert {_key(item) for item in before} == {_key(item) for item in getattr(whole, name)}
    assert whole.user_intent == (second.user_intent or first.user_intent)


def _key(item: Any) -> str:
    return folded(str(getattr(item, "statement", getattr(item, "chosen", item))))


@given(DRAFTS)
def test_notes_told_twice_are_there_once(draft: SummaryDraft) -> None:
    """A model that repeats all its notes at every part adds nothing."""
    once = merged(SummaryDraft(), Reading(draft))
    assert once == merged(once, Reading(draft))


def test_what_is_settled_leaves_the_notes() -> None:
    """Only an entry that is named letter by letter, in any width and spacing, is taken out."""
    notes = SummaryDraft(
        pending_items=("mail the ledger", "call ACME"), facts=(Fact(statement="限额 500 元"), Fact(statement="x")), open_questions=("who?",)
    )
    after = merged(notes, Reading(SummaryDraft(facts=(Fact(statement="限额 800 元"),)), settled=("mail  the ledger", "限额 ５００ 元", "call")))

    assert ("call ACME",) == after.pending_items
    assert ["x", "限额 800 元"] == [fact.statement for fact in after.facts]
    assert ("who?",) == after.open_questions


def test_a_retelling_without_a_source_does_not_replace_one_with_it() -> None:
    """Who said it stays known."""
    told_first = Fact(statement="paid", source="m-1", quote="it is paid")
    after = merged(SummaryDraft(facts=(told_first,)), Reading(SummaryDraft(facts=(Fact(statement="paid"),))))
    assert (told_first,) == after.facts

    better = Fact(statement="paid", source="m-2")
    assert (better,) == merged(after, Reading(SummaryDraft(facts=(better,)))).facts


def test_notes_too_long_to_show_are_shown_from_their_newest() -> None:
    """The model sees the newest entries; nothing fits, nothing is shown."""
    notes = SummaryDraft(user_intent="go", facts=tuple(Fact(statement=f"fact {number}") for number in range(100)))
    shown = shortened(notes, lambda fewer: len(fewer.facts) <= 10)

    assert notes.facts[-len(shown.facts) :] == shown.facts
    assert 5 <= len(shown.facts) <= 10
    assert SummaryDraft() == shortened(notes, lambda fewer: fewer.is_empty)


ENGLISH = SummaryDraft(user_intent="The user wants a refund for the order", facts=(Fact(statement="The parcel was sent back by the customer"),))
CHINESE = SummaryDraft(user_intent="用户想要退款", facts=(Fact(statement="客户已经把包裹寄回来了"),))
JAPANESE = SummaryDraft(user_intent="返金してほしいとのことです", facts=(Fact(statement="荷物はすでに送り返されています"),))
KOREAN = SummaryDraft(user_intent="환불을 원합니다", facts=(Fact(statement="소포는 이미 반송되었습니다"),))
BY_LANGUAGE = {"en": ENGLISH, "zh": CHINESE, "ja": JAPANESE, "ko": KOREAN}


@pytest.mark.parametrize("wanted", BY_LANGUAGE)
@pytest.mark.parametrize("written", BY_LANGUAGE)
def test_the_language_of_an_answer_is_told_by_its_script(wanted: str, written: str) -> None:
    """English, Chinese, Japanese and Korean are not taken for each other."""
    assert (wanted != written) == wrong_language(BY_LANGUAGE[written], wanted, "")
    assert (wanted != written) == wrong_language(BY_LANGUAGE[written], f"{wanted}-XX", "")


@pytest.mark.parametrize(
    ("draft", "language", "seen"),
    [
        (SummaryDraft(facts=(Fact(statement="修改 langchain_ctxguard/backends/chat_model.py 的 ChatModelSummarizer"),)), "zh", ""),
        (SummaryDraft(facts=(Fact(statement="src/app.py:14 ValueError E1042"), Fact(statement="ORD-7741"))), "zh", ""),
        (SummaryDraft(facts=(Fact(statement="connection refused by the remote server"),)), "zh", "log: connection refused by the remote server"),
        (SummaryDraft(user_intent="退款", facts=ENGLISH.facts), "en", "用户说：退款"),
        (SummaryDraft(decisions=(Decision(chosen="Refund"),)), "zh", ""),
        (ENGLISH, None, ""),
        (CHINESE, "ru", ""),
        (SummaryDraft(), "zh", ""),
        (SummaryDraft(user_intent="Der Kunde wünscht eine Erstattung des Betrags"), "de", ""),
    ],
)
def test_names_quotes_and_unknown_languages_are_no_wrong_language(draft: SummaryDraft, language: str | None, seen: str) -> None:
    """Paths, codes and what stands in the messages letter by letter may be in any language."""
    assert not wrong_language(draft, language, seen)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}),
        ('{"a": "x,]", "b": ", }"}', {"a": "x,]", "b": ", }"}),
        ('{"a": "say \\",]\\"", }', {"a": 'say ",]"'}),
        ('{"z": 1} then {"a": 2}', {"a": 2}),
        ("{'a': 1}", None),
        ("", None),
    ],
)
def test_stray_commas_are_mended_outside_of_texts_only(text: str, data: Any) -> None:
    """What a JSON reader refuses for a comma is read; a comma of a text is left alone."""
    assert data == object_in(text, {"a"}).data


@given(st.text(max_size=80) | st.text(alphabet='{}[]",:\\ ,a1\n', max_size=80))
def test_no_text_makes_the_search_fail(text: str) -> None:
    """Whatever a model writes, an object comes out or none."""
    found = object_in(text, {"a"})
    assert found.data is None or not found.is_cut_off or isinstance(found.data, dict)


def test_a_draft_says_its_texts_once_each() -> None:
    """Names of messages and members of closed sets are no texts."""
    draft = SummaryDraft(user_intent="go", facts=(Fact(statement="paid", said_by="tool", source="m-1", quote="it is paid"),), pending_items=("call",))
    assert ["go", "call", "paid", "it is paid"] == list(texts_of(draft))


@pytest.mark.parametrize("piece", ['{"a":', '{"a": "b", ', '[{"a": "', "{", '"', '{"a": 1,}', "\\"])
def test_an_answer_of_any_depth_is_read_in_linear_time(piece: str) -> None:
    """Ten times the brackets cost ten times the time, give or take."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        # What else the process holds is looked through at each collection, and is none of this text's doing.
        gc.disable()
        try:
            began = time.thread_time()
            object_in(text, {"a"})
            return time.thread_time() - began
        finally:
            gc.enable()

    small = max(min(seconds(20_000) for _ in range(3)), 0.002)
    assert min(seconds(200_000) for _ in range(2)) < 60 * small
