"""Run a guarded agent in LangGraph's development server on loopback, and compact a thread of it over HTTP. No key and no network.

Needs `langgraph-cli[inmem]`, which the group `server` brings. The agent and the `langgraph.json` are those of `docs/langgraph-server.md`.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "langgraph-server.md"
RULE = "Never delete an order."
PATIENCE_S = 90
TURNS = 6


def main() -> int:
    """Start the server, talk to it, and say what was seen."""
    with tempfile.TemporaryDirectory() as folder:
        write_app(Path(folder))
        port = free_port()
        log = Path(folder) / "server.log"
        with log.open("w") as output:
            server = subprocess.Popen(command(port), cwd=folder, env=offline(), stdout=output, stderr=subprocess.STDOUT)
            try:
                seen = talk(f"http://127.0.0.1:{port}", server)
            except (OSError, AssertionError, KeyError) as error:
                print(f"{type(error).__name__}: {error}\n{log.read_text()[-4_000:]}", file=sys.stderr)
                return 1
            finally:
                server.terminate()
                server.wait(20)
    print(seen)
    return 0


def write_app(folder: Path) -> None:
    """Write the files of the page: the blocks titled `agent.py` and `langgraph.json`."""
    found = dict(re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```', PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    for name in ("agent.py", "langgraph.json"):
        (folder / name).write_text(found[name], encoding="utf-8")


def command(port: int) -> list[str]:
    """Return what starts the server."""
    langgraph = Path(sys.executable).with_name("langgraph")
    return [str(langgraph), "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]


def talk(url: str, server: subprocess.Popen[bytes]) -> str:
    """Hold a conversation long enough to be compacted; return one line about it."""
    wait_for(url, server)
    thread = post(f"{url}/threads", {})["thread_id"]
    for turn in range(TURNS):
        text = f"Turn {turn}: order ORD-4711 is late. " + "The customer waits and asks again. " * 40
        post(f"{url}/threads/{thread}/runs/wait", {"assistant_id": "orders", "input": {"messages": [{"role": "user", "content": text}]}})
    values = get(f"{url}/threads/{thread}/state")["values"]
    assert len(values["messages"]) == 2 * TURNS, "no message left the state"
    shown = str(values["messages"][-1]["content"])
    assert RULE in shown, f"the model did not see the rule: {shown[:300]}"
    assert "context_summary" in shown, f"the model did not see a summary: {shown[:300]}"
    return f"langgraph dev: {TURNS} runs over HTTP, compacted, the rule stood in the last request."


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Return when the server answers."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        assert server.poll() is None, "the server ended"
        try:
            get(f"{url}/ok")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.3)
        else:
            return
    message = f"no answer in {PATIENCE_S} s"
    raise TimeoutError(message)


def get(url: str) -> Any:
    """Return the JSON behind a URL."""
    with urllib.request.urlopen(url, timeout=30) as response:  # noqa: S310 - our own server on loopback
        return json.load(response)


def post(url: str, data: dict[str, Any]) -> Any:
    """Send JSON and return the answer's."""
    request = urllib.request.Request(url, json.dumps(data).encode(), {"content-type": "application/json"})  # noqa: S310 - as above
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - as above
        return json.load(response)


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def offline() -> dict[str, str]:
    """Return an environment without keys: nothing is traced and nothing is counted elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_"))}
    return {**kept, "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}


if __name__ == "__main__":
    sys.exit(main())
