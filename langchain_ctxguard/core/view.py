"""A list that may be an original or a view given back -> the situation a compaction starts from. The same answer for both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langchain_ctxguard.core.compaction import Situation
from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut, is_known_as
from langchain_ctxguard.core.recalled import faded
from langchain_ctxguard.core.render import render_rules, rules_fingerprint
from langchain_ctxguard.core.roles import RULES, is_foreign_summary, text_of
from langchain_ctxguard.core.units import as_given
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.value import digest_of

_PINS = re.compile(rf"\n\n<{RULES} .*?</{RULES}>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """The situation, and why a given head counted for nothing."""

    situation: Situation
    head_fault: str | None = None


def situation_in_original(
    messages: Sequence[BaseMessage],
    head: ContextHead,
    *,
    rules: tuple[Constraint, ...],
    system: Sequence[SystemMessage] = (),
    trust_system_messages: bool = False,
    recalled_for: int = 0,
) -> Found:
    """Return the situation of a conversation given whole (or trimmed), e.g. a graph's state.

    Args:
        messages: The conversation as it is.
        head: The head that belongs to it.
        rules: The rules in force.
        system: System messages that stand outside the list.
        trust_system_messages: Treat system messages inside the list as the application's.
        recalled_for: For how many model calls recalled text stays in view; 0: as long as its message.
    """
    front = parted(messages)
    leading, rest = (*system, *front.system), front.rest
    trusted: tuple[SystemMessage, ...] = ()
    fault = None
    at = find_cut(head.cut, rest) if head.body is not None else 0
    request = None
    if at is None or head.body is None:
        fault = None if head.body is None else "unknown_cut"
        head = ContextHead(version=head.version, cool_down=None if fault else head.cool_down)
        at = 0
    elif head.body.request is not None:
        request = next((message for message in reversed(rest[:at]) if is_known_as(message, head.body.request)), None)
    if trust_system_messages:
        trusted = tuple(message for message in rest if isinstance(message, SystemMessage) and not is_foreign_summary(message))
    tail = [message for message in rest[at:] if not (trust_system_messages and _is_system(message))]
    start = head.cut.position if head.body is not None else 0
    return Found(
        Situation(tail=faded(tail, recalled_for), rules=rules, system=leading, trusted=trusted, head=head, request=request, start=start),
        fault,
    )


def situation_in(
    messages: Sequence[BaseMessage],
    head: ContextHead,
    *,
    rules: tuple[Constraint, ...],
    trust_system_messages: bool = False,
) -> Found:
    """Return the situation of a list that is either the original or a view of `head` with new messages behind it."""
    body = head.body
    messages = as_given(messages)
    pins = {pins_digest(rules)} if rules else set()
    known = frozenset(body.rendered if body is not None else ()) | pins | ({head.pins} if head.pins else set())
    if body is None or not any(_is_rendered(message, known) for message in messages):
        return _without_pins(messages, head, known, rules=rules, trust_system_messages=trust_system_messages)
    has_pins = False
    system: list[SystemMessage] = []
    trusted: list[SystemMessage] = []
    rest: list[BaseMessage] = []
    is_front = True
    for message in messages:
        is_front = is_front and isinstance(message, SystemMessage)
        if _is_rendered(message, known):
            continue
        if is_front and isinstance(message, SystemMessage) and not is_foreign_summary(message):
            plain, after, found = _split_at_pins(message, known)
            has_pins = has_pins or found
            system += [plain] if plain is not None else []
            trusted += after
        elif trust_system_messages and isinstance(message, SystemMessage) and not is_foreign_summary(message):
            trusted.append(message)
        else:
            rest.append(message)
    request = None
    if body.request is not None and rest and is_known_as(rest[0], body.request):
        request, rest = rest[0], rest[1:]
    missing: tuple[str, ...] = ()
    if rules and not has_pins and body.rules_fingerprint == rules_fingerprint(rules):
        shown = "\n".join(text_of(message) for message in messages if isinstance(message, SystemMessage))
        missing = tuple(rule.constraint_id for rule in rules if rule.text not in shown)
    return Found(
        Situation(
            tail=rest,
            rules=rules,
            system=tuple(system),
            trusted=tuple(trusted),
            head=head,
            request=request,
            start=head.cut.position,
            missing_before=missing,
        )
    )


def _is_system(message: BaseMessage) -> bool:
    return isinstance(message, SystemMessage) and not is_foreign_summary(message)


def _without_pins(
    messages: Sequence[BaseMessage],
    head: ContextHead,
    known: frozenset[str],
    *,
    rules: tuple[Constraint, ...],
    trust_system_messages: bool,
) -> Found:
    """Return the situation of an original, or of a view that shows nothing but pins before the conversation."""
    plain: list[BaseMessage] = []
    behind: list[SystemMessage] = []
    is_front = True
    for message in messages:
        # Ours stands at the front; pins in a later one are a copy, and what follows them is nobody's.
        is_front = is_front and isinstance(message, SystemMessage)
        if is_front and isinstance(message, SystemMessage):
            before, after, found = _split_at_pins(message, known)
            plain += [] if before is None else [before]
            behind += after if found else []
        else:
            plain.append(message)
    found_in = situation_in_original(plain, head, rules=rules, trust_system_messages=trust_system_messages)
    if not behind:
        return found_in
    situation = found_in.situation
    return Found(replace(situation, trusted=(*behind, *situation.trusted)), found_in.head_fault)


def pins_digest(rules: Sequence[Constraint]) -> str:
    """Return the digest by which the pins of `rules` are recognised in a view."""
    return _digest(render_rules(rules))


def _digest(text: str) -> str:
    return digest_of(text)[:32]


def _is_rendered(message: BaseMessage, known: frozenset[str]) -> bool:
    return isinstance(message, HumanMessage) and _digest(text_of(message)) in known


def _split_at_pins(message: SystemMessage, known: frozenset[str]) -> tuple[SystemMessage | None, list[SystemMessage], bool]:
    """Return what stood before the pins block, what stood after it, and whether it was there."""
    if isinstance(message.content, str):
        return _split_text_at_pins(message, message.content, known)
    for index, block in enumerate(message.content):
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str) and _digest(text) in known:
            before, after = message.content[:index], message.content[index + 1 :]
            plain = message.model_copy(update={"content": before}) if before else None
            return plain, [message.model_copy(update={"content": [part]}) for part in after], True
    return message, [], False


def _split_text_at_pins(message: SystemMessage, text: str, known: frozenset[str]) -> tuple[SystemMessage | None, list[SystemMessage], bool]:
    """Do the same where the blocks came back as one string, as dicts of OpenAI's form have it."""
    for found in _PINS.finditer(text):
        if _digest(found.group()) in known:
            before, after = text[: found.start()], text[found.end() :]
            plain = message.model_copy(update={"content": before}) if before else None
            return plain, [message.model_copy(update={"content": after.removeprefix("\n\n")})] if after else [], True
    return message, [], False
