"""A person's word on the rules said in a conversation: confirmed and dropped ones are quoted no longer, and remembered."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.settle import as_constraint, inferred_in, settled
from langchain_ctxguard.domain.constraint import Authority, Scope
from langchain_ctxguard.domain.context import ContextHead
from tests.core.test_compaction import RULES, Drive, chat, plan, situation
from tests.support.builders import ai, human

TABS = "Always use tabs in every file."
FRENCH = "Never answer in French."


@pytest.fixture(scope="module")
def head() -> ContextHead:
    """Return the head of a conversation in which two rules were said that nobody decided on."""
    said = [human(f"{TABS} {FRENCH}", "r0"), ai("I will.", message_id="r1")]
    return Drive(situation([*said, *chat()]), plan()).done.head


def shown(head: ContextHead) -> str:
    assert head.body is not None
    return "\n".join(str(message.text) for message in rendered(head.body, version=head.version))


@pytest.mark.parametrize("way", ["confirmed", "dropped"])
def test_a_decided_rule_is_quoted_no_longer(head: ContextHead, way: str) -> None:
    """The other one stays; what was decided is remembered in the next version, so that its message does not bring it back."""
    tabs, french = inferred_in(head)
    assert (TABS, FRENCH) == (tabs.text, french.text)
    assert TABS in shown(head)
    after = settled(head, confirmed=[tabs.inferred_id] * (way == "confirmed"), dropped=[tabs.inferred_id] * (way == "dropped"), rules=RULES)
    assert head.version + 1 == after.version
    assert (french,) == inferred_in(after)
    assert shown(head).count(TABS) - 1 == shown(after).count(TABS)
    assert shown(head).count(FRENCH) == shown(after).count(FRENCH)
    assert after.body is not None
    assert [way, "inferred"] == [rule.status for rule in after.body.evidence.inferred]


def test_a_rule_nobody_named_stays_undecided(head: ContextHead) -> None:
    """The version is another one all the same: somebody was asked."""
    after = settled(head, dropped=["said-nothing"], rules=RULES)
    assert (head.version + 1, inferred_in(head)) == (after.version, inferred_in(after))


def test_without_a_summary_there_is_nothing_to_decide() -> None:
    """And no version is made."""
    empty = ContextHead(version=3)
    assert () == inferred_in(empty)
    assert empty is settled(empty, dropped=["said-nothing"], rules=RULES)


def test_a_confirmed_rule_is_of_no_authority_by_itself(head: ContextHead) -> None:
    """Its words as they were said, and the message they were said in."""
    tabs, _ = inferred_in(head)
    rule = as_constraint(tabs, scope=Scope())
    assert (TABS, Authority.INFERRED, tabs.source) == (rule.text, rule.authority, rule.source.ref)
    assert tabs.inferred_id in rule.constraint_id
