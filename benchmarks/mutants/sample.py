"""Which mutants there are, and which of them are drawn."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "langchain_ctxguard" / "core"
SEED = 2026
_LEFT_OUT = ("VariableInserter", "VariableReplacer", "NoOp")
"""Two that need to be told what to do, and one that does nothing."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A place where one operator changes one thing."""

    module: str
    operator: str
    occurrence: int
    line: int


@cache
def operators() -> dict[str, Any]:
    """Return cosmic-ray's operators that need no arguments, by name."""
    from cosmic_ray.plugins import get_operator, operator_names

    return {name: get_operator(name)() for name in sorted(operator_names()) if not name.endswith(_LEFT_OUT)}


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    from cosmic_ray.ast import ast_nodes, get_ast

    nodes = list(ast_nodes(get_ast(path.read_text(encoding="utf-8"))))
    for name, operator in operators().items():
        places = [position for node in nodes for position in operator.mutation_positions(node)]
        for occurrence, place in enumerate(places):
            yield Mutant(path.stem, name, occurrence, place[0][0])


def source_of(module: str) -> str:
    """Return the text of a module of `core`."""
    return (CORE / f"{module}.py").read_text(encoding="utf-8")


def mutated(mutant: Mutant) -> str | None:
    """Return the module with the fault; `None` where the operator has nothing to change."""
    from cosmic_ray.mutating import mutate_code

    changed = mutate_code(source_of(mutant.module), operators()[mutant.operator], mutant.occurrence)
    return None if changed is None else str(changed)


def changes_something(mutant: Mutant) -> bool:
    """Say whether a mutant is Python and changes more than an annotation."""
    changed = mutated(mutant)
    return changed is not None and _bare(changed) not in {_bare(source_of(mutant.module)), None}


def _bare(source: str) -> str | None:
    """Return a module without annotations and `slots`, which change no behaviour; `None` where it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            for argument in [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs, node.args.vararg, node.args.kwarg]:
                if argument is not None:
                    argument.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(value=None)
        elif isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    decorator.keywords = [word for word in decorator.keywords if word.arg != "slots"]
    return ast.unparse(tree)


def change_of(mutant: Mutant) -> str:
    """Return the first line that differs, before and after."""
    pairs = zip(source_of(mutant.module).splitlines(), (mutated(mutant) or "").splitlines(), strict=False)
    return next((f"{old.strip()}  ->  {new.strip()}" for old, new in pairs if old != new), "")


def drawn(count: int, *, seed: int = SEED) -> list[Mutant]:
    """Return a sample of all mutants of `core`, the same in every run on the same code."""
    found = [mutant for path in sorted(CORE.glob("*.py")) for mutant in mutants_of(path)]
    print(f"{len(found):,} mutants of {len({mutant.module for mutant in found})} modules", flush=True)
    return list(islice(filter(changes_something, sorted(found, key=_lots(found, seed).__getitem__)), count))


def _lots(mutants: Sequence[Mutant], seed: int) -> dict[Mutant, bytes]:
    """Return what each mutant draws: it hangs on the text of its line and no other, so a change elsewhere leaves the sample as it was."""
    lines = {module: source_of(module).splitlines() for module in {mutant.module for mutant in mutants}}
    nth: Counter[str] = Counter()
    found = {}
    for mutant in mutants:
        what = f"{seed} {mutant.module} {mutant.operator} {lines[mutant.module][mutant.line - 1].strip()}"
        nth[what] += 1
        found[mutant] = hashlib.sha256(f"{what} {nth[what]}".encode()).digest()
    return found


@cache
def digest_of(module: str) -> str:
    """Return what names the text of a module: as long as it is the same, so are its mutants."""
    return hashlib.sha256((CORE / f"{module}.py").read_bytes()).hexdigest()[:16]


def lines_of(mutant: Mutant) -> range:
    """Return the lines of the statement a mutant changes: which of them a tracer names differs."""
    found = range(mutant.line, mutant.line + 1)
    for node in ast.walk(ast.parse(source_of(mutant.module))):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body and isinstance(body, list) else (node.end_lineno or node.lineno)
            if node.lineno <= mutant.line <= max(last, node.lineno):
                found = range(node.lineno, max(last, node.lineno) + 1)
    return found
