"""Checks on a text: a pattern, a JSON Schema, a command, a function. A check that cannot run has failed, and says why."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any, assert_never

from langchain_ctxguard.domain.constraint import CommandCheck, Constraint, PatternCheck, SchemaCheck
from langchain_ctxguard.errors import ConfigurationError

Validator = Callable[[str], "bool | str"]
"""A function of the application: `True` if the text passes, `False` or the reason if it does not."""

_REASON = 300
"""Characters of a reason: it goes into records, and to the model where it is asked again."""

_OUTPUT = 4_000
_REMAINS_S = 1.0
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Whether a text passed, and why not."""

    passed: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedCheck:
    """The check of one rule, ready to run on any text and in any thread."""

    constraint: Constraint
    judge: Callable[[str], CheckResult]
    may_block: bool
    """Whether it may take long: from a coroutine it belongs in a thread."""

    def run(self, text: str) -> CheckResult:
        """Return whether `text` passes; whatever goes wrong in the check is a failure with a reason."""
        try:
            return self.judge(text)
        except Exception as error:  # noqa: BLE001 - fail safe: what cannot be checked has not passed
            return _failed(f"the check could not run: {type(error).__name__}: {error}")


def prepared_check(constraint: Constraint, *, validators: Mapping[str, Validator] | None = None) -> PreparedCheck:
    """Return the check a rule names, ready to run.

    Args:
        constraint: A rule that names a validator.
        validators: The registered functions by name.

    Raises:
        ConfigurationError: naming the rule: no validator, an unknown one, a pattern or schema that is none.
    """
    match constraint.validator:
        case None:
            msg = f"Constraint '{constraint.reference}' names no validator; there is nothing to run."
            raise ConfigurationError(msg)
        case PatternCheck() as check:
            return PreparedCheck(constraint, _pattern_judge(check, constraint.reference), may_block=False)
        case SchemaCheck() as check:
            return PreparedCheck(constraint, _schema_judge(check, constraint.reference), may_block=False)
        case CommandCheck() as check:
            return PreparedCheck(constraint, lambda text: _run_command(check, text), may_block=True)
        case str() as name:
            return PreparedCheck(constraint, _function_judge(name, validators or {}, constraint.reference), may_block=True)
        case _:
            assert_never(constraint.validator)


def _failed(reason: str) -> CheckResult:
    return CheckResult(passed=False, reason=_clipped(reason))


def _clipped(text: str) -> str:
    return text if len(text) <= _REASON else f"{text[:_REASON]}…"


def _compiled(pattern: str, owner: str) -> Any:
    import re2  # type: ignore[import-untyped]  # it ships no types

    if not pattern:
        msg = f"Constraint '{owner}' has an empty pattern: every text would match it."
        raise ConfigurationError(msg)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        msg = (
            f"Constraint '{owner}' has a pattern that cannot be used: {_clipped(pattern)!r}: {why}. "
            "Patterns are RE2's: they take linear time on any text and know no look-around and no back-references."
        )
        raise ConfigurationError(msg) from error


def _pattern_judge(check: PatternCheck, owner: str) -> Callable[[str], CheckResult]:
    pattern = _compiled(check.pattern, owner)
    shown = _clipped(check.pattern)

    def judge(text: str) -> CheckResult:
        # RE2 reads UTF-8, which half a surrogate pair has none of; one to one, so that positions stay.
        found = pattern.search(_SURROGATE.sub("\ufffd", text))
        if (found is not None) == (check.must == "match"):
            return CheckResult(passed=True)
        if found is None:
            return _failed(f"nothing in the text matches {shown!r}")
        # Where, not what: the text a rule forbids does not belong in a record.
        return _failed(f"the text matches {shown!r} at character {found.start()}")

    return judge


