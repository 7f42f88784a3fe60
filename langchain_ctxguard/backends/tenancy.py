"""A store is opened for one tenant: streams and spaces of another cannot be named through it."""

from __future__ import annotations

from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.errors import StoreError


def require_tenant(tenant: str | None, stream: Stream) -> None:
    """Let only streams of `tenant` pass; `None`: anybody's.

    Raises:
        StoreError: the stream is somebody else's.
    """
    if tenant is not None and stream.tenant != tenant:
        msg = f"The store is open for tenant '{tenant}', and the {stream} is not theirs. Nothing was read or written; open the store for that tenant."
        raise StoreError(msg)
