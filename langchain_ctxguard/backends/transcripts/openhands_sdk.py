"""Event logs of the OpenHands software agent SDK, whose events say their `kind`."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.transcripts.build import content_of
from langchain_ctxguard.backends.transcripts.calls import call_of
from langchain_ctxguard.backends.transcripts.event_log import EventLog, event_lists, has_events
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where, kind_of

FORMAT = "openhands_sdk"
TITLE = "OpenHands SDK events"

_KINDS = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent", "UserRejectObservation", "Condensation")
"""Events that the model sees or that change what it sees; all others give no message."""


def recognises(data: Any) -> bool:
    """Say whether `data` holds events of a known kind."""
    return has_events(data, _is_event)


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each log.

    Raises:
        Misfit: an envelope without events, an event that is no object, or one that does not fit.
    """
    return tuple(_run(called, events, where) for called, events, where in event_lists(data, name, _is_event))


def _run(name: str, events: list[Any], where: Where) -> Run:
    log = EventLog()
    for index, event in enumerate(events):
        place = (*where, index)
        if not isinstance(event, dict):
            raise Misfit(place, f"is {kind_of(event)}; an event is an object")
        _read_event(log, event, place)
    return Run(name, log.messages(), FORMAT, compactions=log.compactions())


def _read_event(log: EventLog, event: dict[str, Any], where: Where) -> None:
    match event.get("kind"):
        case "SystemPromptEvent":
            prompt = event.get("system_prompt")
            text = prompt.get("text") if isinstance(prompt, dict) else prompt
            log.say(SystemMessage, {"content": text if isinstance(text, str) else ""}, event, where)
        case "MessageEvent":
            said = event.get("llm_message")
            if not isinstance(said, dict):
                raise Misfit(where, f"has an `llm_message` that is {kind_of(said)}; it takes an object")
            kind = AIMessage if said.get("role") == "assistant" else HumanMessage
            log.say(kind, {"content": _content(said, (*where, "llm_message")), **_reasoning(said)}, event, where)
        case "ActionEvent":
            answer, thought = event.get("llm_response_id"), _content({"content": event.get("thought")}, where)
            beside = {"content": thought, **_reasoning(event)}
            log.call(_call(event, where), beside, answer if isinstance(answer, str) else None, event, where)
        case "ObservationEvent":
            seen = event.get("observation")
            if not isinstance(seen, dict):
                raise Misfit(where, f"has an `observation` that is {kind_of(seen)}; it takes an object")
            _result(log, _content(seen, (*where, "observation")), event, where, is_failure=seen.get("is_error") is True)
        case "AgentErrorEvent" | "UserRejectObservation":
            told = event.get("error") or event.get("rejection_reason")
            _result(log, told if isinstance(told, str) else "", event, where, is_failure=True)
        case "Condensation":
            ids = event.get("forgotten_event_ids")
            dropped = log.forget(found for found in ids if isinstance(found, str)) if isinstance(ids, list) else []
            log.condense(dropped, event.get("summary"), event, where)
        case _:
            return


def _reasoning(holder: dict[str, Any]) -> dict[str, Any]:
    said = holder.get("reasoning_content")
    return {"additional_kwargs": {"reasoning_content": said}} if isinstance(said, str) and said else {}


def _call(event: dict[str, Any], where: Where) -> Any:
    call = event.get("tool_call")
    function = call.get("function") if isinstance(call, dict) else None
    source = function if isinstance(function, dict) else call if isinstance(call, dict) else {}
    name, call_id = event.get("tool_name") or source.get("name"), event.get("tool_call_id")
    if not isinstance(name, str):
        raise Misfit(where, "names no tool; an action has a `tool_name`")
    arguments = source.get("arguments", event.get("action"))
    return call_of(name, arguments, call_id if isinstance(call_id, str) else None)


def _result(log: EventLog, content: str | list[Any], event: dict[str, Any], where: Where, *, is_failure: bool) -> None:
    call_id = event.get("tool_call_id")
    fields = {"content": content, "tool_call_id": call_id if isinstance(call_id, str) else "", "status": "error" if is_failure else None}
    log.say(ToolMessage, {**fields, "name": event.get("tool_name")}, event, where)


def _content(holder: dict[str, Any], where: Where) -> str | list[Any]:
    content = content_of({"content": holder.get("content")}, where, may_be_missing=True, may_be_data=True)
    if isinstance(content, str) or not all(isinstance(block, dict) and block.get("type") == "text" for block in content):
        return content
    return "\n".join(block["text"] for block in content if isinstance(block, dict))


def _is_event(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("kind") in _KINDS and ("source" in entry or "id" in entry)
