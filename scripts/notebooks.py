"""Run the notebooks in clean kernels, without a key and without a network, and write their outputs, or check that they show what comes out.

    python scripts/notebooks.py --check            every notebook shows what it prints today
    python scripts/notebooks.py --write [NAME...]  run them, and write what came out

Needs the dependency group `docs`. Each runs in an empty folder. What differs from run to run (ids, times, addresses, folders) counts as equal, and of
a picture only that there is one: what it shows is printed beside it.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
LONGEST_S = 120
"""A notebook that takes longer is too long for its reader."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|^LANGSMITH_|^LANGCHAIN_|^OTEL_|^CTXGUARD_", re.IGNORECASE)
_NOWHERE = "http://127.0.0.1:9"
"""A proxy where nobody listens: what would speak to the world fails."""

_CHANGES = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b(?:\d+(?:\.\d+)?) ?(?:ms|us|µs)\b"), "<duration>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<host>"),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "<digest>"),
    (re.compile(re.escape(tempfile.gettempdir()) + r"/[\w./-]+"), "<folder>"),
)


class NotebookError(Exception):
    """A notebook that does not run to its end."""


def settled(text: str) -> str:
    """Return `text` with everything that differs from run to run named instead of told.

    >>> settled("run 1b4e28ba-2fa1-11d2-883f-0016d3cca427 took 12.5 ms at <Tool object at 0x7f00aa10bb20>")
    'run <id> took <duration> at <Tool object at <address>>'
    """
    for pattern, name in _CHANGES:
        text = pattern.sub(name, text)
    return text


def shown(cell: Mapping[str, Any]) -> list[str]:
    """Return what a cell shows, line by line and settled: text as it is, of a picture that it is one, of an error its name."""
    lines: list[str] = []
    printed = ""
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream":
            # A kernel may send what was printed at once in several pieces.
            printed += _text(output["text"])
            continue
        lines += _settled_lines(printed)
        printed = ""
        if output["output_type"] == "error":
            lines.append(f"error: {output['ename']}: {output['evalue']}")
            continue
        pictures = sorted(kind for kind in output["data"] if kind.startswith("image/"))
        lines += [f"<{kind}>" for kind in pictures] or _settled_lines(_text(output["data"].get("text/plain", "")))
    return [*lines, *_settled_lines(printed)]


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def _settled_lines(text: str) -> list[str]:
    return [line.rstrip() for line in settled(text).splitlines()]


def faults(committed: Mapping[str, Any], ran: Mapping[str, Any]) -> Iterator[str]:
    """Say of each cell whose output is another one than committed what differs, and of each that complains that it does."""
    for number, (before, after) in enumerate(zip(committed["cells"], ran["cells"], strict=True)):
        if after["cell_type"] != "code":
            continue
        complaints = [output for output in after["outputs"] if output.get("name") == "stderr"]
        if complaints:
            yield f"cell {number} complains: {_text(complaints[0]['text']).strip()}"
        if before.get("execution_count") is None:
            yield f"cell {number} was committed without having run"
        difference = list(difflib.unified_diff(shown(before), shown(after), "committed", "now", lineterm="", n=1))
        if difference:
            yield "\n    ".join([f"cell {number} shows something else:", *difference])


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a kernel: no key, no setting of a tracer, no way out."""
    kept = {name: value for name, value in given.items() if not _SECRET.search(name)}
    ways_out = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), _NOWHERE)
    inside = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    path = os.pathsep.join(filter(None, [str(ROOT), given.get("PYTHONPATH", "")]))
    return {**kept, **ways_out, **inside, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def run(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Return the notebook as it looks after a run in a kernel and a folder of its own.

    Raises:
        NotebookError: a cell fails, or all together take longer than two minutes.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal

    copy = nbformat.from_dict(notebook)
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        quiet = ["--IPKernelApp.log_level=40"]
        client = NotebookClient(copy, timeout=LONGEST_S, kernel_name="python3", extra_arguments=quiet, resources={"metadata": {"path": folder}})
        started = time.monotonic()
        try:
            client.execute(env=environment(os.environ))
        except CellControlSignal as error:
            raise NotebookError(str(error)) from error
        taken = time.monotonic() - started
    if taken > LONGEST_S:
        msg = f"It took {taken:.0f} s, and may take {LONGEST_S} s; make it shorter."
        raise NotebookError(msg)
    return tidy(copy)


def tidy(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Return a notebook without what a run leaves beside its outputs, the pieces of a stream as one."""
    cells = []
    for cell in notebook["cells"]:
        kept = {key: cell[key] for key in ("cell_type", "execution_count", "id") if key in cell} | {"metadata": {}}
        if cell["cell_type"] == "code":
            kept["outputs"] = [{**output, **({"metadata": {}} if "metadata" in output else {})} for output in cell["outputs"]]
        cells.append({**kept, "source": _text(cell["source"])})
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def written(notebook: Mapping[str, Any]) -> str:
    """Return a notebook as a file holds it: text in lines, so that a change shows as one."""

    def in_lines(value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            return {name: in_lines(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [in_lines(item) for item in value]
        return value.splitlines(keepends=True) if key in {"source", "text", "text/plain"} else value

    return json.dumps(in_lines(notebook), ensure_ascii=False, indent=1) + "\n"


def visited(path: Path, *, is_check: bool) -> list[str]:
    """Run one notebook; return what is wrong with it, and write it where something is and may be written."""
    committed = tidy(json.loads(path.read_text(encoding="utf-8")))
    try:
        ran = run(committed)
    except NotebookError as error:
        return [str(error)]
    found = list(faults(committed, ran))
    complaints = [fault for fault in found if " complains: " in fault]
    if is_check or complaints:
        return found if is_check else complaints
    if found:
        path.write_text(written(ran), encoding="utf-8")
    return []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the notebooks, and write their outputs or say where they differ."""
    parser = argparse.ArgumentParser(description="Run the notebooks in clean kernels.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true", help="change nothing; fail where a notebook shows something else")
    action.add_argument("--write", action="store_true", help="write what came out")
    parser.add_argument("names", nargs="*", type=Path, help="notebooks; default: all of `notebooks/`")
    given = parser.parse_args(arguments)
    failed = False
    for path in given.names or sorted(NOTEBOOKS.glob("*.ipynb")):
        started = time.monotonic()
        found = visited(path, is_check=given.check)
        failed = failed or bool(found)
        print(f"{path.name}: {'wrong' if found else 'fine'}, {time.monotonic() - started:.0f} s")
        for fault in found:
            print(f"  {fault}", file=sys.stderr)
    if failed and given.check:
        print("Run `python scripts/notebooks.py --write`, and look at what changed.", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    # Run as a script, its folder comes first on the path, where `numbers.py` would be taken for Python's own.
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]
    sys.exit(main())
