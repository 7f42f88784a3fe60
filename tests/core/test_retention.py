from __future__ import annotations

import pytest
from langchain_core.messages import SystemMessage

from langchain_ctxguard.core.compile import leading_system
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.retention import missing_rules
from langchain_ctxguard.domain.constraint import Constraint

RULES = (Constraint(constraint_id="a", text="Never delete."), Constraint(constraint_id="b", text="绝不删除\n第二行"))


def test_rules_that_are_pinned_are_not_missing() -> None:
    """Whatever stands around them."""
    assert () == missing_rules(RULES, leading_system([SystemMessage("Be kind.")], render_rules(RULES)))
    assert () == missing_rules((), None)


@pytest.mark.parametrize(
    ("system", "missing"),
    [
        (None, ("a", "b")),
        (SystemMessage("Never delete"), ("a", "b")),
        (SystemMessage("never delete."), ("a", "b")),
        (SystemMessage("Never  delete."), ("a", "b")),
        (SystemMessage("Never delete. 绝不删除 第二行"), ("b",)),
        (SystemMessage("x 绝不删除\n第二行 y"), ("a",)),
        (SystemMessage([{"type": "text", "text": "Never delete."}, "绝不删除\n第二行"]), ()),
        (SystemMessage([{"type": "image", "text": "Never delete."}]), ("a", "b")),
        (SystemMessage("Ｎever delete."), ("a", "b")),
    ],
)
def test_a_rule_is_there_byte_for_byte_or_missing(system: SystemMessage | None, missing: tuple[str, ...]) -> None:
    """Almost is not there."""
    assert missing == missing_rules(RULES, system)
