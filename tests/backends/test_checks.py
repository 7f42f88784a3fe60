"""Checks on a text: they pass, or they fail with a reason; they never raise and never hang."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard.backends.checks import CheckResult, PreparedCheck, Validator, prepared_check
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.errors import ConfigurationError


def prepared(validator: Any, **validators: Validator) -> PreparedCheck:
    rule = Constraint.model_validate({"constraint_id": "a", "text": "x", "enforcement": "verifier", "validator": validator})
    return prepared_check(rule, validators=validators)


def reason(validator: Any, text: str, **validators: Validator) -> str:
    result = prepared(validator, **validators).run(text)
    assert not result.passed
    assert result.reason
    return result.reason


def passes(validator: Any, text: str, **validators: Validator) -> bool:
    return prepared(validator, **validators).run(text) == CheckResult(passed=True)


def python(code: str) -> dict[str, Any]:
    return {"argv": [sys.executable, "-c", code]}


def test_a_pattern_must_be_found_or_must_not() -> None:
    """Both ways round, in both languages, anywhere in the text."""
    assert passes({"pattern": "ticket-[0-9]+"}, "see ticket-12, please")
    assert passes({"pattern": "删除", "must": "not_match"}, "只查询订单")
    assert "nothing in the text matches 'ticket-[0-9]+'" == reason({"pattern": "ticket-[0-9]+"}, "")


def test_what_a_pattern_forbids_is_not_repeated_in_the_reason() -> None:
    """The reason says where, not what: it goes on record."""
    assert "the text matches '[0-9]{11}' at character 4" == reason({"pattern": "[0-9]{11}", "must": "not_match"}, "电话是 13800000000")


def test_half_a_surrogate_pair_does_not_blind_a_pattern() -> None:
    """A text without a UTF-8 form is searched all the same."""
    assert "at character 1" in reason({"pattern": "secret", "must": "not_match"}, "\ud83dsecret")


def test_a_hostile_text_takes_linear_time() -> None:
    """A pattern that would keep a backtracking engine busy for ever answers at once."""
    started = time.perf_counter()
    assert passes({"pattern": "^(a+)+$", "must": "not_match"}, "a" * 200_000 + "!")
    assert not prepared({"json_schema": {"type": "string", "pattern": "^(a+)+$"}}).run(json.dumps("a" * 200_000 + "!")).passed
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "x{1000}{1000}", "\ud800", ""])
@pytest.mark.parametrize("wrap", [lambda pattern: {"pattern": pattern}, lambda pattern: {"json_schema": {"properties": {"a": {"pattern": pattern}}}}])
def test_a_pattern_that_is_none_is_refused_when_it_is_prepared(pattern: str, wrap: Callable[[str], Any]) -> None:
    """The message names the constraint and what patterns are."""
    with pytest.raises(ConfigurationError, match=r"Constraint 'a@1' has .*pattern"):
        prepared(wrap(pattern))


ORDER = {"json_schema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "pattern": "^ORD-[0-9]+$"}}}}


def test_a_schema_asks_for_json_that_fits() -> None:
    """The reason names the place and the fault."""
    assert passes(ORDER, '{"id": "ORD-1", "note": "加急"}')
    assert "$: 'id' is a required property" == reason(ORDER, "{}")
    assert "$.id: 'ORD-x' does not match '^ORD-[0-9]+$'" == reason(ORDER, '{"id": "ORD-x"}')


@pytest.mark.parametrize("text", ["", "no json", "{", "NaN", '{"id": Infinity}', "[" * 100_000, "1" * 5_000, '```json\n{"id": "ORD-1"}\n```'])
def test_what_is_no_json_fits_no_schema(text: str) -> None:
    """Whatever it is, the answer is a failure."""
    assert "the text is no JSON" in reason(ORDER, text)


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"required": 3}, {"$schema": "http://json-schema.org/draft-07/schema#", "type": 5}])
def test_a_schema_that_is_none_is_refused_when_it_is_prepared(schema: dict[str, Any]) -> None:
    """Also one of an older draft, by that draft's own rules."""
    with pytest.raises(ConfigurationError, match="Constraint 'a@1' has a JSON Schema that is none"):
        prepared({"json_schema": schema})


