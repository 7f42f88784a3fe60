"""A listed checkpoint whose content is read when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, PendingWrite


class LazyTuple(CheckpointTuple):
    """A `CheckpointTuple` that knows its config and metadata, and reads the rest at the first look. To unpack it is to look."""

    _raw: CheckpointTuple
    _read: Callable[[CheckpointTuple], CheckpointTuple]
    _found: CheckpointTuple | None

    @classmethod
    def of(cls, raw: CheckpointTuple, read: Callable[[CheckpointTuple], CheckpointTuple]) -> Self:
        """Return `raw`, to be read with `read`."""
        made = tuple.__new__(cls, tuple(raw))
        made.__dict__.update(_raw=raw, _read=read, _found=None)
        return made

    def whole(self) -> CheckpointTuple:
        """Return the checkpoint with its content."""
        if self._found is None:
            self._found = self._read(self._raw)
        return self._found

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint, with its content."""
        return self.whole().checkpoint

    @property
    def pending_writes(self) -> list[PendingWrite] | None:
        """The pending writes, with their content."""
        return self.whole().pending_writes

    def __iter__(self) -> Iterator[Any]:
        """Unpack it, with its content."""
        return iter(self.whole())

    def __getitem__(self, index: Any) -> Any:
        """Return a field, with its content."""
        return self.whole()[index]

    def _replace(self, **fields: Any) -> CheckpointTuple:  # type: ignore[override]  # what comes back is read already
        return self.whole()._replace(**fields)

    def __eq__(self, other: object) -> bool:
        """Compare it, with its content."""
        return tuple(self.whole()) == (tuple(other) if isinstance(other, tuple) else other)

    def __ne__(self, other: object) -> bool:
        """Compare it, with its content."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # a checkpoint holds dicts, and has no hash either

    def __repr__(self) -> str:
        """Show it, with its content."""
        return repr(self.whole())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy it as what it is: a checkpoint with its content."""
        return CheckpointTuple, tuple(self.whole())
