from __future__ import annotations

from langchain_ctxguard.domain.lifecycle import LIFECYCLES, Compaction, InformationKind, Lifecycle, lifecycle_of, lifecycle_table


def test_every_kind_has_one_line_in_order() -> None:
    """Nothing in a context is without a lifecycle."""
    assert list(InformationKind) == [lifecycle.kind for lifecycle in LIFECYCLES]
    assert LIFECYCLES == tuple(map(lifecycle_of, InformationKind))


def test_what_carries_authority_is_never_compacted() -> None:
    """Rules and tool contracts stand verbatim; evidence is copied by code; only talk and raw output are free."""
    expected = {
        InformationKind.SECURITY_POLICY: Compaction.NEVER,
        InformationKind.USER_APPROVED_CONSTRAINT: Compaction.NEVER,
        InformationKind.TOOL_CONTRACT: Compaction.NEVER,
        InformationKind.DECISION_AND_EVIDENCE: Compaction.COPIED,
        InformationKind.WORKING_SET: Compaction.BY_AGE,
        InformationKind.RAW_TOOL_OUTPUT: Compaction.FREELY,
        InformationKind.DISCUSSION: Compaction.FREELY,
    }
    assert expected == {lifecycle.kind: lifecycle.compaction for lifecycle in LIFECYCLES}


def test_what_is_never_compacted_stands_in_the_stable_rules() -> None:
    """The zone and the answer to "may it be compacted" agree."""
    assert [life.compaction is Compaction.NEVER for life in LIFECYCLES] == [life.zone == "stable rules" for life in LIFECYCLES]


def test_the_table_answers_every_question_for_every_kind() -> None:
    """Markdown: a heading, a rule, one row for each kind, no cell empty and no cell that would break its row."""
    lines = lifecycle_table().split("\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    questions = ["who may change it", "when it takes effect", "may it be compacted", "how it expires", "how it is audited", "how it is restored"]
    assert ["kind", "zone", *questions] == cells[0]
    assert ["---"] * 8 == cells[1]
    assert [kind.replace("_", " ") for kind in InformationKind] == [row[0] for row in cells[2:]]
    assert {8} == {len(row) for row in cells}
    assert all(cell for row in cells for cell in row)
    for life, row in zip(LIFECYCLES, cells[2:], strict=True):
        said = [value for name, value in life.model_dump().items() if name not in {"kind", "compaction"}]
        assert [] == [value for value in said if value not in row]
    assert 8 == len(Lifecycle.model_fields)
