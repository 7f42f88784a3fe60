"""Policies written in Cedar, deciding the same requests as a `ToolPolicy`. Needs the extra `cedar`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from langchain_ctxguard.domain.policy import AskNeed, Decision, Finding, ToolRequest, Verdict
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.errors import ConfigurationError, PolicyError

_MOST = 2**63
_PLACES = 4
"""Digits behind the point that Cedar's decimals have."""

_OTHERWISE = "Do it another way, or tell the user that it is not allowed."


class CedarPolicy:
    """A policy for `authorize`, alone or beside others.

    The requester is the principal `User::"..."`, the tool the action `Action::"..."`, the thread the resource `Thread::"..."`; `context` holds
    `args`, `effect`, `namespace` and `surface`. `forbid` denies, and so does the absence of a permit. A permit with the annotation `@ask` asks a
    person, `@ask("admin")` one of that role.
    """

    def __init__(self, policies: str, *, entities: Sequence[Mapping[str, Any]] = ()) -> None:
        """Parse `policies`.

        Args:
            policies: The text of Cedar policies.
            entities: What is known of users and tools (roles, groups), in Cedar's JSON form.

        Raises:
            ConfigurationError: the extra is not installed, or Cedar cannot read the policies or entities.
        """
        try:
            import cedarpy
        except ImportError as error:
            msg = "Policies in Cedar need the extra: pip install 'langchain-ctxguard[cedar]'."
            raise ConfigurationError(msg) from error
        try:
            self._policies = cedarpy.PolicySet.from_str(policies)
            self._entities = cedarpy.Entities.from_json_str(json.dumps(list(entities)))
            self._annotations = _annotations(cedarpy.policies_to_json_str(policies))
        except ValueError as error:
            msg = f"Cedar cannot read the policies or entities: {error}. Nothing was loaded; mend them."
            raise ConfigurationError(msg) from error
        self._ask = cedarpy.is_authorized
        self.fingerprint = digest_of(f"{policies}\n{json.dumps(list(entities), sort_keys=True)}")

    @classmethod
    def from_file(cls, path: str | Path, *, entities: Sequence[Mapping[str, Any]] = ()) -> Self:
        """Return the policies of a file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            msg = f"Cannot read the policies '{path}': {error}."
            raise ConfigurationError(msg) from error
        return cls(text, entities=entities)

    def __call__(self, request: ToolRequest) -> Verdict:
        """Return what the policies say of a call.

        Raises:
            PolicyError: a policy could not be evaluated. Cedar would pass it over, a `forbid` too; `authorize` denies.
        """
        answer = self._ask(_asked(request), self._policies, self._entities)
        # What Cedar says of an error may quote the arguments.
        if answer.diagnostics.errors:
            msg = "a Cedar policy could not be evaluated for these arguments"
            raise PolicyError(msg)
        found = [self._annotations.get(reason, {"id": reason}) for reason in answer.diagnostics.reasons]
        names = ", ".join(str(one["id"]) for one in found)
        if not answer.allowed:
            reason = f"Cedar forbids it ({names})" if names else "no Cedar policy permits it"
            return _verdict(request, Decision.DENY, names, reason, _OTHERWISE)
        roles = [one["ask"] for one in found if "ask" in one]
        if not roles:
            return _verdict(request, Decision.ALLOW, names, f"Cedar permits it ({names})", "")
        needs = tuple(AskNeed(rules=(names,), approver=role or None) for role in dict.fromkeys(roles))
        return _verdict(request, Decision.ASK, names, f"Cedar permits it once a person has agreed ({names})", "Wait for the answer.", needs)


def _verdict(request: ToolRequest, decision: Decision, names: str, reason: str, instead: str, asks: tuple[AskNeed, ...] = ()) -> Verdict:  # noqa: PLR0917
    finding = Finding(rule=names or "cedar", key="cedar", decision=decision, reason=reason, instead=instead)
    return Verdict(decision=decision, tool=request.tool, findings=(finding,), asks=asks, effect=request.effect or "write")


def _annotations(text: str) -> dict[str, dict[str, str]]:
    policies = json.loads(text)["staticPolicies"]
    return {name: {"id": name, **{key: value or "" for key, value in policy.get("annotations", {}).items()}} for name, policy in policies.items()}


def _asked(request: ToolRequest) -> dict[str, Any]:
    context = {"args": request.args, "effect": request.effect or "write", "namespace": request.namespace, "surface": request.surface}
    return {
        "principal": {"type": "User", "id": request.requester or ""},
        "action": {"type": "Action", "id": request.tool},
        "resource": {"type": "Thread", "id": request.thread or ""},
        "context": _value(context),
    }


def _value(value: Any) -> Any:
    """Return a value as Cedar takes it: no null, no float, and nothing a caller wrote that Cedar would read as an entity.

    Raises:
        PolicyError: it cannot be said in Cedar.
    """
    if isinstance(value, bool) or (isinstance(value, str) and _is_text(value)):
        return value
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) or key.startswith("__") for key in value):
            msg = "a key of the arguments means something of its own in Cedar"
            raise PolicyError(msg)
        return {key: _value(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_value(item) for item in value if item is not None]
    if isinstance(value, int) and -_MOST <= value < _MOST:
        return value
    if isinstance(value, (float, Decimal)):
        return _decimal(Decimal(str(value)))
    msg = f"a value of type {type(value).__name__} cannot be said in Cedar"
    raise PolicyError(msg)


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _decimal(number: Decimal) -> Any:
    if not number.is_finite() or number != round(number, _PLACES) or abs(number) >= _MOST // 10**_PLACES:
        msg = "a number of the arguments does not fit Cedar's decimals"
        raise PolicyError(msg)
    text = f"{number:f}"
    return {"__extn": {"fn": "decimal", "arg": text if "." in text else f"{text}.0"}}
