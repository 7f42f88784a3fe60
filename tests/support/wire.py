"""A server on loopback that speaks what providers of chat models speak: OpenAI's chat completions and responses, Anthropic's messages.

It refuses a request that the real ones would refuse, answers from a script, and keeps what it was sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Dialect = Literal["chat", "responses", "messages"]
PATHS: dict[str, Dialect] = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "messages"}
USAGE = (120, 30)
"""Tokens read and written, as every answer reports them."""


@dataclass(frozen=True)
class Reply:
    """What the model says, whatever the dialect."""

    text: str = ""
    arguments: str | None = None
    """JSON of the call of the tool it must call; it may be cut off."""

    ending: Literal["stop", "length", "refusal", "filter"] = "stop"
    has_reasoning: bool = False


@dataclass(frozen=True)
class Failure:
    """An HTTP error."""

    status: int
    message: str = "no"
    retry_after: str | None = None


@dataclass
class Wire:
    """The server, its script and what it was sent."""

    url: str = ""
    script: list[Reply | Failure] = field(default_factory=list)
    """Played in order; the last entry again and again."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    knows_schemas: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prompts(self) -> list[str]:
        """What the model was shown, one text for each request."""
        shown = ([body.get(name) for name in ("system", "instructions", "messages", "input")] for body in self.bodies)
        return [json.dumps(parts, ensure_ascii=False) for parts in shown]

    def play(self, *script: Reply | Failure) -> None:
        """Begin a new script, and forget what was sent before."""
        self.script, self.knows_schemas = list(script), True
        self.bodies.clear()
        self.refused.clear()

    def taken(self, body: dict[str, Any]) -> Reply | Failure:
        with self._lock:
            self.bodies.append(body)
            return self.script[min(len(self.bodies), len(self.script)) - 1]


def complaint(dialect: Dialect, body: dict[str, Any], *, knows_schemas: bool) -> str | None:
    """Return why a provider would answer 400, or `None`."""
    if body.get("stream"):
        return "this server does not stream"
    schema, is_strict = schema_in(dialect, body)
    if not is_strict:
        return "the schema is not strict"
    if schema is not None and not knows_schemas:
        return "'response_format' is not supported here"
    if schema is not None and (problem := _loose(schema, "schema")):
        return problem
    listed = body.get("messages", body.get("input"))
    return None if isinstance(listed, list) and listed else "messages: at least one message is required"


def schema_in(dialect: Dialect, body: dict[str, Any]) -> tuple[Any, bool]:
    """Return the schema a request asks the answer to keep to, `None` without one, and whether it is asked for as strict."""
    if dialect == "chat" and "response_format" in body:
        asked = body["response_format"]["json_schema"]
        return asked["schema"], asked.get("strict") is True
    if dialect == "responses" and "format" in body.get("text", {}):
        asked = body["text"]["format"]
        return asked["schema"], asked.get("strict") is True
    return (body["output_config"]["format"]["schema"] if "output_config" in body else None), True


def _loose(schema: dict[str, Any], path: str) -> str | None:
    """Return where a schema is not of the strict kind: every key required, none besides, no defaults, no references."""
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return f"{path}: additionalProperties must be false"
        if set(schema.get("required", [])) != set(schema["properties"]):
            return f"{path}: every property must be required"
    if set(schema) & {"default", "$ref", "minItems", "maxLength", "pattern"}:
        return f"{path}: unsupported keyword"
    inner = [*schema.get("properties", {}).items(), *((str(at), part) for at, part in enumerate(schema.get("anyOf", [])))]
    inner += [("items", schema["items"])] if "items" in schema else []
    return next((problem for name, part in inner if (problem := _loose(part, f"{path}.{name}"))), None)


def body_of(dialect: Dialect, reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON a provider answers with."""
    read, written = USAGE
    if dialect == "chat":
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.ending == "refusal":
            message |= {"content": None, "refusal": reply.text}
        if reply.arguments is not None:
            name = asked["tools"][0]["function"]["name"]
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": reply.arguments}}]
        finish = {"stop": "stop", "refusal": "stop", "length": "length", "filter": "content_filter"}[reply.ending]
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
        }
    if dialect == "responses":
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        if reply.ending == "refusal":
            part = {"type": "refusal", "refusal": reply.text}
        status = "incomplete" if reply.ending in ("length", "filter") else "completed"
        output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}] if reply.has_reasoning else []
        if reply.arguments is not None:
            name = asked["tools"][0]["name"]
            output.append({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "arguments": reply.arguments, "status": status})
        elif reply.text:
            output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": [part]})
        reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(reply.ending)
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": asked["model"],
            "status": status,
            "incomplete_details": None if reason is None else {"reason": reason},
            "error": None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": read,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": written,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": read + written,
            },
        }
    content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}] if reply.has_reasoning else []
    if reply.arguments is not None:
        content.append({"type": "tool_use", "id": "toolu_1", "name": asked["tools"][0]["name"], "input": json.loads(reply.arguments)})
    elif reply.text:
        content.append({"type": "text", "text": reply.text})
    stop = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "filter": "refusal"}[reply.ending]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": written},
    }


def error_of(dialect: Dialect, failure: Failure) -> dict[str, Any]:
    """Return the JSON of an error."""
    if dialect == "messages":
        return {"type": "error", "error": {"type": "api_error", "message": failure.message}}
    return {"error": {"message": failure.message, "type": "server_error", "param": None, "code": None}}


@contextmanager
def serving(script: Sequence[Reply | Failure]) -> Iterator[Wire]:
    """Serve a script on loopback until the block ends."""
    wire = Wire(script=list(script))

    class Handler(BaseHTTPRequestHandler):
        # Each answer closes its connection: a pool kept by a client would outlive the event loop of its test.
        protocol_version = "HTTP/1.0"

        def do_POST(self) -> None:
            dialect = PATHS[self.path.partition("?")[0]]
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            entry = wire.taken(body)
            problem = complaint(dialect, body, knows_schemas=wire.knows_schemas)
            if problem is not None:
                wire.refused.append(problem)
                entry = Failure(400, problem)
            if isinstance(entry, Failure):
                self._send(entry.status, error_of(dialect, entry), entry.retry_after)
            else:
                self._send(200, body_of(dialect, entry, body))

        def _send(self, status: int, data: dict[str, Any], retry_after: str | None = None) -> None:
            text = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            if retry_after is not None:
                self.send_header("retry-after", retry_after)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    wire.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
