"""The version of its context on a checkpoint's metadata: how versions are found without reading a checkpoint."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

from langchain_ctxguard.graph.state import CHANNEL, head_version

VERSION_KEY = "ctxguard_version"
"""Under which metadata names the version."""


def stamped(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> CheckpointMetadata:
    """Return metadata that names the version of the context, where there is one. Metadata is never encrypted, so it is the number alone."""
    version = head_version(checkpoint["channel_values"].get(CHANNEL))
    stamp: Any = {**metadata, VERSION_KEY: version}
    return stamp if version else metadata
