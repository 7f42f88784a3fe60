"""Where the visible context starts, and what stands for the part before it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, NonNegativeInt, SerializerFunctionWrapHandler, field_serializer, model_serializer

from langchain_ctxguard.domain.copied import Copied
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import StructuredSummary
from langchain_ctxguard.domain.value import Value, canonical_json, digest_of

SCHEMA_VERSION = 1

LARGEST = 2**53
"""Larger numbers are not the same number in every reader of JSON, and no count of messages or versions."""


class Cut(Value):
    """The first kept message, found by identity; the position is a hint the identity must confirm."""

    anchors: tuple[str, ...] = ()
    """Keys of the first kept messages, oldest first: the earliest survivor serves, so trimming the state hides nothing."""

    position: int = Field(default=0, ge=0)
    """How many messages of the original list lie before the cut."""

    evicted: str | None = None
    """Key of the last message before the cut: serves when everything kept was removed since."""


class TightForm(Value):
    """The record is written in as few words as say it, because the budget was short: one message with one frame, no mark before each line."""

    left_out: NonNegativeInt = 0
    """Sentences people said that left with this version and found no room even so."""


class ContextBody(Value):
    """What a version shows in place of the evicted messages."""

    summary: StructuredSummary
    evidence: Evidence
    summary_id: str
    """Id of the rendered summary message: random in an agent, so no client can claim it."""

    request: str | None = None
    """Key of the last human message where it lies before the cut; it stands verbatim in every view."""

    elided: dict[str, NonNegativeInt] = Field(default_factory=dict)
    """Tool results too large for the window: call id -> characters shown. The originals stay where they are."""

    can_read: bool = False
    """The model had a tool that reads what is left out of a result, when this version was made."""

    committed_at: str | None = None
    """Key of the newest message when this version was made: usage reported before it describes another context."""

    rules_fingerprint: str = ""
    """Fingerprint of the rules in force when this version was made."""

    rendered: tuple[str, ...] = ()
    """Digests of the pins, evidence and summary texts: a list that holds them is a view of this version."""

    tight: TightForm | None = None
    """Set where the record is written tight; `None` for the ordinary form."""

    copied: Copied | None = None
    """The record as it was when this version was made, for the reader of the context. Only `core.carry_over.carried_over` puts it here."""

    @model_serializer(mode="wrap")
    def _without_no_copy(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A version without a copy is written as it was before there were copies: its digest is what other versions name. So with the tight form.
        data: dict[str, Any] = dump(self)
        return {name: value for name, value in data.items() if value is not None or name not in {"copied", "tight"}}

    @field_serializer("summary")
    def _small(self, summary: StructuredSummary) -> dict[str, Any]:
        return summary.stored()

    @property
    def structured(self) -> StructuredSummary:
        """The whole summary: what was told, and from the evidence what was done, which files were touched and what was forbidden."""
        return self.summary.model_copy(
            update={
                "actions_done": tuple(action for action in self.evidence.actions if action.status == "done"),
                "artifacts": self.evidence.artifacts,
                "do_not": tuple(rule.inferred_id for rule in self.evidence.inferred if rule.kind == "ban" and rule.status != "dropped"),
            }
        )


class ContextHead(Value):
    """The newest version of a thread's context, as it lies in the state channel `ctxguard`.

    The channel is private but no secret: it can be read in streams and forged with `update_state`. Without a matching digest
    and a known cut it counts for nothing, and it never touches a rule.
    """

    version: int = Field(ge=0)
    cut: Cut = Cut()
    cool_down: int | None = None
    """No new attempt before the view holds this many tokens: set by a rejected compaction."""

    pins: str | None = None
    """Digest of the pins of a view that was handed out without a new version, so that it is recognised when it is given back."""

    body: ContextBody | None = None
    """`None` before the first version (a head may carry nothing but a cool-down)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: `{schema_version, version, cut, cool_down, digest, body}`, body as one JSON string."""
        plain = self._plain()
        return {**plain, "digest": digest_of(canonical_json(plain))}

    def _plain(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "version": self.version,
            "cut": self.cut.model_dump(mode="json"),
            "cool_down": self.cool_down,
            **({} if self.pins is None else {"pins": self.pins}),
            "body": None if self.body is None else canonical_json(self.body.model_dump(mode="json")),
        }


HeadFault = Literal["not_a_head", "unknown_schema", "digest_mismatch", "unreadable_body"]
"""Why a stored head counts for nothing."""


def read_head(data: Any) -> ContextHead | HeadFault | None:
    """Return the head in `data`, `None` where there is none, or the fault that makes it count for nothing.

    Never raises: a head is untrusted data.
    """
    if data is None or data == {}:
        return None
    # `True` is a 1 to Python and no number to anybody else.
    if not isinstance(data, dict) or type(data.get("version")) is not int:
        return "not_a_head"
    if type(data.get("schema_version")) is not int or data["schema_version"] != SCHEMA_VERSION:
        return "unknown_schema"
    plain = {key: value for key, value in data.items() if key != "digest"}
    try:
        if digest_of(canonical_json(plain)) != data.get("digest"):
            return "digest_mismatch"
        body = data["body"]
        head = ContextHead(
            version=data["version"],
            cut=Cut.model_validate(data["cut"]),
            cool_down=data["cool_down"],
            pins=data.get("pins"),
            body=None if body is None else ContextBody.model_validate_json(body),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return "unreadable_body"
    largest = max(head.version, head.cut.position, abs(head.cool_down or 0))
    return "unreadable_body" if largest > LARGEST else head
