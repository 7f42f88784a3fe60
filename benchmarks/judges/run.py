"""Puts `compact_messages` before two judges made elsewhere, prints what they say, and writes it to `results/judges*.json`.

    python -m benchmarks.judges.run [--small]

It needs the dependency group `judges`. With `--small` it takes the first session of each corpus and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version

from benchmarks.judges import conformance, survival
from benchmarks.measuring import table, versions, write

KIT, HARNESS = "compaction-conformance-kit", "jev-harness-sdk"
GIVEN = (
    "`ctxguard` is `compact_messages(messages)` with its defaults: extractive, no model. `rules given` passes the session's safety rules and hard "
    "constraints, each in its latest wording, as `constraints`."
)


def main() -> int:
    """Measure and print; without `--small`, write the results."""
    parser = argparse.ArgumentParser(description="Run the judges against compact_messages.")
    parser.add_argument("--small", action="store_true", help="one session of each corpus; write nothing")
    is_small = parser.parse_args().small
    survived, by_corpus = conformance.survival(seeds=1 if is_small else None)
    print(table(survived), end="\n\n")
    print(table(by_corpus), end="\n\n")
    ranked = conformance.leaderboard(seeds=(1,)) if is_small else conformance.leaderboard()
    print(table(ranked), end="\n\n")
    recalled = survival.survival(filler=(40,) if is_small else (40, 200))
    print(table(recalled))
    if is_small:
        return 0
    own = {name: found for name, found in versions().items() if name in ("langchain-ctxguard", "langchain-core", "python")}
    kit, harness = {KIT: version(KIT), **own}, {HARNESS: version(HARNESS), **own}
    write(
        "judges",
        measured=(
            f"{KIT}, {conformance.ROUNDS} rounds without a budget, sessions of 4,000 to 9,000 characters: percent of what was planted that the kit "
            "finds in the text after a round, by type after the last; of the values restated later, how many of the latest and how many of the old "
            f"are still there; percent of look-alike pairs of which both are; output in percent of the session's characters. {GIVEN}"
        ),
        against="the kit's own compactors in the same run; its checklists find planted lines by the words the kit plants them with.",
        versions=kit,
        rows=survived,
        by_corpus=by_corpus,
    )
    write(
        "judges-budget",
        measured=(
            f"{KIT}, its benchmark: {conformance.ROUNDS} rounds within a budget, in percent of the session's characters, 4 randomized and 8 "
            "paraphrased sessions; survival in percent; `refused`: sessions in which what must stay did not fit the budget, handed back as they "
            f"were. {GIVEN}"
        ),
        against="the kit's own compactors in the same run, in the kit's order of rank.",
        versions=kit,
        rows=ranked,
    )
    write(
        "judges-jev",
        measured=(
            f"{HARNESS}, simulated compaction of a project with instruction files of six kinds, {survival.ROUNDS} rounds: of how many files the "
            "planted codeword is still there, and how many planted header rules; output after one round in percent of the characters before. The "
            "harness puts the files in front as system messages; its `--summarizer` hands over texts without roles. `rules given` passes the "
            "planted lines as `constraints`."
        ),
        against="the harness's own strategies in the same run; `claude-code-documented` is its model of a documentation.",
        versions=harness,
        rows=recalled,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
