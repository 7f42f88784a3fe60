"""Runs compaction-conformance-kit: its corpora, its probes, its own compactors, and ours beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compaction_kit.benchmark import run_budget_benchmark
from compaction_kit.canaries import Canary, CanaryType, seeded_canaries
from compaction_kit.cli import COMPACTORS
from compaction_kit.compactors import Compactor
from compaction_kit.corpus import build_random_session
from compaction_kit.generated import build_generated_session
from compaction_kit.runner import run_conformance
from compaction_kit.semantic_corpus import build_semantic_heldout_session, build_semantic_session
from compaction_kit.session import SeededSession, build_seeded_session

from benchmarks.judges.adapters import GuardCompactor
from langchain_ctxguard import GuardConfig

ROUNDS = 5
RULE_TYPES = (CanaryType.SAFETY_RULE, CanaryType.HARD_CONSTRAINT)
OURS, OURS_WITH_RULES, LAST_WORD = "ctxguard", "ctxguard, rules given", "ctxguard, last word"
LAST_WORD_SETTINGS = {"config": GuardConfig.from_dict({"similar_rules": "replace"}), "keep": ("turns", 1)}
"""For whoever corrects a rule by saying it again: the later of two alike takes the place of the earlier, and one turn stays as it was said."""

BEYOND = ("semantic-checklist", OURS, LAST_WORD)
"""Whom further sessions are put before: ours, and of the kit's own the one that holds most."""

_LOOKED_AT = 100
"""How many sessions behind the documented ones of each generator were looked at while restated values were worked on."""

Session = tuple[SeededSession, list[Canary], list[tuple[str, str]]]
"""A session, what is planted in it, and the pairs that look alike and must both stay."""


def _seeded(_seed: int) -> Session:
    return build_seeded_session(), seeded_canaries(), []


def _semantic(seed: int) -> Session:
    session, canaries, meta = build_semantic_session(seed)
    return session, canaries, meta["distinct_pairs"]


def _heldout(seed: int) -> Session:
    session, canaries, meta = build_semantic_heldout_session(seed)
    return session, canaries, meta["distinct_pairs"]


CORPORA: dict[str, tuple[Callable[[int], Session], range]] = {
    "seeded": (_seeded, range(1, 2)),
    "randomized": (lambda seed: (*build_random_session(seed), []), range(1, 13)),
    "generated": (lambda seed: (*build_generated_session(seed), []), range(1, 13)),
    "paraphrased": (_semantic, range(1, 9)),
    "paraphrased, held out": (_heldout, range(1, 9)),
}
"""The kit's corpora, with the seeds its documentation and command line take."""


def rule_ids(canaries: Iterable[Canary]) -> frozenset[str]:
    """Return the canaries the kit calls safety rules and hard constraints."""
    return frozenset(canary.id for canary in canaries if canary.type in RULE_TYPES)


def subjects(canaries: Sequence[Canary]) -> Mapping[str, Callable[[], Compactor]]:
    """Return the kit's compactors and ours: with its defaults, with rules given, and where the last word holds."""
    rules = rule_ids(canaries)
    return {
        **COMPACTORS,
        OURS: GuardCompactor,
        OURS_WITH_RULES: lambda: GuardCompactor(OURS_WITH_RULES, rules),
        LAST_WORD: lambda: GuardCompactor(LAST_WORD, settings=LAST_WORD_SETTINGS),
    }


@dataclass
class _Outcome:
    """What the kit found after one session."""

    first: dict[str, bool]
    last: dict[str, bool]
    kinds: dict[str, CanaryType]
    updates: list[tuple[bool, bool]]
    """Of each value restated later: is the latest there, is the old one."""

    pairs: list[bool]
    share: float
    """Characters after the last round, as a share of the session's."""


