"""How well `classify_retention` names what became of a rule: confusion tables over the labelled pairs, and what it costs.

It prints what it measured and writes `results/retention.json`; with `--small` it writes nothing. The pairs are parted once and for all by a hash of
their id: words and thresholds were worked out on `tune`, `held` was looked at only as figures by class, reason and kind. `second` is a set written
by another hand after the classifier; it is reported and nothing was changed for it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import conversation, cores, cpu_seconds_of, median, table, write

from langchain_ctxguard.core.retention import check_retention, classify_retention, offending_sentences
from langchain_ctxguard.domain.retention import Retention

LABELLED = Path(__file__).resolve().parent / "labelled"
TUNE_PERCENT = 60
CLASSES = tuple(Retention)
LOST = (Retention.WEAKENED, Retention.CONTRADICTED, Retention.MUTATED, Retention.DROPPED)
RULES = 200
TEXT_LENGTH = 50_000


def pairs(name: str = "retention") -> list[dict[str, str]]:
    """Return the labelled pairs."""
    lines = (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def is_tune(pair: dict[str, str]) -> bool:
    """Say whether a pair is of the part that was looked at."""
    return int(hashlib.sha256(pair["id"].encode()).hexdigest(), 16) % 100 < TUNE_PERCENT


def parts(labelled: Sequence[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Return the pairs by part: whole, tune, held, and by language."""
    found = {"whole": list(labelled), "tune": [pair for pair in labelled if is_tune(pair)], "held": [pair for pair in labelled if not is_tune(pair)]}
    for language in sorted({pair["lang"] for pair in labelled}):
        found[language] = [pair for pair in labelled if pair["lang"] == language]
    return found


def verdicts(labelled: Sequence[dict[str, str]]) -> dict[str, Retention]:
    """Return what the classifier says, by the id of the pair."""
    return {pair["id"]: classify_retention(pair["constraint"], pair["before"], pair["after"]) for pair in labelled}


def confusion(labelled: Sequence[dict[str, str]], said: dict[str, Retention], part: str) -> list[dict[str, Any]]:
    """Return the row of each label: how often each class was said."""
    counts = Counter((pair["label"], said[pair["id"]]) for pair in labelled)
    rows = []
    for label in CLASSES:
        total = sum(counts[label, other] for other in CLASSES)
        named = {other.value: counts[label, other] for other in CLASSES}
        rows.append({"part": part, "label": label.value, **named, "right_percent": round(100 * counts[label, label] / total, 1) if total else None})
    return rows


def headline(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures that are held as floors, by part."""
    found = {}
    for part in dict.fromkeys(row["part"] for row in rows):
        by_label = {row["label"]: row for row in rows if row["part"] == part}
        kept = [by_label["preserved"], by_label["paraphrased"]]
        alarms = sum(row[label.value] for row in kept for label in LOST)
        found[part] = {
            "lost_said_preserved": sum(by_label[label.value]["preserved"] for label in LOST),
            "lost_said_paraphrased": sum(by_label[label.value]["paraphrased"] for label in LOST),
            **{f"{label.value}_right_percent": by_label[label.value]["right_percent"] for label in (*LOST, Retention.PARAPHRASED)},
            "false_alarms": alarms,
            "false_alarm_percent": round(100 * alarms / sum(row[label.value] for row in kept for label in CLASSES), 1),
        }
    return found


def speed(labelled: Sequence[dict[str, str]]) -> dict[str, float]:
    """Return the milliseconds of 200 rules against 50,000 characters: the set's own texts, then a conversation that speaks of the same things."""
    rules = (sorted({pair["constraint"] for pair in labelled}) * 2)[:RULES]
    own = " ".join(pair["after"] for pair in labelled)[:TEXT_LENGTH]
    other = "\n".join(str(message.content) for message in conversation(110))[:TEXT_LENGTH]
    found = {}
    for name, text in (("set", own), ("conversation", other)):
        for check in (check_retention, offending_sentences):
            check(rules, text)
            found[f"{check.__name__}_{name}_ms"] = round(1e3 * median([cpu_seconds_of(check, rules, text) for _ in range(3)]), 1)
    return found


def main() -> int:
    """Measure and print; without `--small`, write the result. Anything lost that is called preserved is a failure."""
    parser = argparse.ArgumentParser(description="Measure how well the retention classifier names what became of a rule.")
    parser.add_argument("--small", action="store_true", help="write nothing")
    is_small = parser.parse_args().small
    labelled = pairs()
    said = verdicts(labelled)
    rows = [row for part, some in parts(labelled).items() for row in confusion(some, said, part)]
    second = pairs("retention_second")
    rows += confusion(second, verdicts(second), "second")
    figures = {**headline(rows), "pairs": len(labelled), **speed(labelled)}
    print(table(rows), json.dumps(figures, indent=2), sep="\n\n")
    if not is_small:
        write(
            "retention",
            measured=(
                "`classify_retention` over `labelled/retention.jsonl`: one row for each label, how often each class was said. `tune` and `held` are "
                "parted by a hash of the id; `second` is `labelled/retention_second.jsonl`, written afterwards and not tuned for. "
                f"`*_ms`: {RULES} rules against {TEXT_LENGTH:,} characters, CPU time, median of 3 on {cores()}."
            ),
            against="labels given by hand before the classifier was written.",
            rows=rows,
            headline=figures,
        )
    return int(figures["whole"]["lost_said_preserved"] > 0)


if __name__ == "__main__":
    sys.exit(main())
