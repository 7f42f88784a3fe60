"""Look at every page of the built site as a telephone shows it: nothing may be wider than the screen but what scrolls by itself.

    python scripts/check_narrow.py build/site

Needs Chromium; where it is not installed, says so and checks nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 390

TOO_WIDE = """
(() => {
  const scrolls = (one) => one && (/auto|scroll|hidden/.test(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  const wide = [...document.querySelectorAll(".md-content *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1);
  const named = wide.filter((one) => !scrolls(one.parentElement)).map((one) => `${one.localName}: ${one.textContent.trim().slice(0, 60)}`);
  return document.documentElement.scrollWidth > innerWidth ? [...named, "the page itself"] : named;
})()
"""


def main(argv: list[str]) -> int:
    """Look, and name what is too wide."""
    sys.path[0] = str(ROOT)  # in place of this folder, whose `numbers.py` hides Python's own
    from tests.support.browser import browser, chromium

    path = chromium()
    if path is None:
        print("Chromium is not installed, so nobody looked at the pages on a narrow screen: apt-get install chromium")
        return 0
    pages = sorted(Path(argv[0]).resolve().rglob("index.html"))
    found = []
    with browser(path) as screen:
        for page in pages:
            screen.open(page, width=WIDTH)
            found += [f"{page.relative_to(Path(argv[0]).resolve())}: {what}" for what in screen.evaluate(TOO_WIDE)[:3]]
    print("\n".join(found) or f"{len(pages)} pages fit {WIDTH} pixels.")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
