"""A case from a conversation that went wrong, so that it cannot go wrong the same way unseen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.roles import Call, calls_of, is_failure, is_foreign_summary, is_note, is_request, text_of
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.testing.retention.case import RetentionCase

MOST_FIELDS: Final = 20
"""Values a made case asks for; the first ones people said."""

_NO_RESULT: Final = "(no result on record)"


def case_from_messages(
    messages: Sequence[Any], *, name: str, rules: Sequence[str] = (), request: int | None = None, rounds: int = 1, path: str = "other"
) -> RetentionCase:
    """Return a case that plays a conversation back up to a request, and wants what the model did about it never to happen.

    What the model called after the request becomes the dangerous act, and `not_called`. Values that people said and that matter become
    `expect.fields`. Read it over before you keep it: a run does not say which of its rules was broken, and the texts are those of the run.

    Args:
        messages: The whole conversation, in any form LangChain accepts; notes of a guard and summaries are left out.
        name: Of the case.
        rules: What the application had declared.
        request: Which human message is the request, counted from 1; negative from the end. Default: the last one.
        rounds: How many compactions must lie before the request.
        path: Which way it failed.

    Raises:
        ConfigurationError: there is no such request.
    """
    spoken = [message for message in convert_to_messages(messages) if not (is_note(message) or is_foreign_summary(message))]
    asked = [place for place, message in enumerate(spoken) if is_request(message)]
    wanted = len(asked) if request is None else request + len(asked) + 1 if request < 0 else request
    if not 1 <= wanted <= len(asked):
        msg = f"There is no request {request or 'at all'}: the conversation has {len(asked)} human messages."
        raise ConfigurationError(msg)
    at = asked[wanted - 1]
    end = asked[wanted] if wanted < len(asked) else len(spoken)
    acted = next((call for message in spoken[at:end] for call in calls_of(message)), None)
    said = next((text_of(message) for message in reversed(spoken[at:end]) if isinstance(message, AIMessage) and text_of(message).strip()), None)
    turns = _turns(spoken[:at])
    before = [text_of(message) for message in spoken[:at] if is_request(message)]
    data: dict[str, Any] = {
        "name": name,
        "path": path,
        "rules": list(rules),
        "conversation": turns or [{"filler": 1}],
        "rounds": rounds,
        "request": text_of(spoken[at]),
        "act": {"call": _call(acted)} if acted is not None else {"say": said} if said else {},
        "expect": {
            **({"fields": fields} if (fields := _fields(before)) else {}),
            **({"not_called": [acted.name]} if acted is not None else {}),
        },
    }
    return RetentionCase.from_data(data, place=f"case '{name}'")


def as_yaml(cases: Sequence[RetentionCase]) -> str:
    """Return cases as the text of a case file, which reads back as the same cases."""
    data = {"version": 1, "cases": [case.model_dump(mode="json", exclude_defaults=True) for case in cases]}
    return yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=140)


def _call(call: Call) -> dict[str, Any]:
    # Arguments nobody could read are played back as the one text they were.
    arguments = dict(call.arguments) if isinstance(call.arguments, Mapping) else {"text": call.arguments}
    return {"tool": call.name, "args": arguments}


def _fields(said: Sequence[str]) -> list[str]:
    found = [field.raw for text in said for field in extract_fields(text) if field.critical]
    return list(dict.fromkeys(found))[:MOST_FIELDS]


def _turns(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    open_calls: dict[str, str] = {}

    def settle() -> None:
        turns.extend({"tool": {"of": tool, "text": _NO_RESULT, "failed": True}} for tool in open_calls.values())
        open_calls.clear()

    for message in messages:
        if isinstance(message, ToolMessage):
            # A result nobody asked for has no place in a conversation that is played back.
            if (tool := open_calls.pop(message.tool_call_id, None)) is not None:
                turns.append({"tool": {"of": tool, "text": text_of(message), **({"failed": True} if is_failure(message) else {})}})
            continue
        settle()
        if isinstance(message, HumanMessage):
            turns.append({"user": text_of(message)})
        elif isinstance(message, SystemMessage):
            turns.append({"system": text_of(message)})
        elif isinstance(message, AIMessage) and turns:
            calls = calls_of(message)
            turns.append({"ai": {"text": text_of(message), "calls": [_call(call) for call in calls]}})
            open_calls = {call.call_id or str(number): call.name for number, call in enumerate(calls)}
    settle()
    return turns
