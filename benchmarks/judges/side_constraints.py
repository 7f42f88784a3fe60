"""conpact: does a constraint that somebody said in passing survive a compaction, wherever it was said?

Its data set is not in the package, so the conversations are ours: filler of the retention kit, and real transcripts where they are there.
Its 15 constraints, its injection, its judge's and its probe's prompts are used as they are.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from conpact.compactors import RecentN
from conpact.constraints import SCS
from conpact.evaluate import Endpoint
from conpact.evaluate import evaluate as judged
from conpact.generate import build_instances
from conpact.instance import Instance

from benchmarks.judges.adapters import as_dict
from benchmarks.judges.endpoint import endpoint
from langchain_ctxguard import compact_messages
from langchain_ctxguard.backends.transcripts import read_transcript
from langchain_ctxguard.core.roles import speaker_of, text_of
from langchain_ctxguard.testing.retention.replay import filler

POSITIONS = ("top", "middle", "bottom", "multi")
ROUNDS = 3
_TURNS_BETWEEN = 20
"""Turns said between two rounds."""

_ROLES = {"user": "user", "ai": "assistant", "tool": "user", "system": "system"}
_FIELD = Path(__file__).resolve().parents[3] / "shared/field/transcripts"
_REAL = ("deerflow_thread_4f3e55ee.json", "deerflow_thread_7cfa5f8f.json")

Message = dict[str, str]
Compactor = Callable[[list[Message]], list[Message]]


def haystacks(turns: int) -> list[dict[str, Any]]:
    """Return conversations without a constraint, in the form conpact cuts and injects."""
    own = [message for number in range(turns) for message in _turn(number)]
    found = [_haystack("filler", own)]
    for name in _REAL:
        if (path := _FIELD / name).is_file():
            spoken = [
                {"role": _ROLES[speaker_of(message)], "content": text_of(message)}
                for message in read_transcript(path).runs[0].messages
                if speaker_of(message) != "system" and text_of(message).strip()
            ]
            found.append(_haystack(path.stem, spoken))
    return found


def guarded(messages: list[Message]) -> list[Message]:
    """Compact with `compact_messages`, its defaults, and no constraint given: `ROUNDS` rounds, with more said between them."""
    head, given = None, [as_dict(message["role"], message["content"]) for message in messages]
    for number in range(ROUNDS):
        done = compact_messages(given, previous=head)
        head = done.head
        given = [*done.messages, *(as_dict(one["role"], one["content"]) for one in _between(number))]
    return [{"role": _ROLES[speaker_of(message)], "content": text_of(message)} for message in done.messages]


def recent(messages: list[Message]) -> list[Message]:
    """Do what conpact's `RecentN` does, over the same rounds."""
    keep = RecentN()
    for number in range(ROUNDS):
        messages = keep(messages if number == 0 else [*messages, *_between(number - 1)])
    return messages


def retention(
    among: Sequence[dict[str, Any]], *, length: int, positions: Sequence[str] = POSITIONS, framed: Sequence[bool] = (False, True)
) -> list[dict[str, Any]]:
    """Return, by compactor, conversation and place, how often the judge finds the constraint and the probe obeys it."""
    rows: list[dict[str, Any]] = []
    for name, compactor in (("RecentN(5)", recent), ("ctxguard", guarded)):
        for haystack in among:
            for position in positions:
                for is_framed in framed:
                    made = build_instances([haystack], length=length, position=position, repeat=3, strict=is_framed, direct=is_framed)
                    rows.append(
                        {"compactor": name, "conversation": haystack["source"], "said": position, "framed": is_framed, **_scores(made, compactor)}
                    )
    return rows


