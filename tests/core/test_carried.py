from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from langchain_ctxguard.core.carried import (
    CLOSING,
    SENTENCE_SHOWN,
    carried,
    carried_from,
    carried_message,
    is_carried_message,
    render_fields,
    sentence_of,
)
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.roles import escaped, is_note, is_request
from langchain_ctxguard.domain.carried import CarriedField
from langchain_ctxguard.domain.control import ControlField
from tests.support.builders import human, result

TEXTS = st.text(alphabet=st.characters(blacklist_categories=("Cs",)), max_size=80)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "Hello. The deadline is 2026-12-15, no later! Bye.",
            '- deadline: 2026-12-15; user said (message m): "The deadline is 2026-12-15, no later"',
        ),
        ("你好。预算是5万元，不含税。再见。", '- 预算: 5万元; user said (message m): "预算是5万元，不含税"'),
        ("Order ORD-17", '- order id: ORD-17; user said (message m): "Order ORD-17"'),
    ],
)
def test_a_line_says_what_who_and_in_which_sentence(text: str, line: str) -> None:
    """One line per field, in both languages."""
    message = human(text, "m")
    assert line == render_fields(carried_from(extract_fields([message]), [message])[:1])


def test_a_tools_value_is_the_tools() -> None:
    """Who said it stands before the quote."""
    message = result("c1", '{"total": "499.00 EUR"}', message_id="m")
    assert 'tool reported (message m): "{"total": "499.00 EUR"}"' in render_fields(carried_from(extract_fields([message]), [message]))


def test_a_bare_field_is_rendered_without_a_sentence() -> None:
    """A field of the ledger may be rendered as it is."""
    assert "- budget: 5万元; user said" == render_fields([ControlField(kind="amount", label="budget", raw="5万元")])


def test_a_statement_is_not_quoted_twice() -> None:
    """Where the sentence is the value there is one of them."""
    message = human("一定要记住周五不能发货", "m")
    (field,) = [field for field in extract_fields([message]) if field.kind == "emphasis"]
    text = render_fields(carried_from([field], [message]))
    assert 1 == text.count("不能发货")


def test_a_long_sentence_is_cut_around_its_value() -> None:
    """The value stands in what is left of a sentence without end, which is marked as cut."""
    text = f"{'word ' * 200}ORD-17 {'word ' * 200}"
    (field,) = extract_fields([human(text, "m")])
    sentence = sentence_of(field, text)
    assert "ORD-17" in sentence
    assert len(sentence) <= SENTENCE_SHOWN + 2
    assert ("…", "…") == (sentence[0], sentence[-1])


def test_a_sentence_of_another_text_is_none() -> None:
    """A field that does not stand where it says gets no sentence."""
    (field,) = extract_fields("Order ORD-17.")
    assert not sentence_of(field, "Something else altogether.")


@given(raw=TEXTS, label=TEXTS, sentence=TEXTS, instead=TEXTS)
def test_nothing_that_was_said_closes_a_tag_or_begins_a_line(raw: str, label: str, sentence: str, instead: str) -> None:
    """Whatever is carried is one line that opens and closes no tag of ours."""
    field = CarriedField(kind="id", raw=raw, label=label, sentence=sentence, instead=instead, source=f"m\n{label}")
    line = render_fields([field])
    assert 1 == len(line.splitlines())
    assert line == escaped(line)
    assert 1 == carried_message([field]).text.count("</context_note>")


def test_the_message_is_untrusted_and_no_request() -> None:
    """It is in the user role, is taken for nobody's turn, and says that it grants nothing."""
    message = carried_message([carried(ControlField(kind="amount", raw="5万元"))], omitted=2)
    assert isinstance(message, HumanMessage)
    assert is_note(message)
    assert not is_request(message)
    assert is_carried_message(message)
    assert 'trust="untrusted"' in message.text
    assert "2 more values had no room here." in message.text
    assert message.text.endswith(CLOSING)


def test_nothing_carried_renders_nothing() -> None:
    """Without fields there is no line."""
    assert not render_fields([])
