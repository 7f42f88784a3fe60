"""Anthropic's messages and OpenAI's responses on loopback, compacting on the server's side as the real ones do; sync and streamed.

Formats: https://platform.claude.com/docs/en/build-with-claude/compaction and .../context-editing, the types of the SDK `anthropic` 2.14, and
https://developers.openai.com/api/docs/guides/compaction, the types of the SDK `openai` 3.57.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Did = Literal["nothing", "summarized", "failed", "cleared"]
SUMMARY = "They talked about an order."
"""What the provider's own summary tells: nothing that was said."""


@dataclass(frozen=True)
class Turn:
    """What the server does in one request."""

    did: Did = "nothing"
    tool: str | None = None
    """Name of a tool it calls."""


@dataclass
class Provider:
    """The server, its script, and what it was sent."""

    url: str = ""
    script: list[Turn] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def shown(self, index: int = -1) -> str:
        """Return what the model itself is shown of a request: nothing of `messages` or `input` before the newest compaction."""
        body = self.bodies[index]
        listed = body.get("messages", body.get("input"))
        outside = json.dumps(body.get("system", ""), ensure_ascii=False) + str(body.get("instructions", ""))
        return outside + json.dumps(after_compaction(listed), ensure_ascii=False)


def after_compaction(listed: list[Any]) -> list[Any]:
    """Return what stands from the newest valid compaction on."""
    for at in range(len(listed) - 1, -1, -1):
        entry = listed[at]
        if entry.get("type") == "compaction":
            return listed[at:]
        content = entry.get("content")
        blocks = content if isinstance(content, list) else []
        for place in range(len(blocks) - 1, -1, -1):
            if blocks[place].get("type") == "compaction" and blocks[place].get("content"):
                return [{**entry, "content": blocks[place:]}, *listed[at + 1 :]]
    return listed


def anthropic_body(turn: Turn, number: int) -> dict[str, Any]:
    """Return an answer of the Messages API."""
    content: list[dict[str, Any]] = []
    if turn.did in ("summarized", "failed"):
        content.append({"type": "compaction", "content": SUMMARY if turn.did == "summarized" else None})
    if turn.tool is None:
        content.append({"type": "text", "text": f"answer {number}"})
    else:
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": turn.tool, "input": {}})
    usage: dict[str, Any] = {"input_tokens": 120, "output_tokens": 30}
    if turn.did == "summarized":
        spent = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        usage["iterations"] = [{"type": "compaction", "input_tokens": 900, "output_tokens": 60, **spent}]
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 700}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-of-the-test",
        "content": content,
        "stop_reason": "end_turn" if turn.tool is None else "tool_use",
        "stop_sequence": None,
        "usage": usage,
        "context_management": {"applied_edits": [edit] if turn.did == "cleared" else []},
    }


def anthropic_events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the same answer as a stream has it."""
    yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None, "context_management": None}}
    for index, block in enumerate(body["content"]):
        empty, delta = {
            "compaction": ({"type": "compaction", "content": None}, {"type": "compaction_delta", "content": block.get("content")}),
            "text": ({"type": "text", "text": ""}, {"type": "text_delta", "text": block.get("text")}),
            "tool_use": ({**block, "input": {}}, {"type": "input_json_delta", "partial_json": "{}"}),
        }[block["type"]]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": body["usage"], "context_management": body["context_management"]}
    yield {"type": "message_stop"}


def responses_body(turn: Turn, number: int) -> dict[str, Any]:
    """Return an answer of the Responses API."""
    output: list[dict[str, Any]] = []
    if turn.did == "summarized":
        output.append({"type": "compaction", "id": f"cmp_{number}", "encrypted_content": "c2VjcmV0"})
    if turn.tool is None:
        part = {"type": "output_text", "text": f"answer {number}", "annotations": []}
        output.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]})
    else:
        call = {"call_id": f"call_{number}", "name": turn.tool, "arguments": "{}", "status": "completed"}
        output.append({"type": "function_call", "id": f"fc_{number}", **call})
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "gpt-of-the-test",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 120,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 150,
        },
    }


def responses_events(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the same answer as a stream has it."""
    yield {"type": "response.created", "response": {**body, "output": [], "status": "in_progress", "usage": None}}
    for index, item in enumerate(body["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": item | ({"content": []} if item["type"] == "message" else {})}
        if item["type"] == "message":
            place = {"item_id": item["id"], "output_index": index, "content_index": 0, "logprobs": []}
            yield {"type": "response.output_text.delta", "delta": item["content"][0]["text"], **place}
            yield {"type": "response.output_text.done", "text": item["content"][0]["text"], **place}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": body}


@contextmanager
def compacting(*script: Turn) -> Iterator[Provider]:
    """Serve a script on loopback until the block ends; behind its end nothing more is compacted."""
    provider = Provider(script=list(script))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            number = len(provider.bodies)
            provider.bodies.append(asked)
            turn = provider.script[number] if number < len(provider.script) else Turn()
            is_anthropic = "messages" in self.path
            body = anthropic_body(turn, number) if is_anthropic else responses_body(turn, number)
            if not asked.get("stream"):
                self._send("application/json", json.dumps(body))
                return
            events = anthropic_events(body) if is_anthropic else responses_events(body)
            lines = (f"event: {event['type']}\ndata: {json.dumps({'sequence_number': at, **event})}\n\n" for at, event in enumerate(events))
            self._send("text/event-stream", "".join(lines))

        def _send(self, kind: str, text: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
