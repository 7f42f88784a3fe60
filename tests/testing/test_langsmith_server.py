"""The endpoint on loopback takes what LangSmith's own client sends, and tells it as runs."""

from __future__ import annotations

import urllib.request

from langsmith import Client, trace, tracing_context

from langchain_ctxguard.testing.langsmith_server import langsmith_server


def test_a_run_and_the_one_below_it_are_received() -> None:
    """What a real client uploaded can be asked for by name and by parent, with all the words that were sent."""
    with langsmith_server() as server:
        client = Client(api_url=server.url, api_key="none")
        with tracing_context(enabled=True, client=client, project_name="default"), trace("outer", inputs={"said": "parcel 4711"}), trace("inner"):
            pass
        client.flush()
        (outer,) = server.named("outer")
        assert ["inner"] == [run["name"] for run in server.below(outer)]
        assert "parcel 4711" in server.text
        assert {"said": "parcel 4711"} == outer["inputs"]


def test_a_server_that_ended_answers_nobody() -> None:
    """Nothing stays behind when the block ends."""
    with langsmith_server() as server, urllib.request.urlopen(f"{server.url}/info", timeout=5) as answered:  # noqa: S310 - our own address
        assert 200 == answered.status
    try:
        urllib.request.urlopen(f"{server.url}/info", timeout=5)  # noqa: S310
    except OSError:
        return
    msg = "it still answers"
    raise AssertionError(msg)