def test_a_schema_fetches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference to another host is a check that cannot run, not a request."""
    requests: list[object] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda request, *_, **__: requests.append(request) or io.BytesIO(b"{}"))
    assert "the check could not run" in reason({"json_schema": {"$ref": "http://example.invalid/schema.json"}}, "{}")
    assert [] == requests


def test_a_property_called_pattern_is_no_pattern() -> None:
    """A schema for documents that have patterns of their own is read as what it is."""
    assert passes({"json_schema": {"properties": {"pattern": {"type": "string"}}}}, '{"pattern": "("}')


def test_a_command_judges_by_its_exit_code() -> None:
    """It is given the text on standard input, whole and as UTF-8."""
    code = "import sys; text = sys.stdin.buffer.read().decode(); sys.exit(0 if text == '订单 1' else 3)"
    assert passes(python(code), "订单 1")
    assert reason(python(code), "x").endswith("ended with exit code 3")


def test_what_a_command_says_is_the_reason_and_is_clipped() -> None:
    """Both its outputs count; a flood of them is not kept."""
    said = reason(python("import sys; print('too old', file=sys.stderr); sys.exit(1)"), "")
    assert said.endswith("ended with exit code 1: too old")
    flood = reason(python("import sys; sys.stdout.write('x' * 20_000_000); sys.exit(1)"), "")
    assert 310 > len(flood)


def test_a_command_that_takes_too_long_is_ended_with_all_it_started() -> None:
    """The time named is the time it gets, also when a child of it holds its output open."""
    child = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)']); time.sleep(30)"
    started = time.perf_counter()
    assert "took longer than 0.5 seconds and was ended" in reason({**python(child), "timeout_s": 0.5}, "")
    assert time.perf_counter() - started < 8


def test_a_command_that_leaves_something_running_is_not_waited_for() -> None:
    """Its own exit code is the answer."""
    child = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])"
    started = time.perf_counter()
    assert passes(python(child), "")
    assert time.perf_counter() - started < 8


def test_a_command_that_reads_nothing_and_one_that_waits_for_a_terminal_end() -> None:
    """A megabyte nobody reads blocks nothing; the keyboard is not inherited."""
    assert passes(python("pass"), "x" * 1_000_000)
    assert passes(python("import sys; sys.exit(0 if sys.stdin.read() == '' and not sys.stdin.isatty() else 1)"), "")


def test_a_command_is_never_read_by_a_shell(tmp_path: Path) -> None:
    """What looks like a redirection is an argument like any other."""
    target = tmp_path / "written"
    assert passes({"argv": [sys.executable, "-c", "pass", f"; touch {target}", f"> {target}"]}, f"$(touch {target})")
    assert not target.exists()


@pytest.mark.parametrize("argv", [["/nowhere/at/all"], ["\0"], ["/"]])
def test_a_command_that_cannot_start_has_failed(argv: list[str]) -> None:
    """The reason says so."""
    assert "the check could not run" in reason({"argv": argv}, "")


def test_a_command_ended_by_a_signal_has_failed() -> None:
    """It is told from an exit code."""
    assert "was ended by signal 9" in reason(python("import os; os.kill(os.getpid(), 9)"), "")


def test_a_function_answers_true_false_or_why() -> None:
    """A text is a reason, and a reason means no."""
    assert passes("polite", "x", polite=lambda text: text == "x")
    assert "the validator 'polite' refused it" == reason("polite", "x", polite=lambda _: False)
    assert "says 'x'" == reason("polite", "x", polite=lambda text: f"says {text!r}")
    assert "the validator 'polite' refused it" == reason("polite", "x", polite=lambda _: "")


def test_a_function_that_fails_or_cannot_tell_counts_as_a_failure() -> None:
    """Fail safe: neither an exception nor an answer that is none lets a text pass."""
    assert "the check could not run: ZeroDivisionError" in reason("broken", "x", broken=lambda _: 1 / 0 > 0)
    for answer in (None, 1, [], object()):
        assert "neither True, False nor a reason" in reason("odd", "x", odd=lambda _, answer=answer: answer)  # type: ignore[misc]  # the fault


async def _asks_somebody(_: str) -> bool:
    return True


def test_a_function_that_is_not_there_or_not_plain_is_refused() -> None:
    """When it is prepared, with the names that are registered."""
    with pytest.raises(ConfigurationError, match=r"Constraint 'a@1' names the validator 'polite', which is not registered \(registered: 'kind'\)"):
        prepared("polite", kind=lambda _: True)
    with pytest.raises(ConfigurationError, match="'polite' of constraint 'a@1' is no plain function"):
        prepared("polite", polite=_asks_somebody)  # type: ignore[arg-type]  # the fault


def test_a_rule_without_a_validator_has_no_check() -> None:
    """Guidance cannot be run."""
    with pytest.raises(ConfigurationError, match="names no validator"):
        prepared_check(Constraint.from_text("Be kind."))


def test_only_what_may_take_long_says_so() -> None:
    """From a coroutine, commands and functions belong in a thread; patterns and schemas do not."""
    kinds = [{"pattern": "x"}, ORDER, python("pass"), "polite"]
    assert [False, False, True, True] == [prepared(kind, polite=lambda _: True).may_block for kind in kinds]
