"""Whether a value that a person gave anew is told no more, and one that still holds is: 320 labelled pairs of sentences, each in a conversation.

It prints what it measured and writes `results/restated.json`; with `--small` it takes every eighth pair and writes nothing. What the labels mean is
said in `labelled/README.md`. What went wrong in `tune` was looked at; `held` was seen as figures, but for two of its mistakes. It exits with 1 where
a value that still holds is gone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import table, write

from langchain_ctxguard import compact_messages
from langchain_ctxguard.core.roles import text_of

LABELLED = Path(__file__).resolve().parent / "labelled" / "restated.jsonl"
_BETWEEN = 6
_FILLER = {"en": "Walking through part {} of the design notes with the team.", "zh": "我们接着看设计说明的第{}部分。"}


def pairs() -> list[dict[str, Any]]:
    """Return the labelled pairs."""
    return [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines() if line]


def view_of(pair: dict[str, Any]) -> str:
    """Return what the model sees once both sentences have left the view, as one text."""
    said = [pair["first"], *_talk(pair, 1), pair["second"], *_talk(pair, 1 + _BETWEEN)]
    messages = [{"role": role, "content": text} for words in said for role, text in (("user", words), ("assistant", "Okay."))]
    return "\n".join(text_of(message) for message in compact_messages(messages, keep=("turns", 1)).messages)


def _talk(pair: dict[str, Any], start: int) -> list[str]:
    return [_FILLER[pair["language"]].format(number) for number in range(start, start + _BETWEEN)]


def is_told(pair: dict[str, Any], view: str) -> bool:
    """Say whether the first value is still told: where the second sentence gives another, somewhere else than in that sentence."""
    second = "" if pair["new"] == pair["old"] else pair["second"]
    return any(pair["old"] in (line.replace(second, "") if second else line) for line in view.splitlines())


def tally(some: Sequence[dict[str, Any]], told: dict[str, bool], **named: str) -> dict[str, Any]:
    """Return one row: of the values given anew, how many are gone; of those that hold, how many are there."""
    anew, holding = [pair for pair in some if pair["replaced"]], [pair for pair in some if not pair["replaced"]]
    return {
        **named,
        "given_anew": len(anew),
        "told_no_more": sum(not told[pair["id"]] for pair in anew),
        "percent": round(100 * sum(not told[pair["id"]] for pair in anew) / len(anew)) if anew else None,
        "still_hold": len(holding),
        "wrongly_gone": sum(not told[pair["id"]] for pair in holding),
    }


def main() -> int:
    """Measure and print; without `--small`, write the result."""
    parser = argparse.ArgumentParser(description="Measure what becomes of values that are given anew.")
    parser.add_argument("--small", action="store_true", help="every eighth pair; write nothing")
    is_small = parser.parse_args().small
    labelled = pairs()[:: 8 if is_small else 1]
    told = {pair["id"]: is_told(pair, view_of(pair)) for pair in labelled}
    rows = [
        tally([pair for pair in labelled if pair["part"] == part and language in {"any", pair["language"]}], told, part=part, language=language)
        for part in ("tune", "held")
        for language in ("en", "zh", "any")
    ]
    rows.append(tally(labelled, told, part="all", language="any"))
    kinds = [tally([pair for pair in labelled if pair["kind"] == kind], told, kind=kind) for kind in dict.fromkeys(pair["kind"] for pair in labelled)]
    print(table(rows), table(kinds), sep="\n\n")
    if not is_small:
        write(
            "restated",
            measured=(
                "`labelled/restated.jsonl`: each pair of sentences in a conversation of 14 turns, compacted once by `compact_messages` with one turn "
                "kept. Of the values the second sentence gives anew, how many stand nowhere any more but in that sentence; of those that still hold, "
                "how many are gone. What went wrong in `tune` was looked at; of `held` two such mistakes."
            ),
            against="labels given by hand without the code.",
            rows=rows,
            kinds=kinds,
        )
    return int(any(row["wrongly_gone"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
