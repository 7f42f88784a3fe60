"""How many restated values the ledger gets right in the conversations of compaction-conformance-kit, and what it does to the values beside them.

An update counts as right when no live field holds the old value, a field that holds the new one has the old one in its history, and `without_stale`
leaves nothing of it in the message that said it. Values that are no control fields (a person without quotes, a style, a time zone) are counted apart:
no ledger of values knows them. It prints what it measured: `python -m benchmarks.judges.updates`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchmarks.judges.conformance import CORPORA
from benchmarks.measuring import table
from langchain_ctxguard.core.diff import stale_mentions, without_stale
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.domain.control import STATEMENTS, ControlField

_ROLES = {"assistant": "ai", "user": "human"}


def holds(field: ControlField | Any, tokens: Sequence[str]) -> bool:
    """Say whether a field, or an event of one, has one of the tokens for its value."""
    return any(token.lower() in field.raw.lower() for token in tokens)


def measure() -> list[dict[str, Any]]:
    """Return a row for each corpus."""
    rows = []
    for corpus, (build, seeds) in CORPORA.items():
        count, by_subject = Counter[str](), Counter[str]()
        for seed in seeds:
            session, canaries, _ = build(seed)
            spoken = [(_ROLES.get(turn.role, turn.role), turn.text) for turn in session.turns]
            ledger = update_ledger((), spoken).fields
            values = [field for field in ledger if field.kind not in STATEMENTS]
            for canary in canaries:
                old = canary.superseded_tokens
                if not old:
                    count["standing"] += 1
                    count["standing_ended"] += bool(stale_mentions(extract_fields(canary.content), ledger))
                    continue
                count["updates"] += 1
                said = next(text for _, text in spoken if all(token.lower() in text.lower() for token in old) and text != canary.content)
                if not any(holds(field, old) for field in extract_fields(said) if field.kind not in STATEMENTS):
                    count["no_field"] += 1
                    continue
                replaced = any(holds(event, old) for field in values for event in field.history)
                is_live = any(holds(field, old) for field in values if not field.is_closed)
                left = without_stale(said, extract_fields(said), ledger).lower()
                is_right = replaced and not is_live and not any(token.lower() in left for token in old)
                count["right"] += is_right
                if not is_right:
                    by_subject[f"{canary.id}: {said} -> {canary.content}"] += 1
        rows.append({"corpus": corpus, **{name: count[name] for name in ("updates", "no_field", "right", "standing", "standing_ended")},
                     "wrong": dict(by_subject)})  # fmt: skip
    return rows


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="print every update that came out wrong")
    arguments = parser.parse_args()
    rows = measure()
    print(table([{key: value for key, value in row.items() if key != "wrong"} for row in rows]))
    if arguments.wrong:
        for row in rows:
            print(row["corpus"], *row["wrong"], sep="\n  ")
    total = {name: sum(row[name] for row in rows) for name in ("updates", "no_field", "right", "standing", "standing_ended")}
    print(total)


if __name__ == "__main__":
    main()
