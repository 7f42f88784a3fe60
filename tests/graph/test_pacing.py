from __future__ import annotations

import warnings
from typing import Any

import pytest

from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.pacing import Pace, Windows, check_sizes, known_window, pace_of, smaller_keep, triggered
from tests.graph.models import ScriptedChat


def settings(**changes: Any) -> CompactionSettings:
    return CompactionSettings.of(**changes)


@pytest.mark.parametrize(
    ("trigger", "sizes", "unit"),
    [
        (("tokens", 100), (100, 1), "tokens"),
        (("tokens", 100), (99, 1), None),
        (("messages", 5), (0, 5), "messages"),
        (("messages", 5), (0, 4), None),
        (("fraction", 0.5), (500, 0), "fraction"),
        (("fraction", 0.5), (499, 0), None),
        ({"tokens": 100, "messages": 5}, (100, 5), "tokens+messages"),
        ({"tokens": 100, "messages": 5}, (100, 4), None),
        ({"tokens": 100, "messages": 5}, (99, 5), None),
        ([("tokens", 100), ("messages", 5)], (0, 5), "messages"),
        ([("tokens", 100), ("messages", 5)], (99, 4), None),
        ([{"tokens": 100, "fraction": 0.5}, ("messages", 5)], (499, 4), None),
        (None, (10**9, 10**9), None),
    ],
)
def test_a_trigger_holds_at_its_threshold(trigger: Any, sizes: tuple[int, int], unit: str | None) -> None:
    """Thresholds are met when reached, all of a dict, any of a list; the record is told which."""
    tokens, messages = sizes
    assert unit == triggered(settings(trigger=trigger, keep=("messages", 0)), tokens=tokens, messages=messages, window=1_000)


@pytest.mark.parametrize(
    ("trigger", "goal"),
    [
        (("tokens", 100), 99),
        (("fraction", 0.5), 499),
        (("messages", 5), 999),
        ([("tokens", 700), ("fraction", 0.5)], 499),
        ({"tokens": 300, "messages": 5}, 299),
        (("tokens", 5_000), 999),
        (("tokens", 1), 1),
        (None, 999),
    ],
)
def test_a_compaction_aims_below_its_trigger_and_its_window(trigger: Any, goal: int) -> None:
    """The goal is one token below the lowest threshold in tokens, and never above the window."""
    assert Pace(window=1_000, goal=goal) == pace_of(settings(trigger=trigger, keep=("messages", 0)), 1_000)


def test_sizes_in_another_count() -> None:
    """A provider that counts twice what we do leaves half of every size in our count, never nothing."""
    pace = Pace(window=1_000, goal=749)
    assert pace is pace.scaled(1.0)
    assert Pace(window=500, goal=374) == pace.scaled(0.5)
    assert Pace(window=1, goal=1) == pace.scaled(0.0)


def test_the_window_of_the_settings_wins() -> None:
    """A window that is set corrects a model that says it wrongly; without either nothing is known."""
    model = ScriptedChat(profile={"max_input_tokens": 1_000})
    assert 500 == known_window(settings(window=500), model)
    assert 1_000 == known_window(settings(), model)
    assert None is known_window(settings(), ScriptedChat())
    assert None is known_window(settings(), None)


@pytest.mark.parametrize("profile", [{}, {"max_input_tokens": None}, {"max_input_tokens": 0}, {"max_input_tokens": "many"}, {"max_input_tokens": -5}])
def test_a_profile_that_says_nothing_usable_is_an_unknown_window(profile: dict[str, Any]) -> None:
    """No division by zero and no negative goal: the default is assumed and said."""

    class Model:
        def __init__(self) -> None:
            self.profile = profile

    with pytest.warns(UserWarning, match="128,000 tokens are assumed"):
        assert (128_000, False) == Windows(settings()).of(Model())


@pytest.mark.parametrize(
    ("changes", "warns"),
    [
        ({}, True),
        ({"keep": ("fraction", 0.1), "trigger": ("tokens", 100)}, True),
        ({"trigger": [("tokens", 5), ("fraction", 0.5)]}, True),
        ({"trigger": ("tokens", 100)}, False),
        ({"trigger": ("messages", 100)}, False),
        ({"trigger": None}, False),
    ],
)
def test_an_unknown_window_is_said_once_where_it_matters(changes: dict[str, Any], warns: bool) -> None:  # noqa: FBT001
    """Only a fraction needs the window."""
    windows = Windows(settings(**changes))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert (128_000, False) == windows.of(None)
    assert int(warns) == len(caught)


@pytest.mark.parametrize(
    ("changes", "pinned"),
    [
        ({"trigger": ("tokens", 100)}, 100),
        ({"trigger": ("tokens", 100), "keep": ("tokens", 60)}, 40),
        ({"trigger": ("fraction", 0.5), "window": 200, "keep": ("tokens", 60)}, 40),
        ({"trigger": ("fraction", 0.5), "window": 200, "keep": ("fraction", 0.3)}, 40),
        ({"trigger": ("fraction", 0.5), "keep": ("fraction", 0.5)}, 0),
        ({"trigger": ("messages", 20), "keep": ("messages", 20)}, 0),
        ({"trigger": [("messages", 90), ("tokens", 100)], "keep": ("tokens", 100)}, 0),
    ],
)
def test_pins_and_keep_above_the_trigger_are_refused(changes: dict[str, Any], pinned: int) -> None:
    """What would start the next compaction at once is refused while constructing, with the numbers."""
    with pytest.raises(ConfigurationError, match="Every compaction would start the next one"):
        check_sizes(settings(**changes), pinned_tokens=pinned)


@pytest.mark.parametrize(
    ("changes", "pinned"),
    [
        ({"trigger": ("tokens", 100)}, 99),
        ({"trigger": ("tokens", 100), "keep": ("tokens", 60)}, 39),
        ({"trigger": ("fraction", 0.5), "keep": ("fraction", 0.49)}, 10**6),
        ({"trigger": ("messages", 20), "keep": ("messages", 19)}, 10**6),
        ({"trigger": None, "keep": ("tokens", 10**6)}, 10**6),
        ({}, 10**6),
    ],
)
def test_what_can_work_is_accepted(changes: dict[str, Any], pinned: int) -> None:
    """Nothing is refused that is not known to fail."""
    check_sizes(settings(**changes), pinned_tokens=pinned)


@pytest.mark.parametrize(
    ("keep", "smaller"),
    [
        (("turns", 3), ("turns", 1)),
        (("turns", 1), ("turns", 1)),
        (("turns", 0), ("turns", 0)),
        (("messages", 20), ("turns", 1)),
        (("tokens", 0), ("tokens", 0)),
    ],
)
def test_after_an_overflow_less_is_kept(keep: Any, smaller: Any) -> None:
    """Never more than was asked for in the first place."""
    assert smaller == tuple(smaller_keep(settings(keep=keep)))
