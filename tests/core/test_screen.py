from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core import infer, said
from langchain_ctxguard.core.screen import Screen, Screened, first_matches, words_of
from tests.support.builders import human

RULES = tuple(one.pattern for one in said._PATTERNS)
WORDS = (
    "use go with stick to pick not instead of rather than in place but i meant should be no, nope, sorry, never, don't do not dont you must we "
    "the agent "
    "are allowed is forbidden under no circumstances make sure avoid stop only always have to from now on remember to prefer answer in english "
    'keep your answers for now this time please and , ; . ! — ( " x.y/z-1 warehouse because tab\tbed ſo İ 不是 而是 禁止 不要 别 用 改用 必须 务必 '
    "一定要 只能 只有 才能 以后 从现在起 请 使用 中文 这次 暂时 我希望你 每次 ， ： 。 \x1c \xa0 \u3000 \ud800"
)
texts = st.lists(st.sampled_from([*WORDS.split(" "), "\n", "\x0b", ""]), max_size=14).flatmap(
    lambda words: st.sampled_from([" ", " ", "  ", "", "\n"]).map(lambda blank: blank.join(words))
)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"^never (?!mind)\w+", {"\bnever "}),
        (r"[abcd][abcd][abcd][abcd]house", {"ahouse", "bhouse", "chouse", "dhouse"}),
        (r"seven (?:\w+ )?two", {"seven "}),
        (r"a[,;]?\s*b", {"ab", "a b", "a,b", "a, b", "a;b", "a; b"}),
        (r"\bone\b|two{1,3}", {"\bone\b", "tw"}),
        (r"(?:x|yy)[^,]{1,60}? instead\b", {" instead\b"}),
        (r"(?:long (?:way|road)|\w+s) home", {" home"}),
        (r"\u4e0d\s*[\u4e00-\u9fff]", {"不", "不 "} - {"不 "}),
    ],
)
def test_a_pattern_is_told_by_words_no_match_is_without(pattern: str, words: set[str]) -> None:
    """Lookarounds, gaps and counts are left out; of what is certain the longest part is taken."""
    assert words_of(pattern) == words


def test_a_pattern_that_any_text_may_hold_is_refused() -> None:
    """Nothing certain to look for would make a screen that lets everything through unseen."""
    with pytest.raises(ValueError, match="whatever it says"):
        words_of(r"\w+(?:not)?")


@given(texts)
def test_a_screen_never_misses_a_match(text: str) -> None:
    """Whatever pattern of a rule is found in a sentence, the screen names it, in their order, and no match is lost between patterns."""
    words = said.plain(text)
    hits = said._SCREEN.hits(words)
    found = [number for number, pattern in enumerate(RULES) if pattern.search(words) and (said._HAN.search(words) or number < len(said.SCREENED_EN))]
    assert set(found) <= set(hits)
    assert hits == sorted(hits)
    assert said._SCREEN.may_hit(words) == bool(hits)


@given(texts)
def test_patterns_apart_find_what_their_alternation_finds(text: str) -> None:
    """Split patterns give the matches of the joined one: the leftmost first, of two at one place the one named first."""
    joined = re.compile("|".join(f"(?:{pattern.pattern})" for pattern in RULES))
    assert [match.span() for match in joined.finditer(text)] == [match.span() for match in first_matches(text, RULES)]


@pytest.mark.parametrize("name", ["_FREES", "_REPORTS_EN", "_REPORTS_ZH", "_LIFTS_EN", "_LIFTS_ZH", "_TEMPORARY_EN", "_TEMPORARY_ZH"])
@given(text=texts)
def test_a_screened_pattern_finds_what_the_pattern_finds(name: str, text: str) -> None:
    """The cheap look changes no answer."""
    screened: Screened = getattr(said, name)
    found, expected = screened.search(text), screened._pattern.search(text)
    assert (found and found.span()) == (expected and expected.span())


def test_a_screen_reads_a_text_that_is_no_unicode() -> None:
    """A lone surrogate hides nothing that stands beside it."""
    assert Screen((r"\bnever \S",)).hits("\ud800 never x") == [0]


@pytest.mark.parametrize("unit", ["order ", "a", "use x not y ", "he said never do x, ", "不要", "1. ", "\"'", "(", "never\t", "必须 ", ": > "])
def test_searching_a_text_without_an_end_takes_time_in_proportion_to_it(unit: str) -> None:
    """Ten times the text costs about ten times the work, not a hundred times."""

    def cost(size: int) -> float:
        messages = [human(unit * (size // len(unit)))]
        spent = []
        for _ in range(3):
            said.rule_in.cache_clear()
            start = time.process_time()
            infer.infer(messages, ["key"])
            spent.append(time.process_time() - start)
        return min(spent)

    cost(4_000)
    assert cost(80_000) < 40 * max(cost(8_000), 1e-3)
