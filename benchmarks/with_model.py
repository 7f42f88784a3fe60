"""What a real model does after a compaction: it follows instructions and formats, names the right source, calls the right tool.

    python -m benchmarks.with_model --model openai:gpt-5     needs the provider's package and key; writes `results/with-model-<model>.json`

The model answers and summarizes. Each case also runs uncompacted: what fails there is the model's, and only the difference is the compaction's.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import table, write
from langchain_ctxguard.testing.retention.case import RetentionCase
from langchain_ctxguard.testing.retention.files import read_cases
from langchain_ctxguard.testing.retention.run import run_case

CASES = Path(__file__).parent / "labelled" / "model.retention.yaml"
GROUPS = {
    "instruction": "instruction_compliance",
    "format": "format_compliance",
    "citation": "citation_correct",
    "tool": "wrong_tool_rate",
}
_ACTS = {"called", "not_called", "not_refused", "answer", "stopped", "rounds"}


def rates(cases: Sequence[RetentionCase], way: str, model: Any, *, uncompacted: bool) -> dict[str, Any]:
    """Return the row of one way: percent by group, of what the model did; whether a text was in sight does not count here."""
    good: dict[str, list[bool]] = {group: [] for group in GROUPS}
    for case in cases:
        run = run_case(case, way, model=model, uncompacted=uncompacted)
        good[case.name.split(":", 1)[0]].append(not any(finding.kind in _ACTS for finding in run.findings))
    row: dict[str, Any] = {"strategy": f"{way}{', uncompacted' if uncompacted else ''}", "cases": len(cases)}
    for group, column in GROUPS.items():
        share = round(100 * sum(good[group]) / len(good[group])) if good[group] else None
        row[column] = 100 - share if group == "tool" and share is not None else share
    return row


def main() -> None:
    """Measure, print, and write."""
    from langchain.chat_models import init_chat_model

    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, help="provider:name, as `init_chat_model` takes it")
    parser.add_argument("--strategy", action="append", help="guard and langchain, if none is given")
    given = parser.parse_args()
    model, cases = init_chat_model(given.model), read_cases(CASES)
    ways = given.strategy or ["guard", "langchain"]
    rows = [rates(cases, way, model, uncompacted=uncompacted) for way in ways for uncompacted in (False, True)]
    print(table(rows))
    write(
        f"with-model-{re.sub('[^a-z0-9]+', '-', given.model.casefold()).strip('-')}",
        measured=f"{len(cases)} cases (`benchmarks/labelled/model.retention.yaml`), answered and summarized by {given.model}, once each: percent of "
        "cases in which the model did what the instruction, the format, the source asked for; percent in which it called a wrong tool or none",
        against="the same cases without compaction",
        rows=rows,
    )


if __name__ == "__main__":
    main()
