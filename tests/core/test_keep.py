from __future__ import annotations

from langchain_ctxguard.core.keep import VERSIONS_KEPT, Saved, latest, with_needed
from langchain_ctxguard.records.versions import KEPT


def chain(count: int, *, namespace: str = "", **by_number: dict[str, object]) -> list[Saved]:
    """Return checkpoints 0 to `count`, each the parent of the next."""
    return [
        Saved.model_validate(
            {
                "namespace": namespace,
                "checkpoint": f"{number:02}",
                "parent": f"{number - 1:02}" if number else None,
                **by_number.get(f"n{number}", {}),
            }
        )
        for number in range(count)
    ]


def test_the_newest_of_each_namespace_and_of_each_version_stay() -> None:
    """However the checkpoints are listed; of many versions the newest."""
    thread = chain(5, n1={"version": 1}, n2={"version": 1}, n3={"version": 2}) + chain(2, namespace="child")
    assert {("", "04"), ("", "03"), ("", "02"), ("child", "01")} == latest(reversed(thread))
    assert {("", "04"), ("", "03"), ("child", "01")} == latest(thread, versions=1)
    assert set() == latest([])


def test_what_a_value_is_rebuilt_from_stays() -> None:
    """Back to the nearest checkpoint that holds it, for every channel; in its own namespace."""
    held = {"n1": {"holds": frozenset({"a"})}, "n3": {"holds": frozenset({"b"})}, "n5": {"rebuilt": frozenset({"a", "b"})}}
    thread = chain(6, **held) + chain(6, namespace="child")
    assert {("", "05"), ("", "04"), ("", "03"), ("", "02"), ("", "01")} == with_needed(thread, {("", "05")})
    assert {("", "00")} == with_needed(thread, {("", "00")})


def test_a_value_nobody_holds_needs_everything_before_it() -> None:
    """It was written since the beginning; a parent that is gone ends the search."""
    thread = chain(3, n2={"rebuilt": frozenset({"a"})})
    assert 3 == len(with_needed(thread, {("", "02")}))
    assert {("", "02"), ("", "01")} == with_needed(thread[1:], {("", "02")})
    assert {("", "09")} == with_needed(thread, {("", "09")})


def test_what_an_early_checkpoint_sends_lies_with_its_parent() -> None:
    """One step back, and no further."""
    assert {("", "02"), ("", "01")} == with_needed(chain(3, n2={"reads_parent": True}), {("", "02")})


def test_a_checkpoint_without_a_version_is_no_version() -> None:
    """What was saved before the first compaction takes nobody's place among the versions."""
    thread = [Saved(namespace="", checkpoint="00"), Saved(namespace="", checkpoint="01"), Saved(namespace="", checkpoint="02", version=1)]
    assert {("", "02")} == latest(thread)


def test_as_many_versions_keep_a_checkpoint_as_keep_their_content() -> None:
    """A version that can be read can be gone back to."""
    thread = [Saved(namespace="", checkpoint=f"{number:02}", version=number) for number in range(1, 2 * KEPT + 1)]
    assert KEPT == VERSIONS_KEPT == len(latest(thread))