def survival(*, seeds: int | None = None, only: Collection[str] = ()) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row for each compactor over all corpora, and one for each corpus and compactor.

    Args:
        seeds: Take only the first few sessions of each corpus.
        only: Take only these compactors.
    """
    by_corpus: list[dict[str, Any]] = []
    pooled: dict[str, list[_Outcome]] = {}
    for corpus, (build, all_seeds) in CORPORA.items():
        sessions = [build(seed) for seed in all_seeds[:seeds]]
        for name in only or subjects(()):
            outcomes = [_outcome(name, *session) for session in sessions]
            by_corpus.append({"corpus": corpus, **_row(name, outcomes)})
            pooled.setdefault(name, []).extend(outcomes)
    return [_row(name, outcomes) for name, outcomes in pooled.items()], by_corpus


def beyond(*, sessions: int = 100) -> list[dict[str, Any]]:
    """Return a row for each corpus and compactor over sessions of seeds that nobody looked at: not the documented ones, nor the hundred behind them.

    Args:
        sessions: How many of each corpus that has seeds.
    """
    rows = []
    for corpus, (build, seeds) in CORPORA.items():
        if len(seeds) > 1:
            first = seeds.stop + _LOOKED_AT
            made = [build(seed) for seed in range(first, first + sessions)]
            rows += [{"corpus": corpus, **_row(name, [_outcome(name, *session) for session in made])} for name in BEYOND]
    return rows


def stale(*, seeds: int | None = None) -> list[dict[str, Any]]:
    """Return what our view still shows of values that were restated later, by what was planted: where it stands, and in how many sessions.

    Args:
        seeds: Take only the first few sessions of each corpus.
    """
    found: Counter[tuple[str, str, str, str]] = Counter()
    for corpus, (build, all_seeds) in CORPORA.items():
        for session, canaries, _ in map(build, all_seeds[:seeds]):
            text = run_conformance(session, GuardCompactor(), rounds=ROUNDS, canaries=canaries).rounds[-1].context.text
            for canary in canaries:
                lines = [line for line in text.splitlines() if any(token.lower() in line.lower() for token in canary.superseded_tokens)]
                if lines:
                    is_kept = all(line.startswith("[user] ") for line in lines)
                    found[corpus, canary.id, canary.type.value, "a message that stays" if is_kept else "a quote"] += 1
    return [{"corpus": corpus, "planted": name, "type": kind, "stands_in": place, "sessions": n} for (corpus, name, kind, place), n in found.items()]


def _outcome(name: str, session: SeededSession, canaries: list[Canary], pairs: list[tuple[str, str]]) -> _Outcome:
    run = run_conformance(session, subjects(canaries)[name](), rounds=ROUNDS, canaries=canaries)
    end = run.rounds[-1]
    text = end.context.text.lower()

    def there(tokens: Iterable[str]) -> list[bool]:
        return [token.lower() in text for token in tokens]

    return _Outcome(
        first=run.rounds[0].survived,
        last=end.survived,
        kinds={canary.id: canary.type for canary in canaries},
        updates=[(all(there(item.required_tokens)), any(there(item.superseded_tokens))) for item in canaries if item.superseded_tokens],
        pairs=[end.survived[one] and end.survived[other] for one, other in pairs],
        share=end.output_chars / run.rounds[0].input_chars,
    )


def _row(name: str, outcomes: Sequence[_Outcome]) -> dict[str, Any]:
    updates = [update for outcome in outcomes for update in outcome.updates]
    return {
        "compactor": name,
        "sessions": len(outcomes),
        "round_1": _percent([held for outcome in outcomes for held in outcome.first.values()]),
        f"round_{ROUNDS}": _percent([held for outcome in outcomes for held in outcome.last.values()]),
        **{
            kind.value: _percent([held for outcome in outcomes for name_, held in outcome.last.items() if outcome.kinds[name_] is kind])
            for kind in CanaryType
        },
        "updates": len(updates),
        "latest_held": sum(latest for latest, _ in updates),
        "stale_held": sum(stale for _, stale in updates),
        "pairs_held": _percent([held for outcome in outcomes for held in outcome.pairs]),
        "output": round(100 * sum(outcome.share for outcome in outcomes) / len(outcomes)),
    }


def _percent(held: Sequence[bool]) -> int | None:
    return round(100 * sum(held) / len(held)) if held else None


def leaderboard(*, budgets: Sequence[float] = (0.10, 0.20, 0.30), seeds: Sequence[int] = (1, 2, 3, 4)) -> list[dict[str, Any]]:
    """Return the kit's fixed-budget benchmark, a row for each budget and compactor, in its order of rank."""
    kinds = [canary for build, seeds_ in CORPORA.values() for canary in build(seeds_[0])[1]]
    made: list[tuple[str, GuardCompactor]] = []

    def ours(name: str, rules: frozenset[str] = frozenset(), **settings: Any) -> Callable[[], Compactor]:
        def make() -> Compactor:
            compactor = GuardCompactor(name, rules, settings)
            made.append((name, compactor))
            return compactor

        return make

    rows = []
    for budget in budgets:
        made.clear()
        factories = {
            **COMPACTORS,
            OURS: ours(OURS),
            OURS_WITH_RULES: ours(OURS_WITH_RULES, rule_ids(kinds)),
            LAST_WORD: ours(LAST_WORD, **LAST_WORD_SETTINGS),
        }
        for entry in run_budget_benchmark(factories, budgets=(budget,), seeds=seeds, rounds=ROUNDS)["entries"]:
            conflicts, updates = entry["semantic"]["conflicts"], entry["randomized"]["supersession"]
            rounds = [compactor.refusals for name, compactor in made if name == entry["compactor"]]
            rows.append(
                {
                    "budget": f"{budget:.0%}",
                    "rank": entry["rank"],
                    "compactor": entry["compactor"],
                    "compliant": "yes" if entry["budget_compliant"] else "no",
                    "survival": round(100 * entry["randomized"]["overall_final_survival"]),
                    "stale_randomized": f"{updates['stale']} of {updates['n']}",
                    "latest_paraphrased": f"{conflicts['latest']} of {conflicts['n']}",
                    "stale_paraphrased": f"{conflicts['stale']} of {conflicts['n']}",
                    "pairs_held": round(100 * entry["semantic"]["distinct_pair_rate"]),
                    "output": round(100 * entry["mean_final_output_ratio"]),
                    "refused": f"{sum(1 for count in rounds if count)} of {len(rounds)}" if rounds else None,
                }
            )
    return rows
