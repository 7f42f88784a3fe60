"""What version 1 of the ledger wrote is read for good."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_ctxguard import ConsentLedger, GuardStore

GOLDEN = Path(__file__).parent / "golden" / "consents-v1.json"


def restored() -> GuardStore:
    """Return a store that holds what was written then, hashes and all."""
    document: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    moment = [datetime(2026, 6, 1, tzinfo=UTC)]
    store = GuardStore.open("memory://", clock=lambda: moment[0])
    for space, address, content in document["blobs"]:
        assert [address] == store.blobs.put(space, [base64.b64decode(content)])
    for entry in document["entries"]:
        moment[0] = datetime.fromisoformat(entry["at"])
        (written,) = store.log.append(store.stream(entry["kind"], entry["key"]), [entry["body"].encode()], refs=entry["refs"])
        assert entry["hash"] == written.hash
    return store


def test_a_ledger_of_version_1_stays_readable() -> None:
    """Words, values, questions and answers: none means another thing than it did."""
    with restored() as store:
        ledger = ConsentLedger(store)
        at = datetime(2026, 6, 2, tzinfo=UTC)
        read = ledger.reader().read("u-1", thread="t-1", at=at)
        words = {one.field: (str(one.status), None if one.value is None else one.value.data.decode(), one.is_in_force(at)) for one in read.entries}
        assert {
            "code": ("revoked", None, False),
            "consent.cross_session_memory": ("denied", "false", False),
            "old": ("expired", None, False),
            "retain_code": ("granted", '{"days": 1.0, "note": "cafe\u0301 订单"}', True),
            "send_mail": ("granted", "true", True),
        } == words
        consent = read.get("retain_code")
        assert consent is not None
        assert ("contract", "billing", "form-7", "ann", "settings page") == (
            consent.basis,
            consent.purpose,
            consent.evidence_ref,
            consent.recorded_by,
            consent.surface,
        )
        answered = read.get("send_mail")
        assert answered is not None
        question = ledger.question(answered.evidence_ref.removeprefix("consent-question/"))
        assert question is not None
        assert ("May I? 可以吗?", "t-1", "c-1") == (question.text, question.thread, question.checkpoint)
        assert "second" == ledger.answer(answered.evidence_ref.removeprefix("consent-question/"), value=True, recorded_by="x").refused
