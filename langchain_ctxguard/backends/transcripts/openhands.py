"""OpenHands event streams: what user and agent did, what was observed because of it, and each condensation of the view."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.transcripts.calls import call_of
from langchain_ctxguard.backends.transcripts.event_log import EventLog, event_lists, has_events, is_integer
from langchain_ctxguard.backends.transcripts.marks import META_EXTRAS
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where, kind_of

FORMAT = "openhands"
TITLE = "OpenHands events"

_HOUSEKEEPING = (
    "null",
    "agent_state_changed",
    "change_agent_state",
    "recall",
    "condensation_request",
    "pause",
    "resume",
    "start_project",
    "user_rejected",
)
"""Events about the program; they give no message."""

_NO_ARGUMENTS = ("thought", "blocking", "hidden", "confirmation_state", "security_risk", "impl_source", "translated_ipython_code")
"""Keys of `args` that are the program's, not the model's."""


def recognises(data: Any) -> bool:
    """Say whether `data` holds actions and observations."""
    return has_events(data, _is_event)


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each stream of events.

    Raises:
        Misfit: an envelope without events, an event that is no object, or one that does not fit.
    """
    return tuple(_run(called, events, where) for called, events, where in event_lists(data, name, _is_event))


def _run(name: str, events: list[Any], where: Where) -> Run:
    log = EventLog()
    # By the event's id: the call that its observation answers.
    calls: dict[int, str] = {}
    for index, event in enumerate(events):
        place = (*where, index)
        if not isinstance(event, dict):
            raise Misfit(place, f"is {kind_of(event)}; an event is an object")
        if isinstance(event.get("action"), str):
            _act(log, event, place, calls)
        elif isinstance(event.get("observation"), str):
            _observe(log, event, place, calls)
        else:
            raise Misfit(place, "has neither `action` nor `observation`; each event has one of them")
    return Run(name, log.messages(), FORMAT, compactions=log.compactions())


def _act(log: EventLog, event: dict[str, Any], where: Where, calls: dict[int, str]) -> None:
    action, args = event["action"], event.get("args")
    if action in _HOUSEKEEPING:
        return
    if not isinstance(args, dict):
        raise Misfit(where, f"has `args` that are {kind_of(args)}; an action's arguments are an object")
    made = _call_in(event)
    if action == "condensation":
        log.condense(_forgotten(log, args), args.get("summary"), event, where)
    elif action == "system":
        log.say(SystemMessage, {"content": _text(args.get("content"))}, event, where)
    elif made is not None:
        call_id, call = made
        if is_integer(event.get("id")):
            calls[event["id"]] = call_id
        log.call(call, {"content": _text(args.get("thought")) or _thought(event)}, _response_id(event), event, where)
    elif event.get("source") == "user":
        extras = {} if action == "message" else {"additional_kwargs": META_EXTRAS}
        log.say(HumanMessage, {"content": _content(args) if action == "message" else _text(event.get("message")), **extras}, event, where)
    elif action in ("message", "finish", "reject"):
        said = _content(args) or next((text for key in ("final_thought", "thought") if (text := _text(args.get(key)))), "")
        log.say(AIMessage, {"content": said or _text(event.get("message"))}, event, where)
    else:
        # Models without tool calls write actions as text; the event's own id pairs them with what came of them.
        call_id = f"event_{event.get('id')}"
        if is_integer(event.get("id")):
            calls[event["id"]] = call_id
        arguments = {key: value for key, value in args.items() if key not in _NO_ARGUMENTS}
        log.call(call_of(action, arguments, call_id), {"content": _text(args.get("thought"))}, None, event, where)


def _observe(log: EventLog, event: dict[str, Any], where: Where, calls: dict[int, str]) -> None:
    if event["observation"] in _HOUSEKEEPING:
        return
    cause = event.get("cause")
    facts = event.get("tool_call_metadata")
    call_id = facts.get("tool_call_id") if isinstance(facts, dict) else None
    if not isinstance(call_id, str):
        call_id = calls.get(cause) if is_integer(cause) else None
    said = _text(event.get("content")) or _text(event.get("message"))
    is_failure = event["observation"] == "error" or event.get("success") is False
    if is_failure and (how := _text(event.get("message"))) and how not in said:
        # What a failed command printed does not say that it failed, nor with which code.
        said = f"{said}\n{how}"
    if call_id is None:
        if said:
            log.say(HumanMessage, {"content": said, "additional_kwargs": META_EXTRAS}, event, where)
        return
    fields = {"content": said, "tool_call_id": call_id, "status": "error" if is_failure else None, "artifact": event.get("extras")}
    name = facts.get("function_name") if isinstance(facts, dict) else None
    log.say(ToolMessage, {**fields, "name": name if isinstance(name, str) else None}, event, where)


def _call_in(event: dict[str, Any]) -> tuple[str, Any] | None:
    """Return the model's own call that an action came from, with the arguments as the model wrote them."""
    facts = event.get("tool_call_metadata")
    if not isinstance(facts, dict) or not isinstance(facts.get("tool_call_id"), str) or not isinstance(facts.get("function_name"), str):
        return None
    call_id, arguments = facts["tool_call_id"], None
    recorded = _answer(facts).get("tool_calls")
    for call in recorded if isinstance(recorded, list) else []:
        function = call.get("function") if isinstance(call, dict) and call.get("id") == call_id else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
    if arguments is None:
        arguments = {key: value for key, value in event["args"].items() if key not in _NO_ARGUMENTS}
    return call_id, call_of(facts["function_name"], arguments, call_id)


def _answer(facts: dict[str, Any]) -> dict[str, Any]:
    response = facts.get("model_response")
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else {}


def _thought(event: dict[str, Any]) -> str:
    return _text(_answer(event["tool_call_metadata"]).get("content"))


def _response_id(event: dict[str, Any]) -> str | None:
    response = event["tool_call_metadata"].get("model_response")
    found = response.get("id") if isinstance(response, dict) else None
    return found if isinstance(found, str) and found else None


def _forgotten(log: EventLog, args: dict[str, Any]) -> list[int]:
    named = args.get("forgotten_event_ids")
    if isinstance(named, list):
        return log.forget(found for found in named if is_integer(found))
    first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    return log.forget_range(first, last) if is_integer(first) and is_integer(last) else []


def _content(args: dict[str, Any]) -> str | list[Any]:
    text, images = _text(args.get("content")), args.get("image_urls")
    shown = [url for url in images if isinstance(url, str)] if isinstance(images, list) else []
    if not shown:
        return text
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in shown)]


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _is_event(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    acts = isinstance(entry.get("action"), str) and isinstance(entry.get("args"), dict)
    return acts or (isinstance(entry.get("observation"), str) and isinstance(entry.get("extras"), dict))
