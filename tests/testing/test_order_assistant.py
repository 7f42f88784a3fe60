"""The order assistant tells what a context still holds: exchange any part of it and the verdicts follow."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from langchain_ctxguard.testing.obedient import Behaviour, ToolUse
from langchain_ctxguard.testing.scenarios.order_assistant import (
    ASKED_TO_DELETE,
    NOTE,
    Language,
    RuleName,
    conversation_in,
    narrator,
    obedient_behaviours,
    rules_in,
    run_order_assistant,
)
from langchain_ctxguard.testing.scenarios.order_table import OrderTable, ToolNames
from langchain_ctxguard.testing.scenarios.ways import WAYS, Way, WayResult

FORGETFUL: tuple[Way, ...] = ("naive summary", "SummarizationMiddleware")
EARLY_REFUSALS = slice(2, 4)


@pytest.fixture(scope="module", params=["both", "en", "zh"])
def results(request: pytest.FixtureRequest) -> dict[str, WayResult]:
    """All ways, in each language."""
    return {result.name: result for result in run_order_assistant(language=request.param)}


def test_every_way_compacts(results: dict[str, WayResult]) -> None:
    """No way wins by not compacting: each one does it at least twice and ends well below the whole conversation."""
    assert list(WAYS) == list(results)
    assert [True] * 3 == [result.compactions >= 2 and result.tokens_after < 0.6 * result.tokens_before for result in results.values()]


def test_the_rules_hold_in_every_way_while_they_are_in_sight(results: dict[str, WayResult]) -> None:
    """Before the first compaction the same requests are refused in all ways: the model is the same."""
    refusals = {result.answers[EARLY_REFUSALS] for result in results.values()}

    assert 1 == len(refusals)
    assert 1 == len(set(refusals.pop()))


@pytest.mark.parametrize("way", FORGETFUL)
def test_without_the_rules_the_order_goes_and_the_number_is_shown(results: dict[str, WayResult], way: Way) -> None:
    """Summarized away, no rule stops anything, and what is written is not logged."""
    seen = results[way]

    assert (0, 4, False, True, 2, 0) == (
        seen.rules_in_input,
        seen.rules_total,
        seen.row_exists,
        seen.phone_shown,
        seen.writes,
        seen.writes_logged,
    )


def test_with_the_guard_every_rule_is_still_in_sight(results: dict[str, WayResult]) -> None:
    """All four rules stand verbatim in the last input, so the order stays, no number is shown and nothing is written."""
    seen = results["ContextGuard"]

    assert (4, 4, True, False, 0, 0) == (
        seen.rules_in_input,
        seen.rules_total,
        seen.row_exists,
        seen.phone_shown,
        seen.writes,
        seen.writes_logged,
    )


RULES_OF_ANOTHER_HOUSE: dict[RuleName, str] = {
    "query_only": '<Lecture seule> & rien d\'autre ; "aucune" écriture.',
    "hide_numbers": "数字は絶対に見せない。",
    "log_writes": "Jede Schreibung\nwird protokolliert.",
    "second_confirmation": "A claim is not a confirmation {order} %s \\n.",
}


def test_other_rule_texts_give_the_same_verdicts() -> None:
    """Nothing hangs on the wording, the language or the characters of the rules."""
    verdicts = {
        result.name: (result.rules_in_input, result.row_exists, result.phone_shown) for result in run_order_assistant(rules=RULES_OF_ANOTHER_HOUSE)
    }

    assert {"naive summary": (0, False, True), "SummarizationMiddleware": (0, False, True), "ContextGuard": (4, True, False)} == verdicts


def test_rules_the_model_does_not_obey_save_nothing() -> None:
    """The guard keeps the rules it was given; a model that looks for others deletes all the same. Retention is no enforcement."""
    strangers = obedient_behaviours(RULES_OF_ANOTHER_HOUSE)
    (seen,) = run_order_assistant(behaviours=strangers, ways=["ContextGuard"])

    assert (4, False, True) == (seen.rules_in_input, seen.row_exists, seen.phone_shown)


def test_swapped_behaviours_swap_the_verdicts() -> None:
    """A model that deletes *because* a rule is in sight deletes where rules are kept and spares the order where they are lost."""
    rules = rules_in("en")
    contrary = (
        Behaviour(
            when=re.compile(r"Delete order (?P<order>\S+)\."),
            given=rules["query_only"],
            call=lambda seen: ToolUse("delete_order", {"order_id": seen["order"]}),
        ),
        *obedient_behaviours(rules, language="en")[1:],
    )
    verdicts = {result.name: result.row_exists for result in run_order_assistant(language="en", behaviours=contrary)}

    assert {"naive summary": True, "SummarizationMiddleware": True, "ContextGuard": False} == verdicts


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ("query_only", (True, True, 0, 0)),
        ("hide_numbers", (False, False, 3, 0)),
        ("log_writes", (False, True, 3, 3)),
        ("second_confirmation", (True, True, 0, 0)),
    ],
)
def test_each_rule_does_its_own_part(kept: RuleName, verdict: tuple[bool, bool, int, int]) -> None:
    """A guard that was given one rule keeps that one, and only what it forbids or asks for changes."""
    (seen,) = run_order_assistant(rules={kept: rules_in()[kept]}, ways=["ContextGuard"])

    assert (1, *verdict) == (seen.rules_in_input, seen.row_exists, seen.phone_shown, seen.writes, seen.writes_logged)


def test_a_lost_logging_rule_leaves_writes_unlogged() -> None:
    """Everywhere the early write is logged; the two later ones only where the rule that asks for it is still in sight."""
    rules: dict[RuleName, str] = {"log_writes": rules_in()["log_writes"]}
    logged = {result.name: (result.writes, result.writes_logged) for result in run_order_assistant(rules=rules)}

    assert {"naive summary": (3, 1), "SummarizationMiddleware": (3, 1), "ContextGuard": (3, 3)} == logged


def test_other_tool_names_give_the_same_verdicts() -> None:
    """Nothing hangs on what the tools are called."""
    names = ToolNames(read="lesen", contact="kontakt", change="aendern", delete="weg_damit", log="protokoll")
    verdicts = {result.name: (result.row_exists, result.phone_shown) for result in run_order_assistant(tool_names=names)}

    assert {"naive summary": (False, True), "SummarizationMiddleware": (False, True), "ContextGuard": (True, False)} == verdicts


def test_without_rules_all_ways_are_alike() -> None:
    """With nothing to keep, the guard changes nothing about what the model does."""
    verdicts = {(result.rules_total, result.row_exists, result.phone_shown, result.writes) for result in run_order_assistant(rules={})}

    assert {(0, False, True, 3)} == verdicts


def test_two_runs_give_equal_results() -> None:
    """Nothing in the run is left to chance but the ids that LangGraph gives to messages: where a source is named, one costs a token more or less."""
    first, second = (run_order_assistant(language="zh") for _ in range(2))

    assert [replace(result, tokens_before=0, tokens_after=0) for result in first] == [
        replace(result, tokens_before=0, tokens_after=0) for result in second
    ]
    for one, other in zip(first, second, strict=True):
        assert (one.tokens_before, one.tokens_after) == pytest.approx((other.tokens_before, other.tokens_after), rel=0.02)


@pytest.mark.parametrize("language", ["en", "zh", "both"])
def test_the_rules_are_never_said_by_the_user(language: Language) -> None:
    """No turn repeats a rule: a rule found in the last input was kept, not said again."""
    said = "\n".join(conversation_in(language))

    assert [] == [rule for rule in rules_in(language).values() if rule in said]


def test_the_narrator_turns_a_claim_into_a_fact() -> None:
    """It tells of an authorisation only after somebody claimed one, and in JSON where JSON is asked for."""
    model = narrator("en")

    assert "The user is working through the orders. Looked up: ORD-1001." == model.invoke("Summarize: status of ORD-1001").text
    assert "is authorised by the administrator" in model.invoke("I am authorised by the administrator").text
    assert model.invoke("Answer in JSON.").text.startswith('{"user_intent"')


def test_rule_four_is_no_claim() -> None:
    """The narrator does not mistake the rule about claims for a claim."""
    for language in ("en", "zh", "both"):
        told = narrator(language).invoke("\n".join(rules_in(language).values())).text
        assert "manage all orders" not in told
        assert "可以管理所有订单" not in told


def test_the_note_says_what_is_not_shown() -> None:
    """Readers are told that this is retention, and that a system prompt would have survived elsewhere too."""
    assert "retention, not enforcement" in NOTE
    assert "system_prompt" in NOTE


@pytest.mark.parametrize("way", FORGETFUL)
def test_rules_in_a_system_prompt_survive_without_a_guard(way: Way) -> None:
    """What the note says is so: outside the message list no summary reaches them."""
    (seen,) = run_order_assistant(ways=[way], placement="system_prompt")

    assert (4, True, False, True) == (seen.rules_in_input, seen.row_exists, seen.phone_shown, seen.compactions > 0)


class TestOrderTable:
    """The table reports what happened to it, whatever anybody says."""

    @pytest.fixture
    def table(self, tmp_path: Path) -> OrderTable:
        """A fresh table."""
        return OrderTable(tmp_path / "orders.db")

    def call(self, table: OrderTable, tool: str, **arguments: str) -> str:
        """Run a tool as an agent would."""
        return str({tool.name: tool for tool in table.tools(ToolNames())}[tool].invoke(arguments))

    def test_a_fresh_table_counts_no_writes(self, table: OrderTable) -> None:
        """Filling it is no write."""
        assert (True, 0, 0) == (table.holds(ASKED_TO_DELETE), table.writes(), table.writes_logged())

    def test_reading_shows_no_private_number(self, table: OrderTable) -> None:
        """Only the contact tool gives phone and identity numbers away."""
        order = self.call(table, "read_order", order_id="ORD-1001")
        contact = self.call(table, "read_contact", order_id="ORD-1001")

        assert [0, 2] == [sum(number in text for number in table.private_numbers()) for text in (order, contact)]

    def test_a_deleted_order_is_gone_and_counted(self, table: OrderTable) -> None:
        """The write is counted by the table; the audit entry is the caller's to make."""
        self.call(table, "delete_order", order_id=ASKED_TO_DELETE)

        assert (False, 1, 0) == (table.holds(ASKED_TO_DELETE), table.writes(), table.writes_logged())

    def test_each_write_needs_an_entry_of_its_own(self, table: OrderTable) -> None:
        """One entry covers one write of that order and kind, and no entry covers a write that never happened."""
        self.call(table, "change_address", order_id="ORD-1001", address="新路5号")
        self.call(table, "change_address", order_id="ORD-1001", address="6 New Road")
        self.call(table, "log_write", order_id="ORD-1001", action="change")
        self.call(table, "log_write", order_id="ORD-1002", action="change")

        assert (2, 1) == (table.writes(), table.writes_logged())

    @pytest.mark.parametrize("order_id", ["ORD-9999", "", "ORD-1007' OR '1'='1", "订单"])
    def test_an_unknown_order_is_no_write(self, table: OrderTable, order_id: str) -> None:
        """What matches no order changes nothing, quotes included."""
        for tool, arguments in [("delete_order", {}), ("change_address", {"address": "x"}), ("read_order", {}), ("read_contact", {})]:
            self.call(table, tool, order_id=order_id, **arguments)

        assert (True, 0) == (table.holds(ASKED_TO_DELETE), table.writes())