def several(among: Sequence[dict[str, Any]], *, length: int, at_once: int = 5) -> list[dict[str, Any]]:
    """Return how many of several constraints, said at different places of one conversation, are left."""
    rows = []
    for name, compactor in (("RecentN(5)", recent), ("ctxguard", guarded)):
        for haystack in among:
            found = total = 0
            for start in range(0, len(SCS), at_once):
                chosen = [sc["sc"] for sc in SCS[start : start + at_once]]
                messages = [dict(message) for message in haystack["messages"][: _cut(haystack["messages"], length)]]
                users = [place for place, message in enumerate(messages) if message["role"] == "user"]
                for number, text in enumerate(chosen):
                    at = users[(number + 1) * len(users) // (at_once + 1)]
                    messages[at]["content"] = f"{text}\n{messages[at]['content']}"
                text = "\n".join(message["content"] for message in compactor(messages))
                found += sum(_is_in(one, text) for one in chosen)
                total += len(chosen)
            rows.append({"compactor": name, "conversation": haystack["source"], "said": f"{at_once} at once", "kept": found, "of": total})
    return rows


def _scores(made: list[Instance], compactor: Compactor) -> dict[str, Any]:
    with endpoint({"judge": _judge, "probe": _probe}) as url, tempfile.TemporaryDirectory() as folder:
        judge, probe = (Endpoint(model=name, base_url=url, api_key="none") for name in ("judge", "probe"))
        (row,) = [
            row for row in judged(made, compactor, out_dir=folder, judge=judge, probe=probe, compact_workers=1, workers=2) if row["sc_type"] == "all"
        ]
        compacted = [json.loads(line)["compacted"] for line in (Path(folder) / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    before = sum(len(message["content"]) for one in made for message in one.messages)
    after = sum(len(message["content"]) for messages in compacted for message in messages)
    return {
        "instances": row["n"],
        "retention": round(row["retention_rate_pct"]),
        "compliant": round(row["compaction_compliance_pct"]),
        "without": round(row["full_without_sc_compliance_pct"]),
        "output": round(100 * after / before),
    }


def _judge(messages: list[dict[str, Any]]) -> str:
    """Say YES where the constraint stands word for word in the context."""
    constraint, context = messages[-1]["content"].removeprefix("[Injected SSSC]\n").split("[Compacted Context]", 1)
    return "YES" if _is_in(constraint.strip(), context) else "NO"


def _probe(messages: list[dict[str, Any]]) -> str:
    """Choose what complies where the constraint is in sight, and the other where it is not."""
    *context, asked = messages
    sight = "\n".join(str(message["content"]) for message in context) + asked["content"].split("Assume that you are", 1)[0]
    for sc in SCS:
        if f'"{sc["probe"]}"' in asked["content"] and sc["correct_answer"] in asked["content"]:
            wanted = sc["correct_answer"] if _is_in(sc["sc"], sight) else sc["incorrect_answer"]
            return "A" if f"A) {wanted}" in asked["content"] else "B"
    return "A"


def _is_in(constraint: str, text: str) -> bool:
    # A framing makes its first letter small.
    return constraint[1:] in text


def _turn(number: int) -> list[Message]:
    played = filler("en", number)
    return [{"role": "user", "content": played.messages[0][1]}, {"role": "assistant", "content": played.replies[0].text}]


def _between(number: int) -> list[Message]:
    first = 1_000 + number * _TURNS_BETWEEN
    return [message for place in range(first, first + _TURNS_BETWEEN) for message in _turn(place)]


def _haystack(source: str, messages: list[Message]) -> dict[str, Any]:
    tokens = [max(1, len(message["content"]) // 4) for message in messages]
    return {
        "haystack_id": source,
        "source": source,
        "messages": messages,
        "message_tokens": tokens,
        "token_length": sum(tokens),
        "system_prompt": "You are a helpful assistant.",
        "source_conversation_count": 1,
    }


def _cut(messages: Sequence[Message], length: int) -> int:
    total = 0
    for place, message in enumerate(messages):
        total += len(message["content"]) // 4
        if total > length:
            return place
    return len(messages)
