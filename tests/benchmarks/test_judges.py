"""The judges get what a model would get, and nothing was arranged for them."""

# ruff: noqa: E402 - what imports the judges comes after the question whether they are there
from __future__ import annotations

import ast
from pathlib import Path

import pytest

REASON = "the judges are not installed; they are the dependency group `judges`"
pytest.importorskip("compaction_kit", reason=REASON)
pytest.importorskip("jev_harness", reason=REASON)
pytest.importorskip("conpact", reason=REASON)

from compaction_kit.canaries import CanaryType
from compaction_kit.cli import COMPACTORS
from compaction_kit.session import Turn
from jev_harness.modules.compaction_survival.sim import Message

from benchmarks import measuring
from benchmarks.judges import conformance, run
from benchmarks.judges.adapters import GuardCompactor, as_dict, guard_strategy, summarize_texts, text_after
from langchain_ctxguard import compact_messages

RULE = Turn("user", "Never touch the north shelf.", canary_id="shelf")
SESSION = [
    Turn("system", "You keep a warehouse."),
    RULE,
    *(Turn("user" if index % 2 else "assistant", f"Box {index} stands in row {index * 7}.") for index in range(80)),
]


def test_a_judge_sees_the_view_and_nothing_else() -> None:
    """What is handed back is the text of the messages `compact_messages` returns, role by role."""
    done = compact_messages([as_dict(turn.role, turn.text) for turn in SESSION])
    shown = GuardCompactor().compact(SESSION).text
    assert text_after(done.messages) == shown
    longer = SESSION * 4
    assert len(GuardCompactor().compact(longer).text) < sum(len(turn.text) for turn in longer)


def test_a_rule_is_passed_word_for_word_and_only_if_it_was_named() -> None:
    """A canary named as a rule stands in the pinned block; one that is not named is left to the summary."""
    pinned = "<context_rules fingerprint="
    assert f"\n- {RULE.text}\n</context_rules>" in GuardCompactor(rules={"shelf"}).compact(SESSION).text
    assert pinned not in GuardCompactor(rules={"another"}).compact(SESSION).text


def test_the_next_round_goes_on_from_the_view() -> None:
    """The text of the round before is no new conversation: its messages are compacted again, with their head and their rules."""
    compactor = GuardCompactor(rules={"shelf"})
    first = compactor.compact(SESSION).text
    second = compactor.compact([Turn("system", first)], round_num=2).text
    assert first == second


def test_another_session_starts_anew() -> None:
    """Nothing of one session is in the text of the next, even if one compactor serves both."""
    compactor = GuardCompactor(rules={"shelf"})
    compactor.compact(SESSION)
    other = [Turn("user", "Where is the van?"), Turn("assistant", "In the yard.")]
    assert "[user] Where is the van?\n[assistant] In the yard." == compactor.compact(other).text.strip()


@pytest.mark.parametrize("budget", [800, 1_000, 1_500])
def test_a_budget_in_characters_is_kept(budget: int) -> None:
    """A text that was not refused is no longer than the characters asked for."""
    compactor = GuardCompactor()
    assert len(compactor.compact(SESSION, budget_chars=budget).text) <= budget
    assert 0 == compactor.refusals


def test_a_rule_said_in_passing_is_not_lost_to_a_budget() -> None:
    """It stands in a short one; where what people laid down does not fit with the request, the budget is refused, not the rule dropped."""
    compactor = GuardCompactor()
    assert RULE.text.removesuffix(".") in compactor.compact(SESSION, budget_chars=600).text
    assert 0 == compactor.refusals
    assert RULE.text in compactor.compact(SESSION, budget_chars=160).text
    assert 1 == compactor.refusals


def test_a_refusal_is_counted_and_loses_nothing() -> None:
    """Where what must stay does not fit, the context comes back whole and the refusal is counted, so that it cannot pass for a result."""
    compactor = GuardCompactor(rules={"shelf"})
    shown = compactor.compact(SESSION, budget_chars=40).text
    assert "\n".join(f"[{turn.role}] {turn.text}" for turn in SESSION) == shown
    assert 1 == compactor.refusals