def _schema_judge(check: SchemaCheck, owner: str) -> Callable[[str], CheckResult]:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, ValidationError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    try:
        schema: Any = _plain(check.json_schema)
    except RecursionError as error:
        msg = f"Constraint '{owner}' has a JSON Schema that is nested too deep."
        raise ConfigurationError(msg) from error
    base: Any = validator_for(schema, default=Draft202012Validator)
    try:
        base.check_schema(schema)
    except SchemaError as error:
        msg = f"Constraint '{owner}' has a JSON Schema that is none: {_clipped(f'{error.json_path}: {error.message}')}."
        raise ConfigurationError(msg) from error
    compiled = lru_cache(maxsize=256)(lambda pattern: _compiled(pattern, owner))
    for pattern in _patterns_in(schema):
        compiled(pattern)

    def pattern_keyword(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
        # The library would use `re`, which a hostile text can keep busy for ever. Property names (`patternProperties`) still meet it.
        if isinstance(instance, str) and compiled(pattern).search(_SURROGATE.sub("\ufffd", instance)) is None:
            yield ValidationError(f"{instance!r} does not match {pattern!r}")

    # A registry of our own: by default the library fetches references to other hosts.
    with_our_patterns: Any = extend
    validator = with_our_patterns(base, {"pattern": pattern_keyword})(schema, registry=Registry())

    def judge(text: str) -> CheckResult:
        try:
            data = json.loads(text, parse_constant=_no_json)
        except (ValueError, RecursionError) as error:
            return _failed(f"the text is no JSON: {error}")
        fault = next(validator.iter_errors(data), None)
        return CheckResult(passed=True) if fault is None else _failed(f"{fault.json_path}: {fault.message}")

    return judge


def _plain(schema: Any) -> Any:
    # Schemas are read by type: a mapping that is no dict would be no object.
    if isinstance(schema, Mapping):
        return {key: _plain(value) for key, value in schema.items()}
    return [_plain(value) for value in schema] if isinstance(schema, (list, tuple)) else schema


def _patterns_in(schema: Any) -> Iterator[str]:
    """Yield every text under a key `pattern`; one that is a property of that name is no text but a schema."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(node.get("pattern"), str):
                yield node["pattern"]
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _no_json(name: str) -> Any:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


def _function_judge(name: str, validators: Mapping[str, Validator], owner: str) -> Callable[[str], CheckResult]:
    function: Any = validators.get(name)
    if function is None:
        known = ", ".join(f"'{other}'" for other in sorted(validators)) or "none"
        msg = f"Constraint '{owner}' names the validator '{name}', which is not registered (registered: {known})."
        raise ConfigurationError(msg)
    if not callable(function) or inspect.iscoroutinefunction(function):
        msg = f"The validator '{name}' of constraint '{owner}' is no plain function; it takes a text and returns True, False or a reason."
        raise ConfigurationError(msg)

    def judge(text: str) -> CheckResult:
        answer: Any = function(text)
        match answer:
            case True:
                return CheckResult(passed=True)
            case False:
                return _failed(f"the validator '{name}' refused it")
            case str():
                return _failed(answer.strip() or f"the validator '{name}' refused it")
            case _:
                return _failed(f"the validator '{name}' returned {type(answer).__name__}, which is neither True, False nor a reason")

    return judge


def _run_command(check: CommandCheck, text: str) -> CheckResult:
    process = subprocess.Popen(  # noqa: S603 - the command of the config, without a shell
        check.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # A group of its own, so that what it started can be ended with it.
        start_new_session=True,
    )
    output = bytearray()
    # Its input is fed and its output drained beside it: whichever of the two it neglects, it cannot hang us.
    writer = threading.Thread(target=_feed, args=(process.stdin, text.encode("utf-8", "replace")), daemon=True)
    reader = threading.Thread(target=_drain, args=(process.stdout, output), daemon=True)
    writer.start()
    reader.start()
    is_late = False
    try:
        process.wait(check.timeout_s)
    except subprocess.TimeoutExpired:
        is_late = True
    finally:
        if process.poll() is None:
            _kill(process)
        reader.join(_REMAINS_S)
        if reader.is_alive():
            # It ended and left something running that holds its output.
            _kill(process)
            reader.join(_REMAINS_S)
        writer.join(_REMAINS_S)
    said = bytes(output).decode("utf-8", "replace").strip()
    if is_late:
        return _failed(f"{check.argv[0]} took longer than {check.timeout_s:g} seconds and was ended")
    if process.returncode == 0:
        return CheckResult(passed=True)
    how = f"ended with exit code {process.returncode}" if process.returncode > 0 else f"was ended by signal {-process.returncode}"
    return _failed(f"{check.argv[0]} {how}{f': {said}' if said else ''}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REMAINS_S)


def _feed(pipe: IO[bytes] | None, data: bytes) -> None:
    # A command need not read what it is given.
    with suppress(OSError, ValueError):
        if pipe is not None:
            pipe.write(data)
            pipe.flush()
    with suppress(OSError, ValueError):
        if pipe is not None:
            pipe.close()


def _drain(pipe: IO[bytes] | None, output: bytearray) -> None:
    with suppress(OSError, ValueError):
        while pipe is not None and (chunk := pipe.read1(65_536)):  # type: ignore[attr-defined]  # a buffered reader, which IO does not say
            output += chunk[: max(0, _OUTPUT - len(output))]
    with suppress(OSError, ValueError):
        if pipe is not None:
            pipe.close()
