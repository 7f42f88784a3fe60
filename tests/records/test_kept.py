from __future__ import annotations

import pytest

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records.collected import COLLECTED, Collections
from langchain_ctxguard.records.kept import KEPT, KeptContent


def test_what_is_kept_adds_up_by_thread() -> None:
    """Each thread its own; nothing to keep is nothing written."""
    with GuardStore.open("memory://") as store:
        kept = KeptContent(store)
        kept.keep("t", ["ctx:1", "ctx:2"])
        kept.keep("t", ["ctx:3"])
        kept.keep("u", [])
        assert ({"ctx:1", "ctx:2", "ctx:3"}, set()) == (kept.of("t"), kept.of("u"))
        assert [2, 0] == store.log.heads([store.stream(KEPT, "t"), store.stream(KEPT, "u")])


@pytest.mark.parametrize("body", [b"[]", b'{"keep": 3}', b'{"other": 1}'])
def test_an_entry_nobody_can_read_stops_a_collection(body: bytes) -> None:
    """What is needed cannot be told then, so nothing may go."""
    with GuardStore.open("memory://") as store:
        store.log.append(store.stream(KEPT, "t"), [body])
        with pytest.raises(StoreError, match="does not say which content it keeps"):
            KeptContent(store).of("t")
        store.log.append(store.stream(COLLECTED, "t"), [b"[]"])
        with pytest.raises(StoreError, match="does not say what was set aside"):
            Collections(store).waiting("t")
