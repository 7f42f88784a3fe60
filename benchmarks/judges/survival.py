"""Runs jev-harness: a codeword planted in every instruction file of a small project, simulated compaction, its strategies and ours beside them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from jev_harness.modules.compaction_survival import sim
from jev_harness.modules.compaction_survival.canary import canary_text, insert_block
from jev_harness.modules.compaction_survival.service import CompactionOptions, prepare

from benchmarks.judges.adapters import guard_strategy

ROUNDS = 3
PROSE = "Name modules after what they hold. Keep functions short. Write a test for every bug. Ask before a dependency is added. Log in English.\n"
FILES = {
    "CLAUDE.md": "# Project\n\n" + PROSE * 6 + "\nSee @docs/style.md\n",
    "CLAUDE.local.md": "# Local\n\n" + PROSE * 2,
    "docs/style.md": "# Style\n\n" + PROSE * 4,
    ".claude/rules/testing.md": "# Testing\n\n" + PROSE * 3,
    ".claude/rules/api.md": '---\npaths:\n  - "src/api/**"\n---\n# API\n\n' + PROSE * 3,
    "src/api/CLAUDE.md": "# API folder\n\n" + PROSE * 3,
    "src/api/routes.py": "ROUTES = ()\n",
}
"""A project with one instruction file of every kind the harness knows for this agent."""


def survival(*, filler: tuple[int, ...] = (40, 200)) -> list[dict[str, Any]]:
    """Return a row for each number of filler messages, place of the codeword, and strategy."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in FILES.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return [row for turns in filler for position in ("start", "end") for row in _rows(Path(folder), turns, position)]


def _rows(project: Path, filler: int, position: Any) -> list[dict[str, Any]]:
    discovery, plan = prepare(CompactionOptions(project=project, position=position, rounds=ROUNDS))
    root = Path(discovery.project)
    texts = {
        canary.source.id: insert_block((root / canary.source.path).read_text(encoding="utf-8"), canary_text(canary), position)
        for canary in plan.canaries
    }
    planted = [line for canary in plan.canaries for line in canary_text(canary).splitlines()]
    custom = sim.load_custom_summarizer("benchmarks.judges.adapters:summarize_texts")
    custom.name, custom.deterministic = "ctxguard, texts without roles", True
    strategies = [
        *sim.resolve_strategies(list(sim.BUILTIN), None),
        custom,
        guard_strategy("ctxguard", "the roles as given; the instruction files are system messages"),
        guard_strategy("ctxguard, rules given", "the same, with the planted lines as `constraints`", rules=planted),
    ]
    rows = []
    for strategy in strategies:
        run = sim.run_strategy(strategy, plan, rounds=ROUNDS, trials=1, filler_turns=filler, texts=texts)
        sources = run.source_ids()
        followed = [run.behavior_cell(source, ROUNDS) for source in run.behavior_ids()]
        before = sim.build_context(plan, filler_turns=filler, seed=0, texts=texts)
        after = strategy.summarize(before)
        rows.append(
            {
                "filler_messages": filler,
                "codeword_at": position,
                "strategy": strategy.name,
                "sources": len(sources),
                "recalled_round_1": sum(run.cell(source, 1)[0] for source in sources),
                f"recalled_round_{ROUNDS}": sum(run.cell(source, ROUNDS)[0] for source in sources),
                "headers_followed": f"{sum(cell[0] for cell in followed if cell)} of {len(followed)}",
                "output": round(100 * sum(len(message.text) for message in after) / sum(len(message.text) for message in before)),
            }
        )
    return rows
