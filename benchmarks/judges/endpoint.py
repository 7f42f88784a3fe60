"""A chat-completions endpoint on loopback, for judges that ask a model.

What it says comes from functions: it shows what stands in a text, and nothing about what a real model would do.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[list[dict[str, Any]]], "str | tuple[str, dict[str, Any]]"]
"""Returns what the model says to a list of messages: a text, or the name and the arguments of a call."""


@contextmanager
def endpoint(answers: dict[str, Answer]) -> Iterator[str]:
    """Serve models by name, and give the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = answers[request["model"]](request["messages"])
            message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
            if not isinstance(said, str):
                function = {"name": said[0], "arguments": json.dumps(said[1])}
                message["tool_calls"] = [{"id": "call_0", "type": "function", "function": function}]
            body = json.dumps(
                {
                    "id": "chatcmpl-0",
                    "object": "chat.completion",
                    "created": 0,
                    "model": request["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
                }
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
