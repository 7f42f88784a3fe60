"""Write the measured numbers into the docs, and what the code prints, or check that the docs show them.

    <!-- numbers:overhead -->             a table of the rows in benchmarks/results/overhead.json, and how they were measured
    <!-- /numbers -->

    <!-- numbers:overhead:rows.0.p50_us -->36<!-- /numbers -->        one value, in a sentence

    <!-- printed:lifecycle -->           a table that the code prints
    <!-- /printed -->

A result file holds `measured` (what), `against` (what), `versions` (a mapping) and `rows` (flat mappings with the same keys).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"(?<!`)(<!-- (numbers|printed):([\w.:-]+) -->)(.*?)(<!-- /\2 -->)", re.DOTALL)

OPENED = re.compile(r"(?<!`)<!-- (?:numbers|printed):")
"""A marker between backticks is spoken about, not filled."""


class NumbersError(Exception):
    """A marker that no result answers."""


def pages() -> list[Path]:
    """Return the pages that may show numbers."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def shown(value: Any) -> str:
    """Return a value as a reader wants it: thousands apart, three digits that mean something, text as it is.

    >>> shown(0.036421), shown(12840), shown(98.76), shown("x"), shown(None)
    ('0.0364', '12,840', '98.8', 'x', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{round(value):,}"
    return f"{value:.3g}"


def table(result: dict[str, Any], *, name: str) -> str:
    """Return the rows of a result as a Markdown table, with the line that says how they were measured."""
    missing = [key for key in ("measured", "against", "versions", "rows") if not result.get(key)]
    if missing:
        msg = f"benchmarks/results/{name}.json says nothing under {', '.join(missing)}; a number without them is not shown."
        raise NumbersError(msg)
    columns = list(result["rows"][0])
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(shown(row.get(column)).replace("|", r"\|") for column in columns) + " |" for row in result["rows"]]
    versions = ", ".join(f"{package} {version}" for package, version in result["versions"].items())
    return "\n" + "\n".join(lines) + f"\n\nMeasured: {_ended(result['measured'])} Against: {_ended(result['against'])} Versions: {versions}.\n"


def _ended(sentence: str) -> str:
    """Return a sentence with its full stop."""
    return sentence if sentence.endswith(".") else f"{sentence}."


def measured(marker: str) -> str:
    """Return what belongs between the markers of `marker`."""
    name, _, path = marker.partition(":")
    file = RESULTS / f"{name}.json"
    if not file.is_file():
        msg = f"there is no benchmarks/results/{name}.json; run `make bench-full`, or mend the name."
        raise NumbersError(msg)
    value: Any = json.loads(file.read_text(encoding="utf-8"))
    if not path:
        return table(value, name=name)
    for part in path.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            msg = f"benchmarks/results/{name}.json has nothing at {path!r} ({part!r} is missing)."
            raise NumbersError(msg) from None
    return shown(value)


def printed(name: str) -> str:
    """Return the table of that name, as the code prints it."""
    # Run as a script, this file's folder comes first on the path, where it would be taken for Python's own `numbers`.
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
    from langchain_ctxguard.cli.reference import command_reference, exit_codes
    from langchain_ctxguard.domain.lifecycle import lifecycle_table
    from langchain_ctxguard.domain.stream_event import events_table

    tables = {"lifecycle": lifecycle_table, "exit-codes": exit_codes, "events": events_table}
    command = name.removeprefix("cli:").replace(".", " ")
    try:
        return f"\n\n{command_reference(command)}\n\n" if name.startswith("cli:") else f"\n{tables[name]()}\n"
    except KeyError:
        msg = f"the code prints nothing called {name!r}; it prints {', '.join(map(repr, tables))} and 'cli:COMMAND', e.g. 'cli:policy.check'."
        raise NumbersError(msg) from None


def filled(text: str, *, page: str) -> str:
    """Return `text` with every marked place showing what was measured or is printed.

    Raises:
        NumbersError: naming `page` and the line of a marker that no result answers, or that is never closed.
    """
    if len(OPENED.findall(text)) != len(MARKED.findall(text)):
        msg = f"{page}: a marker is not closed by its `<!-- /numbers -->` or `<!-- /printed -->`, or its name has more than letters, digits and .:-_"
        raise NumbersError(msg)

    def fill(place: re.Match[str]) -> str:
        try:
            return place[1] + (measured if place[2] == "numbers" else printed)(place[3]) + place[5]
        except NumbersError as error:
            line = text.count("\n", 0, place.start()) + 1
            msg = f"{page}:{line}: {error}"
            raise NumbersError(msg) from None

    return MARKED.sub(fill, text)


def main() -> int:
    """Fill the pages, or with `--check` report those that show something else."""
    parser = argparse.ArgumentParser(description="Write the measured numbers, and what the code prints, into the docs.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a page shows something else")
    is_check = parser.parse_args().check
    stale = []
    for path in pages():
        page, before = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        try:
            after = filled(before, page=page)
        except NumbersError as error:
            print(error, file=sys.stderr)
            return 1
        if after != before:
            stale.append(page)
            if not is_check:
                path.write_text(after, encoding="utf-8")
    if is_check and stale:
        print(f"Other numbers or tables than the code's in {', '.join(stale)}; run `python scripts/numbers.py`.", file=sys.stderr)
        return 1
    print(f"Numbers written: {', '.join(stale)}." if stale else "All numbers in the docs are the measured ones.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
