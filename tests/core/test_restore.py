"""An earlier head under a new number, and what two heads differ in."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard.core.restore import fields_fingerprint, head_diff, head_digest, renumbered
from langchain_ctxguard.domain.context import ContextBody, ContextHead, Cut
from langchain_ctxguard.domain.control import ControlField, FieldKind
from langchain_ctxguard.domain.evidence import Action, Artifact, Evidence
from langchain_ctxguard.domain.summary import StructuredSummary
from langchain_ctxguard.domain.version_diff import TextChanges, VersionDiff


def field(name: str, raw: str, **more: Any) -> ControlField:
    return ControlField(field_id=name, kind=FieldKind.ORDER_ID, raw=raw, **more)


def head(version: int = 1, *, goal: str = "goal", rules: str = "", cool_down: int | None = None, **evidence: Any) -> ContextHead:
    body = ContextBody(summary=StructuredSummary(original_goal=goal), evidence=Evidence(**evidence), summary_id="s", rules_fingerprint=rules)
    return ContextHead(version=version, cut=Cut(position=3), body=body, cool_down=cool_down)


def action(call_id: str) -> Action:
    return Action(tool="t", call_id=call_id, arguments="{}", argument_digest="d", status="done")


def test_a_head_comes_back_under_another_number() -> None:
    """The same content and cut, shown under the new number, without the cool-down of then."""
    old = head(2, cool_down=500)
    new = renumbered(old, 5)

    assert (5, old.cut, None) == (new.version, new.cut, new.cool_down)
    assert old.body is not None
    assert new.body is not None
    assert old.body.summary == new.body.summary
    assert new.body.rendered
    assert new.body.rendered != renumbered(old, 6).body.rendered  # type: ignore[union-attr]  # it has a body
    assert ContextHead(version=7) == renumbered(ContextHead(version=1), 7)


def test_a_digest_tells_heads_apart_by_what_they_show() -> None:
    """Number and content count, a cool-down does not; a head that stands for nothing has none."""
    assert "" == head_digest(ContextHead(version=1))
    assert head_digest(head(1)) == head_digest(head(1, cool_down=9))
    assert 3 == len({head_digest(one) for one in (head(1), head(2), head(1, goal="other"))})


def test_the_fingerprint_of_fields_changes_exactly_with_their_values() -> None:
    """Another value, or one that was closed; neither their order nor who said them. Short as that of the rules, and empty without fields."""
    one, two = field("a", "ORD-1"), field("b", "ORD-2")

    assert "" == fields_fingerprint(())
    assert 16 == len(fields_fingerprint((one,)))
    assert fields_fingerprint((one, two)) == fields_fingerprint((two, one.model_copy(update={"origin": "tool", "source_turn": 4})))
    others = [(one,), (two,), (one, two), (one, field("b", "ORD-3")), (one, two.model_copy(update={"is_closed": True}))]
    assert 5 == len({fields_fingerprint(each) for each in others})


@pytest.mark.parametrize(
    ("consents", "changed"),
    [((None, None), None), ((3, 3), False), ((3, 4), True), ((4, 3), True), ((None, 3), True), ((3, None), True)],
)
def test_a_diff_says_whether_consents_moved(consents: tuple[int | None, int | None], changed: bool | None) -> None:  # noqa: FBT001 - a table
    """In either direction; of two versions made under no ledger nothing is said."""
    assert changed is head_diff(head(), head(2), consents=consents).consents_changed


def test_a_diff_names_what_each_side_has_alone() -> None:
    """Fields, actions, files, summary and rules; what both have is not named."""
    same, gone, old, new = field("a", "ORD-1"), field("b", "ORD-2"), field("c", "ORD-3"), field("d", "ORD-4")
    moved, closed = field("c", "ORD-9"), field("a", "ORD-1", is_closed=True)
    files = [Artifact(path=path, last_tool="edit", last_status="done") for path in ("a.py", "b.py")]
    before = head(1, goal="one", rules="x", fields=(same, gone, old), actions=(action("1"),), omitted_actions=2, artifacts=(files[0],))
    after = head(2, goal="two", rules="y", fields=(closed, moved, new), actions=(action("1"), action("2")), omitted_actions=5, artifacts=(files[1],))
    found = head_diff(before, after, tokens=(100, 80))

    assert (1, 2, 100, 80) == (found.before, found.after, found.tokens_before, found.tokens_after)
    assert ((gone,), (new,)) == (found.fields_gone, found.fields_new)
    assert [(same, closed), (old, moved)] == [(move.before, move.after) for move in found.fields_changed]
    assert (True, 4) == (found.rules_changed, found.actions_new)
    assert TextChanges(gone=("a.py",), new=("b.py",)) == found.files
    assert (1, 1) == (len(found.summary.gone), len(found.summary.new))


def test_two_heads_that_show_the_same_do_not_differ() -> None:
    """Nor do two that show nothing; against nothing everything is new."""
    empty = ContextHead(version=0)
    assert head_diff(head(1), head(2)).is_empty
    assert VersionDiff(before=0, after=0) == head_diff(empty, empty)
    found = head_diff(empty, head(1, fields=(field("a", "ORD-1"),), actions=(action("1"),)))
    assert (1, 1, (), False) == (len(found.fields_new), found.actions_new, found.fields_gone, found.rules_changed)
