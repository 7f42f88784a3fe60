"""A headless Chromium, driven over a pipe by its DevTools protocol: opens a page, presses keys, says what the page asked for and complained of."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip
_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "/": 191}


def chromium() -> str | None:
    """Return where Chromium is, `None` where it is not."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page."""

    def __init__(self, asking: int, answering: int) -> None:
        """Speak over these pipes."""
        self._asking = asking
        self._answering = answering
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that come meanwhile are noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **({"sessionId": self._session} if self._session else {})}
        os.write(self._asking, json.dumps(message).encode() + b"\0")
        for told in self._messages():
            if told.get("id") == self._number:
                if "error" in told:
                    self._fail(f"{method}: {told['error']}")
                result: dict[str, Any] = told["result"]
                return result
            self._note(told)
        return self._fail(f"{method}: the browser went away")

    def attach(self) -> None:
        """Take the first page, and watch it."""
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False, fragment: str = "") -> None:
        """Load a file; wait until it stands."""
        self.requests, self.complaints = [], []
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}, {"name": "prefers-reduced-motion", "value": "reduce"}],
        )
        self.ask("Page.navigate", url=page.as_uri() + fragment)
        self.until("document.readyState === 'complete' && location.href.startsWith('file:')")

    def evaluate(self, expression: str) -> Any:
        """Return what JavaScript makes of an expression."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression: str, *, seconds: float = 20) -> None:
        """Wait until an expression is true."""
        ends = time.monotonic() + seconds
        while not self.evaluate(expression):
            assert time.monotonic() < ends, f"never became true: {expression}"
            time.sleep(0.02)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": _CODES.get(key, ord(key[0])), "modifiers": 8 if shift else 0}
        text = {"text": "\r" if key == "Enter" else key} if key == "Enter" or len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        """Type a text."""
        self.ask("Input.insertText", text=text)

    def shot(self, to: Path, *, whole: bool = False) -> None:
        """Keep what is to be seen as a picture."""
        picture = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        to.write_bytes(base64.b64decode(picture))

    def printed(self, to: Path) -> int:
        """Print to a PDF and return its size."""
        data = base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])
        to.write_bytes(data)
        return len(data)

    def _fail(self, why: str) -> NoReturn:
        raise AssertionError(why)

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" in self._rest:
                one, _, self._rest = self._rest.partition(b"\0")
                yield json.loads(one)
            more = os.read(self._answering, 1 << 16)
            if not more:
                return
            self._rest += more

    def _note(self, told: dict[str, Any]) -> None:
        about = told.get("params", {})
        match told.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.complaints.append(json.dumps(about)[:500])


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    """Start a Chromium and end it."""
    ours, theirs = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(prefix="ctxguard-chromium-", ignore_cleanup_errors=True) as folder:

        def wired() -> None:
            reading, writing = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (ours[0], theirs[1]))
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        # What is inherited is closed except for 3 and 4, where the protocol has its two ends.
        command = [path, *_ARGUMENTS, f"--user-data-dir={folder}", "about:blank"]
        process = subprocess.Popen(command, preexec_fn=wired, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: PLW1509
        os.close(ours[0])
        os.close(theirs[1])
        try:
            made = Browser(ours[1], theirs[0])
            made.attach()
            yield made
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(ours[1])
            os.close(theirs[0])
