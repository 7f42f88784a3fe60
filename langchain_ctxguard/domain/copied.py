"""What crosses a compaction by being copied: consents, named keys of the state, and the standing state. Gates never read this copy."""

from __future__ import annotations

from pydantic import Field

from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.domain.value import Value, canonical_json, digest_of


class CopiedKey(Value):
    """A key of the graph's state, as it was when the copy was made."""

    name: str
    value: RawJson


class Copied(Value):
    """A copy of the record, taken when a version was made. It shows what held then; what holds now is in the stores."""

    consents: Consents | None = None
    """As the ledger gave them; `None`: no subject is known, or nothing keeps consents."""

    unspoken: tuple[str, ...] = ()
    """Consents the application knows and nobody spoke of."""

    state: tuple[CopiedKey, ...] = ()
    """The keys named in `carry` that the state held, by name."""

    standing: StandingState | None = None
    """`None`: the thread is not known, or its standing state is plain."""

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing in it."""
        return (self.consents is None or not self.consents.entries) and not (self.unspoken or self.state) and self.standing is None

    @property
    def digest(self) -> str:
        """One digest of all of it, every value byte for byte and in its order: equal before and after a compaction, or something changed."""
        return digest_of(canonical_json(self.model_dump(mode="json")))

    @property
    def told(self) -> tuple[object, ...]:
        """What of it is shown: two copies that tell the same are alike to a reader, whenever they were taken."""
        held = self.consents
        # Some end by the clock alone.
        consents = () if held is None else tuple((one.field, one.status, one.hash, one.is_in_force(held.at)) for one in held.entries)
        standing = self.standing
        told = () if standing is None else (standing.mode, standing.question, standing.replaced, tuple(sorted(standing.permissions.items())))
        return consents, self.unspoken, told


NO_COPY = Copied()


class CopyRecord(Value):
    """What a compaction copied, by digest and by name."""

    before: str = ""
    """Digest of what was read."""

    after: str = ""
    """Digest of what the new version holds, decoded from the form it is stored in."""

    keys: tuple[str, ...] = ()
    opens: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The tool rules that ask for each of the consents in force, by its field."""

    consent_head: int | None = None
    """Number of the last entry of the subject's ledger; `None`: no ledger was read."""

    is_consent_change: bool = False
    """Whether the ledger moved since the version before: this version is a marked checkpoint."""

    checkpoints: tuple[int, ...] = ()
    """The marked versions of this context, kept whole, this one among them."""

    @property
    def holds(self) -> bool:
        """Say whether what the version holds is what was read."""
        return self.before == self.after
