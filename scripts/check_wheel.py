"""Build the wheel and check what is in it: the whole package, typed, and nothing beside it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "langchain_ctxguard"


def build(folder: str) -> Path:
    """Return the wheel built from this checkout."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(ROOT)]
    subprocess.run(command, check=True)
    return next(Path(folder).glob("*.whl"))


def faults(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, one sentence each."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if not name.endswith("/")}
        info = next(name.split("/")[0] for name in files if name.split("/")[0].endswith(".dist-info"))
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / PACKAGE).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    expected.add(f"{PACKAGE}/py.typed")
    found = [f"{name} is missing." for name in sorted(expected - files)]
    found += [f"{name} does not belong in it." for name in sorted(files - expected) if not name.startswith(f"{info}/")]
    found += [f"{name} is missing." for name in (f"{info}/licenses/LICENSE",) if name not in files]
    if "ctxguard = langchain_ctxguard.cli:main" not in entry_points:
        found.append("the `ctxguard` command is missing.")
    return found


def main() -> int:
    """Build, check, and say what was found."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(folder)
        wrong = faults(wheel)
        for fault in wrong:
            print(f"{wheel.name}: {fault}", file=sys.stderr)
        if not wrong:
            print(f"{wheel.name}: the package, typed, and nothing beside it ({wheel.stat().st_size:,} bytes).")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
