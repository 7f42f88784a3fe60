"""The labelled transcripts, and the recall that was reached on them as floors. All of them were looked at, so nothing here is held out."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    """The benchmark, which runs as a file beside `measuring.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        spec = importlib.util.spec_from_file_location("extractive_benchmark", BENCHMARKS / "extractive.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Its dataclass looks its module up by name.
        patch.setitem(sys.modules, "extractive_benchmark", module)
        spec.loader.exec_module(module)
        sys.modules.pop("measuring", None)
        yield module


@pytest.fixture(scope="module")
def results(benchmark: ModuleType, field_transcripts: Path) -> list[Any]:
    """Every labelled conversation, compacted."""
    return [benchmark.held(item, field_transcripts) for item in benchmark.items()]


@pytest.mark.parametrize(
    ("part", "floors"),
    [
        ("whole", {"intent": 94, "open_items": 100, "decisions": 92, "artifacts": 100, "errors": 100, "corrections": 100, "latest_values": 97}),
        ("held", {"intent": 88, "open_items": 96, "decisions": 87, "artifacts": 98, "errors": 100, "corrections": 100, "latest_values": 95}),
        ("compacted", {"intent": 91, "open_items": 90, "decisions": 89, "artifacts": 98, "errors": 100, "corrections": 100, "latest_values": 96}),
    ],
)
def test_what_a_transcript_must_not_lose_is_seen(benchmark: ModuleType, results: list[Any], part: str, floors: dict[str, int]) -> None:
    """Of the labelled pieces, no smaller share stands in what the model would see than was reached."""
    seen = {row["kind"]: row["seen_percent"] for row in benchmark.by_part(results) if row["part"] == part}

    assert [] == [(kind, seen[kind], floor) for kind, floor in floors.items() if seen[kind] < floor]


def test_every_labelled_amount_and_date_is_seen(benchmark: ModuleType, results: list[Any], field_transcripts: Path) -> None:
    """Of the latest values, all that are amounts or dates stand in what the model would see."""
    figures = benchmark.figures_of(results, field_transcripts, is_small=True)

    assert figures["amounts_labels"] == figures["amounts_seen"] == 62


def test_most_conversations_are_really_compacted_and_none_over_its_bound(benchmark: ModuleType, results: list[Any]) -> None:
    """Recall is not bought with refusals or length: three in four are summarized, and together they shrink to less than two fifths."""
    compacted = [each for each in results if each.is_compacted]

    assert len(compacted) >= 35
    assert [] == [each.item["id"] for each in compacted if each.summary_tokens > benchmark.BOUND]
    assert sum(each.compaction.tokens_after for each in compacted) < 0.4 * sum(each.compaction.tokens_before for each in compacted)


def test_the_same_transcript_gives_the_same_summary(benchmark: ModuleType, results: list[Any], field_transcripts: Path) -> None:
    """Nothing but the messages decides."""
    for each in results[::6]:
        assert each.compaction.messages == benchmark.held(each.item, field_transcripts).compaction.messages


def test_the_label_set_is_whole(benchmark: ModuleType) -> None:
    """48 conversations and 503 labels, in two parts that a digest of the id tells apart."""
    items = benchmark.items()
    held = [item for item in items if not benchmark.is_tune(item)]

    assert 48 == len(items)
    assert 503 == sum(len(item[kind]) for item in items for kind in benchmark.KINDS)
    assert 0.4 < len(held) / len(items) < 0.6