def test_a_strategy_keeps_the_roles() -> None:
    """System messages in front stay system messages, and the newest turns stay as they were."""
    context = [Message(turn.role, turn.text) for turn in SESSION]
    after = guard_strategy("ours", "").summarize(context)
    assert ("system", "You keep a warehouse.") == (after[0].role, after[0].text)
    assert (context[-1].role, context[-1].text) == (after[-1].role, after[-1].text)


def test_texts_without_roles_become_one_text() -> None:
    """The harness's own plug-in point gets one string, and the newest text is in it."""
    assert summarize_texts([turn.text for turn in SESSION]).endswith(SESSION[-1].text)


def test_the_adapters_know_nothing_of_what_is_planted() -> None:
    """The adapters import nothing that matches text, none of what is planted, and write none of its words."""
    tree = ast.parse((Path(conformance.__file__).parent / "adapters.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    theirs = {"compaction_kit.compacted", "compaction_kit.session", "jev_harness.modules.compaction_survival.sim"}
    ours = {"langchain_ctxguard", "langchain_ctxguard.core.roles", "langchain_ctxguard.errors", "langchain_core.messages"}
    assert theirs | ours | {"__future__", "collections.abc", "dataclasses", "typing"} == imported
    assert [] == [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    written = " ".join(node.value.lower() for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    planted = [*(kind.value.replace("_", " ") for kind in CanaryType), "codeword", "header"]
    assert [] == [word for word in planted if word in written]


def test_every_compactor_of_the_kit_is_in_the_table() -> None:
    """The table shows all of the kit's compactors and ours, over every corpus."""
    rows, by_corpus = conformance.survival(seeds=1)
    names = [*COMPACTORS, conformance.OURS, conformance.OURS_WITH_RULES, conformance.LAST_WORD]
    assert names == [row["compactor"] for row in rows]
    assert [(corpus, name) for corpus in conformance.CORPORA for name in names] == [(row["corpus"], row["compactor"]) for row in by_corpus]


def test_pinned_rules_survive_every_round() -> None:
    """With rules given, all of the kit's safety rules and hard constraints are there after the last round, in every corpus."""
    _, by_corpus = conformance.survival(seeds=2)
    ours = [row for row in by_corpus if row["compactor"] == conformance.OURS_WITH_RULES]
    assert [(100, 100)] * len(conformance.CORPORA) == [(row["safety_rule"], row["hard_constraint"]) for row in ours]


def test_a_short_run_writes_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`--small` prints the tables and leaves the results alone; of conpact's constraints all are there, and its baseline has none."""
    monkeypatch.setattr(measuring, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["run.py", "--small"])
    assert 0 == run.main()
    shown = capsys.readouterr().out
    assert conformance.OURS_WITH_RULES in shown
    told = [line.split() for line in shown.splitlines() if " filler " in line and " middle " in line]
    assert [("RecentN(5)", "0"), ("ctxguard", "100")] == [(cells[0], cells[5]) for cells in told]
    assert [] == list(tmp_path.iterdir())


def test_an_old_value_that_is_still_shown_is_named() -> None:
    """What was planted, where it stands, and in how many sessions; the sum is what the table of the kit counts."""
    rows, _ = conformance.survival(seeds=1)
    ours = next(row for row in rows if row["compactor"] == conformance.OURS)
    held = conformance.stale(seeds=1)
    assert ours["stale_held"] == sum(row["sessions"] for row in held)
    assert {row["stands_in"] for row in held} <= {"a quote", "a message that stays"}


def test_where_the_last_word_holds_no_old_value_is_shown_and_nothing_planted_is_lost() -> None:
    """With a rule replaced by a later one like it and one turn kept, every documented session of every generator shows the latest values alone."""
    rows, _ = conformance.survival(only=(conformance.LAST_WORD,))
    (row,) = rows
    assert (188, 188, 0, 100, 100) == (row["updates"], row["latest_held"], row["stale_held"], row["round_5"], row["pairs_held"])


def test_sessions_beyond_the_documented_ones_lose_nothing() -> None:
    """Of sessions of other seeds, too, everything planted is there, and both of each pair."""
    rows = [row for row in conformance.beyond(sessions=3) if row["compactor"] in {conformance.OURS, conformance.LAST_WORD}]
    assert {100} == {row["round_5"] for row in rows}
    assert {100, None} == {row["pairs_held"] for row in rows}
