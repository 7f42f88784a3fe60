"""A server on loopback that takes what the LangSmith client sends: multipart uploads, plain or zstd, and what it asks."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import zstandard

INFO = {
    "batch_ingest_config": {
        "use_multipart_endpoint": True,
        "size_limit": 100,
        "size_limit_bytes": 20_971_520,
        "scale_up_nthreads_limit": 16,
        "scale_up_qsize_trigger": 1_000,
    },
    "instance_flags": {"zstd_compression_enabled": True},
}

_SESSIONS = [
    {
        "id": str(uuid.UUID(int=7)),
        "name": "default",
        "start_time": "2026-01-01T00:00:00Z",
        "tenant_id": str(uuid.UUID(int=1)),
        "reference_dataset_id": None,
    }
]


@dataclass
class Received:
    """What came in, put together by run."""

    url: str = ""
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    feedback: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, kind: str, run_id: str, part: str, value: Any) -> None:
        """Put a part of an upload where it belongs."""
        with self._lock:
            if kind == "feedback":
                self.feedback.append(value)
                return
            run = self.runs.setdefault(run_id, {})
            run.update({part: value} if part else {name: found for name, found in value.items() if found is not None})

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the runs of a name, oldest first."""
        return sorted((run for run in self.runs.values() if run.get("name") == name), key=lambda run: run["dotted_order"])

    def below(self, run: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the runs whose parent is `run`."""
        return [other for other in self.runs.values() if other.get("parent_run_id") == run["id"]]

    @property
    def text(self) -> str:
        """Everything that was sent, as one text."""
        return b"\n".join(self.bodies).decode("utf-8", "replace")


class _Handler(BaseHTTPRequestHandler):
    """Answers what the client asks, and takes what it sends apart."""

    received: Received

    def do_GET(self) -> None:
        self.received.requests.append(self.path)
        self._answer(_SESSIONS if self.path.startswith("/sessions") else INFO)

    def do_POST(self) -> None:
        self.received.requests.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])) if self.headers.get("Content-Length") else self._chunks()
        if self.headers.get("Content-Encoding") == "zstd":
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        self.received.bodies.append(body)
        if self.path.startswith("/feedback"):
            self.received.take("feedback", "", "", json.loads(body))
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        for part in BytesParser().parsebytes(head + body).walk():
            name = part.get_param("name", header="Content-Disposition")
            payload = part.get_payload(decode=True)
            if isinstance(name, str) and isinstance(payload, bytes):
                kind, run_id, *rest = name.split(".")
                self.received.take(kind, run_id, rest[0] if rest else "", json.loads(payload))
        self._answer({}, 202)

    do_PATCH = do_POST  # noqa: N815 - the name http.server looks for

    def _chunks(self) -> bytes:
        whole = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        return whole

    def _answer(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def langsmith_server() -> Iterator[Received]:
    """Serve on a free port of 127.0.0.1 until the block ends; `url` of what is returned is the address for `langsmith.Client(api_url=...)`."""
    received = Received()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"received": received}))
    received.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
