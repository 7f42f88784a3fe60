from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from langchain_ctxguard.domain.prefix import DriftReason, PrefixReport, Price, PriceTable, TokenUsage

PRICES = PriceTable(
    prices={
        "gpt-x": Price(input=Decimal(2), cached_input=Decimal("0.5"), output=Decimal(8)),
        "anthropic:claude-y": Price(input=Decimal(3), cached_input=Decimal("0.3"), cache_write=Decimal("3.75"), output=Decimal(15)),
        "plain": Price(input=Decimal(1), output=Decimal(1)),
    }
)


def usage(given: int, out: int = 0, **details: Any) -> dict[str, Any]:
    return {"input_tokens": given, "output_tokens": out, "total_tokens": given + out, "input_token_details": details}


@pytest.mark.parametrize(
    ("told", "metadata", "expected"),
    [
        (usage(1_000, 5, cache_read=900), None, (1_000, 5, 900, 0)),
        (usage(1_000, 5, cache_read=0), None, (1_000, 5, 0, 0)),
        (usage(1_000, 5), None, (1_000, 5, None, 0)),
        (usage(1_000, 5, cache_read=600, cache_creation=300), None, (1_000, 5, 600, 300)),
        (usage(1_000, 5, cache_read=600, cache_creation=0, ephemeral_5m_input_tokens=100, ephemeral_1h_input_tokens=50), None, (1_000, 5, 600, 150)),
        (usage(1_000, 5, cache_read=None), None, (1_000, 5, None, 0)),
        # DeepSeek, and gateways that speak OpenAI's form.
        (usage(1_000, 5), {"token_usage": {"prompt_cache_hit_tokens": 700, "prompt_cache_miss_tokens": 300}}, (1_000, 5, 700, 0)),
        (
            None,
            {"token_usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}},
            (10, 2, 4, 0),
        ),
        # Anthropic and Bedrock count the cache beside the input.
        (
            None,
            {"usage": {"input_tokens": 100, "output_tokens": 2, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 50}},
            (950, 2, 800, 50),
        ),
        (None, {"usage": {"inputTokens": 100, "outputTokens": 2, "cacheReadInputTokens": 800, "cacheWriteInputTokens": 0}}, (900, 2, 800, 0)),
        (None, {"usage_metadata": {"prompt_token_count": 10, "candidates_token_count": 2, "cached_content_token_count": 6}}, (10, 2, 6, 0)),
        # More read from the cache than was sent: a provider's slip.
        (usage(100, 5, cache_read=900), None, (100, 5, 100, 0)),
    ],
)
def test_every_providers_usage_is_read(told: Any, metadata: Any, expected: tuple[int, int, int | None, int]) -> None:
    """Input is everything that was sent; a hit nobody reported is unknown, not zero."""
    assert expected == TokenUsage.of(told, metadata)


@pytest.mark.parametrize("told", [None, {}, {"input_tokens": "many"}, {"input_tokens": -1}, {"input_tokens": True}, [1], "x"])
@pytest.mark.parametrize("metadata", [None, {}, {"token_usage": None}, {"usage": {"input_tokens": None}}, "x"])
def test_no_usage_is_none(told: Any, metadata: Any) -> None:
    """Nonsense in the place of usage is no usage, and never an error."""
    assert TokenUsage.of(told, metadata) is None


def test_misses_are_what_was_not_read_from_the_cache() -> None:
    """Hits and misses add up to the input; without a report both are unknown."""
    assert 100 == TokenUsage(1_000, cache_hit=900).cache_miss
    assert TokenUsage(1_000).cache_miss is None


@pytest.mark.parametrize(
    ("provider", "model", "used", "cost"),
    [
        ("openai", "gpt-x", TokenUsage(1_000, 100, 600), "0.0019"),
        ("openai", "gpt-x", TokenUsage(1_000, 100), "0.0028"),
        ("openai", "gpt-x-2026-01-31", TokenUsage(1_000_000, 0, 1_000_000), "0.5"),
        ("anthropic", "claude-y-20260131", TokenUsage(1_000_000, 0, 500_000, 200_000), "1.8"),
        ("anyone", "plain", TokenUsage(500_000, 500_000, 500_000), "1"),
    ],
)
def test_a_call_costs_what_the_table_says(provider: str, model: str, used: TokenUsage, cost: str) -> None:
    """Cached, written and fresh tokens each have their price; a date in the model's name does not matter."""
    assert Decimal(cost) == PRICES.cost(provider, model, used)


@pytest.mark.parametrize(("provider", "model"), [("openai", "gpt-x-mini"), ("openai", "claude-y"), ("", "")])
def test_an_unknown_model_has_no_cost(provider: str, model: str) -> None:
    """A price is never guessed from a name that merely begins alike."""
    assert PRICES.cost(provider, model, TokenUsage(1_000)) is None


def test_a_report_travels_as_json() -> None:
    """A report is a value: it comes back from JSON as it was."""
    report = PrefixReport(
        prefix_fingerprint="0" * 32, serializer_version=1, first_changed_offset=7, drift_reason=DriftReason.TOOL_ORDER, cost=Decimal("0.0019")
    )
    assert report == PrefixReport.model_validate_json(report.model_dump_json())
