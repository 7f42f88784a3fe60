"""Draw the picture of the README from `benchmarks/results/peers.json`, or check that the one in `docs/images` is what would be drawn.

    python scripts/picture.py            draws docs/images/peers.svg and docs/images/peers.zh.svg
    python scripts/picture.py --check    changes nothing; fails where a picture shows something else

The picture brings its own background, one for light pages and one for dark ones, so that its words can be read on both.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "peers.json"
IMAGES = ROOT / "docs" / "images"

LIGHT = {"card": "#ffffff", "edge": "#d0d7de", "text": "#1f2328", "quiet": "#57606a", "track": "#eaeef2", "ours": "#0a7d4f", "other": "#8c959f"}
DARK = {"card": "#161b22", "edge": "#30363d", "text": "#e6edf3", "quiet": "#9aa4af", "track": "#2d333b", "ours": "#3fb950", "other": "#6e7681"}

_WIDTH, _LEFT, _BAR, _GAP, _ROW, _TOP = 860, 262, 140, 56, 30, 92
_OURS = "ctxguard"


@dataclass(frozen=True, slots=True)
class Words:
    """What the picture says in one language."""

    title: str
    columns: Mapping[str, str]
    """Title of a column, by the key of its value in a row."""

    foot: str
    """With `{cases}` and `{versions}`."""


ENGLISH = Words(
    title="After compaction, in percent",
    columns={"retention": "rules and values kept", "refused": "dangerous requests refused", "passed": "cases with nothing amiss"},
    foot="{cases} cases of the retention kit. The model is a stand-in that obeys every rule it sees.|{versions}",
)
CHINESE = Words(
    title="压缩之后（百分比）",
    columns={"retention": "规则与数值保留", "refused": "危险请求被拒绝", "passed": "用例全部达标"},
    foot="保留测试套件的 {cases} 个用例。模型是替身：凡看得到的规则都遵守。|{versions}",
)
PICTURES = {"peers.svg": ENGLISH, "peers.zh.svg": CHINESE}


def drawn(result: Mapping[str, Any], words: Words) -> str:
    """Return the picture of a result as SVG.

    Args:
        result: As in `benchmarks/results`: `versions` and `rows`, each with `strategy`, `cases` and a percentage for each column.
        words: In which language.

    Raises:
        KeyError: a row lacks a column.
    """
    rows: Sequence[Mapping[str, Any]] = result["rows"]
    height = _TOP + _ROW * len(rows) + 62
    versions = ", ".join(f"{name} {result['versions'][name]}" for name in ("langchain", "deepagents", "langmem") if name in result["versions"])
    parts = [_text(24, 34, words.title, "title")]
    parts += [_text(_x(place), 70, title, "head") for place, title in enumerate(words.columns.values())]
    for number, row in enumerate(rows):
        y = _TOP + _ROW * number
        kind = "ours" if row["strategy"] == _OURS else "other"
        parts.append(_text(24, y + 14, row["strategy"].removeprefix("LangChain "), f"name {kind}-name"))
        for place, key in enumerate(words.columns):
            parts += _bar(_x(place), y, row[key], kind)
    for number, line in enumerate(words.foot.format(cases=rows[0]["cases"], versions=versions).split("|")):
        parts.append(_text(24, height - 34 + 18 * number, line, "foot"))
    alt = "; ".join(f"{row['strategy']}: " + ", ".join(f"{title} {row[key]}" for key, title in words.columns.items()) for row in rows)
    card = f'<rect class="card" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img">'
    return "\n".join([opening, f"<title>{escape(words.title)}</title>", f"<desc>{escape(alt)}</desc>", _style(), card, *parts, "</svg>", ""])


def _x(place: int) -> int:
    return _LEFT + place * (_BAR + _GAP)


def _bar(x: int, y: int, value: float, kind: str) -> list[str]:
    filled = f'<rect class="{kind}" x="{x}" y="{y + 2}" width="{_BAR * value / 100:.1f}" height="14" rx="3"/>'
    track = f'<rect class="track" x="{x}" y="{y + 2}" width="{_BAR}" height="14" rx="3"/>'
    return [track, *([filled] if value else []), _text(x + _BAR + 8, y + 14, f"{value:g}", f"value {kind}-name")]


def _text(x: int, y: int, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>'


def _style() -> str:
    def rules(colors: Mapping[str, str]) -> str:
        fills = {"text": "text", ".head, .foot": "quiet", ".track": "track", "rect.ours": "ours", "rect.other": "other"}
        told = " ".join(f"{selector} {{ fill: {colors[name]} }}" for selector, name in fills.items())
        return f".card {{ fill: {colors['card']}; stroke: {colors['edge']} }} {told}"

    fonts = "text { font: 14px -apple-system, 'Segoe UI', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', 'WenQuanYi Micro Hei', sans-serif }"
    sizes = ".title { font-size: 17px; font-weight: 600 } .head { font-size: 13px } .foot { font-size: 12px } .ours-name { font-weight: 700 }"
    return f"<style>{fonts} {sizes} {rules(LIGHT)} @media (prefers-color-scheme: dark) {{ {rules(DARK)} }}</style>"


def main() -> int:
    """Draw the pictures, or with `--check` report those that show something else."""
    parser = argparse.ArgumentParser(description="Draw the picture of the README.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a picture shows something else")
    is_check = parser.parse_args().check
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    stale = []
    for name, words in PICTURES.items():
        path, picture = IMAGES / name, drawn(result, words)
        if not path.is_file() or path.read_text(encoding="utf-8") != picture:
            stale.append(name)
            if not is_check:
                IMAGES.mkdir(exist_ok=True)
                path.write_text(picture, encoding="utf-8")
    if is_check and stale:
        print(f"{', '.join(stale)} show other numbers than {RESULT.name}; run `python scripts/picture.py`.", file=sys.stderr)
        return 1
    print("The pictures show what was measured.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
