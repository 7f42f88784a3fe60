"""Puts `compact_messages` before three judges made elsewhere, prints what they say, and writes it to `results/judges*.json`.

    python -m benchmarks.judges.run [--small]

It needs the dependency group `judges`. With `--small` it takes the first session of each corpus and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from typing import Any

from benchmarks.judges import conformance, side_constraints, survival
from benchmarks.measuring import table, versions, write

KIT, HARNESS, CONPACT = "compaction-conformance-kit", "jev-harness-sdk", "conpact"
GIVEN = (
    "`ctxguard` is `compact_messages(messages)` with its defaults: extractive, no model. `rules given` passes the session's safety rules and hard "
    "constraints, each in its latest wording, as `constraints`. `last word` sets `similar_rules: replace` and keeps one turn."
)


def main() -> int:
    """Measure and print; without `--small`, write the results."""
    parser = argparse.ArgumentParser(description="Run the judges against compact_messages.")
    parser.add_argument("--small", action="store_true", help="one session of each corpus; write nothing")
    is_small = parser.parse_args().small
    survived, by_corpus = conformance.survival(seeds=1 if is_small else None)
    print(table(survived), end="\n\n")
    print(table(by_corpus), end="\n\n")
    held = conformance.stale(seeds=1 if is_small else None)
    print(table(held), end="\n\n")
    further = conformance.beyond(sessions=1 if is_small else 100)
    print(table(further), end="\n\n")
    ranked = conformance.leaderboard(seeds=(1,)) if is_small else conformance.leaderboard()
    print(table(ranked), end="\n\n")
    recalled = survival.survival(filler=(40,) if is_small else (40, 200))
    print(table(recalled), end="\n\n")
    length, among = (3_000, side_constraints.haystacks(40)[:1]) if is_small else (12_000, side_constraints.haystacks(400))
    few: dict[str, Any] = {"positions": ("middle",), "framed": (False,)} if is_small else {}
    constrained = side_constraints.retention(among, length=length, **few)
    print(table(constrained), end="\n\n")
    together = side_constraints.several(among, length=length)
    print(table(together))
    if is_small:
        return 0
    own = {name: found for name, found in versions().items() if name in ("langchain-ctxguard", "langchain-core", "python")}
    kit, harness, conpact = ({name: version(name), **own} for name in (KIT, HARNESS, CONPACT))
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
        "judges-stale",
        measured=(
            f"{KIT}, the same sessions and rounds: the values restated later of which the old one is still shown, by what was planted; whether it "
            "stands in a message that is kept as it was said, or in a quote; in how many sessions. `ctxguard` with its defaults."
        ),
        against="what the kit counts as out of date.",
        versions=kit,
        rows=held,
    )
    write(
        "judges-beyond",
        measured=(
            f"{KIT}, {conformance.ROUNDS} rounds without a budget, 100 sessions of each generator with seeds that were never looked at, the "
            f"second hundred behind the documented ones: the same columns. {GIVEN}"
        ),
        against="the kit's compactor that holds most, in the same run.",
        versions=kit,
        rows=further,
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
    write(
        "judges-constraints",
        measured=(
            f"{CONPACT}: each of its 15 side constraints, said once (`multi`: three times) in a conversation of {length:,} tokens, with and "
            f"without its framing, {side_constraints.ROUNDS} rounds with more said in between. `retention`: percent of constraints its judge "
            "finds; `compliant`: percent of its probes answered as the constraint wants; `without`: the same where it was never said; output in "
            "percent of the characters before. Judge and probe are asked over loopback and look for the exact words: they show what is in "
            "sight, not what a model does. Nothing is passed as a constraint. Its data set is not in the package: the conversations are filler "
            "of ours and published transcripts."
        ),
        against="its own `RecentN(5)` over the same rounds.",
        versions=conpact,
        rows=constrained,
    )
    write(
        "judges-constraints-together",
        measured=f"{CONPACT}: five of its constraints at once, each said once at another place of a conversation, "
        f"{side_constraints.ROUNDS} rounds: how many of all 15 still stand there word for word.",
        against="its own `RecentN(5)` over the same rounds.",
        versions=conpact,
        rows=together,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
