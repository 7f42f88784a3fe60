"""What the extractive summary of a real transcript still holds: recall over labelled pieces, what it costs, and that it repeats itself.

It prints what it measured and writes `results/extractive.json`; with `--small` it writes nothing and leaves the timing out. Every labelled
conversation is compacted down to its last turn; a piece counts as held if it stands word for word in what the model would see. The conversations are
parted once and for all by a hash of their id. The first rules were found on `tune` alone; since then the misses of both parts were looked at, so
`held` is no longer held out. The transcripts are no part of the repository: `--transcripts` names their folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from measuring import conversation, cores, cpu_seconds_of, median, table, write

from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.backends.tokens import counter_for
from langchain_ctxguard.backends.transcripts import Run, read_transcript
from langchain_ctxguard.compact import Compaction, compact_messages
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY, calls_of, text_of
from langchain_ctxguard.core.sentences import has_amount
from langchain_ctxguard.domain.config import DEFAULT_WINDOW, CompactionSettings
from langchain_ctxguard.ports import SummaryRequest

ROOT = Path(__file__).resolve().parents[1]
LABELLED = ROOT / "benchmarks" / "labelled" / "extractive.jsonl"
TRANSCRIPTS = ROOT.parent / "shared" / "field" / "transcripts"
TUNE_PERCENT = 60
KINDS = ("intent", "open_items", "decisions", "artifacts", "errors", "corrections", "latest_values")
BOUND = max(CompactionSettings().summary_tokens, DEFAULT_WINDOW * 2 // 100)
"""Tokens a summary may take: `summary_tokens`, or two in a hundred of the default window."""

SIZE = 1_000
"""Messages of the shorter conversation that time is taken on."""


@dataclass(frozen=True)
class Held:
    """One labelled conversation, and what became of its labels."""

    item: Mapping[str, Any]
    run: Run
    compaction: Compaction
    summary_tokens: int
    found: Mapping[str, Mapping[str, str | None]]
    """Kind -> piece -> where it stands: `summary`, `evidence`, `kept`, or `None`."""

    @property
    def is_compacted(self) -> bool:
        """Whether a summary was worth its frame; else the whole conversation is still there."""
        return self.compaction.outcome in ("accepted", "repaired")


def items() -> list[dict[str, Any]]:
    """Return the labelled conversations."""
    return [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines() if line]


def is_tune(item: Mapping[str, Any]) -> bool:
    """Say whether a conversation is of the part that was looked at."""
    return int(hashlib.sha256(item["id"].encode()).hexdigest(), 16) % 100 < TUNE_PERCENT


def run_of(item: Mapping[str, Any], folder: Path) -> Run:
    """Return the conversation an item labels."""
    runs = _runs(folder / item["file"])
    wanted = item["conversation"]
    if wanted is None:
        return runs[0]
    if isinstance(wanted, int) and item["file"].startswith("tau-bench"):
        return runs[wanted]
    return next(run for run in runs if run.name in (str(wanted), f"convo {wanted}"))


@cache
def _runs(path: Path) -> tuple[Run, ...]:
    return tuple(read_transcript(path).runs)


def pieces(item: Mapping[str, Any], kind: str) -> list[str]:
    """Return the pieces of a kind; of a value the value alone, since its name is ours."""
    return [piece if isinstance(piece, str) else str(piece[1]) for piece in item[kind]]


def held(item: Mapping[str, Any], folder: Path) -> Held:
    """Compact one conversation and look for its pieces."""
    run = run_of(item, folder)
    compaction = compact_messages(run.messages, keep=("turns", 1), summarizer=ExtractiveSummarizer())
    texts = {"summary": "", "evidence": "", "kept": ""}
    for message in compaction.messages:
        place = {SUMMARY: "summary", EVIDENCE: "evidence"}.get(message.name or "", "kept")
        texts[place] += "\n" + "\n".join(_told(message))
    shown = {place: _folded(text) for place, text in texts.items()}
    found = {kind: {piece: _place(piece, shown) for piece in pieces(item, kind)} for kind in KINDS}
    summaries = [message for message in compaction.messages if message.name == SUMMARY]
    return Held(item, run, compaction, counter_for()(summaries) if summaries else 0, found)


def _told(message: BaseMessage) -> Iterator[str]:
    yield text_of(message)
    for call in calls_of(message):
        yield from _strings(call.arguments)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
    else:
        yield str(value)


def _place(piece: str, shown: Mapping[str, str]) -> str | None:
    # Evidence quotes arguments as JSON, and a tag in a quote is written so that it closes nothing.
    forms = {piece, json.dumps(piece, ensure_ascii=False)[1:-1], piece.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")}
    return next((place for place, text in shown.items() if any(_folded(form) in text for form in forms)), None)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def recall(results: Sequence[Held], part: str) -> list[dict[str, Any]]:
    """Return a row for each kind: how many pieces there are, how many are seen, and where."""
    rows = []
    for kind in KINDS:
        places = Counter(place for each in results for place in each.found[kind].values())
        total = places.total()
        told = places["summary"] + places["evidence"]
        rows.append(
            {
                "part": part,
                "kind": kind,
                "labels": total,
                "seen": total - places[None],
                "seen_percent": _percent(total - places[None], total),
                "told": told,
                "told_percent": _percent(told, total),
                **{f"in_{place}": places[place] for place in ("summary", "evidence", "kept")},
            }
        )
    return rows


def _percent(some: int, total: int) -> float | None:
    return round(100 * some / total, 1) if total else None


def by_part(results: Sequence[Held]) -> list[dict[str, Any]]:
    """Return the rows of the whole, of what was tuned on and what was not, and of the conversations that were really compacted."""
    parts = {
        "whole": results,
        "tune": [each for each in results if is_tune(each.item)],
        "held": [each for each in results if not is_tune(each.item)],
        "compacted": [each for each in results if each.is_compacted],
    }
    return [row for part, some in parts.items() for row in recall(some, part)]


def request_of(messages: Sequence[BaseMessage]) -> SummaryRequest:
    """Return what a summarizer is asked for messages without anything before them."""
    return SummaryRequest(tuple(messages), tuple(message.id or f"m{index}" for index, message in enumerate(messages)), None, BOUND, counter_for())


def seconds_per_megabyte(messages: Sequence[BaseMessage]) -> float:
    """Return the CPU time a megabyte of text takes, median of three."""
    size = sum(len(text_of(message).encode()) for message in messages)
    request = request_of(messages)
    return median([cpu_seconds_of(ExtractiveSummarizer().summarize, request) for _ in range(3)]) / (size / 1e6)


def figures_of(results: Sequence[Held], folder: Path, *, is_small: bool) -> dict[str, Any]:
    """Return what holds of all of them: the same twice, within the bound, linear."""
    compacted = [each for each in results if each.is_compacted]
    found: dict[str, Any] = {
        "conversations": len(results),
        "compacted": len(compacted),
        "labels": sum(len(found) for each in results for found in each.found.values()),
        "same_twice": all(held(each.item, folder).compaction.messages == each.compaction.messages for each in results),
        "summary_tokens_median": median([each.summary_tokens for each in compacted]),
        "summary_tokens_most": max(each.summary_tokens for each in compacted),
        "over_bound": sum(each.summary_tokens > BOUND for each in compacted),
        **_amounts(results),
        "tokens_before": sum(each.compaction.tokens_before for each in compacted),
        "tokens_after": sum(each.compaction.tokens_after for each in compacted),
    }
    if not is_small:
        found["seconds_per_mb"] = round(seconds_per_megabyte(conversation(SIZE)), 2)
        found["seconds_per_mb_at_four_times"] = round(seconds_per_megabyte(conversation(4 * SIZE)), 2)
    return found


def _amounts(results: Sequence[Held]) -> dict[str, int]:
    """Return what became of the labelled values that are amounts or dates: seen, or in a summary that counts what it left out."""
    found = [(each, place) for each in results for piece, place in each.found["latest_values"].items() if has_amount(piece)]
    missed = [each for each, place in found if place is None]
    counts = sum(any("\nNot listed: " in text_of(message) for message in each.compaction.messages if message.name == SUMMARY) for each in missed)
    return {"amounts_labels": len(found), "amounts_seen": len(found) - len(missed), "amounts_counted": counts}


def main() -> int:
    """Measure and print; without `--small`, write the result. Two runs that differ, or a summary over its bound, are a failure."""
    parser = argparse.ArgumentParser(description="Measure what extractive summaries of real transcripts still hold.")
    parser.add_argument("--small", action="store_true", help="write nothing, take no time")
    parser.add_argument("--transcripts", type=Path, default=TRANSCRIPTS, help="the folder of the transcripts")
    parser.add_argument("--missed", action="store_true", help="list what was missed in `tune`")
    given = parser.parse_args()
    if not given.transcripts.is_dir():
        print(f"Nothing measured: no transcripts in {given.transcripts}. Name their folder with --transcripts.")
        return 0
    results = [held(item, given.transcripts) for item in items()]
    rows = by_part(results)
    figures = figures_of(results, given.transcripts, is_small=given.small)
    print(table(rows), json.dumps(figures, indent=2), sep="\n\n")
    if given.missed:
        for each in filter(lambda each: is_tune(each.item), results):
            gone = {kind: [piece for piece, place in found.items() if place is None] for kind, found in each.found.items()}
            print(each.item["id"], each.item["file"], {kind: some for kind, some in gone.items() if some}, sep="  ")
    if not given.small:
        write(
            "extractive",
            measured=(
                '`compact_messages(keep=("turns", 1))` with the extractive summarizer over the conversations of `labelled/extractive.jsonl`: pieces '
                "that stand word for word in what the model would see (`seen`), and in summary and evidence alone (`told`). `tune` and `held` are "
                "parted by a hash of the id; `compacted` leaves out conversations so short that a summary saved nothing and all of it was kept. "
                "Both parts were looked at. `amounts_*`: of `latest_values` those with an amount or a date; `amounts_counted` of the missed ones "
                "stand in a summary that says how many it left out. "
                f"`seconds_per_mb`: the summarizer alone, CPU time, median of 3 on {cores()}."
            ),
            against="pieces labelled by hand from the transcripts, without the code.",
            rows=rows,
            headline=figures,
        )
    return int(not figures["same_twice"] or figures["over_bound"] > 0)


if __name__ == "__main__":
    sys.exit(main())
