"""What is known of the prompt cache of one model call: telemetry, never a guarantee. No text of the conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import Field, SkipValidation

from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.value import Value

_MOST = 2**53
_MILLION = Decimal(1_000_000)
_BY_LIFETIME = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Where these are given, LangChain sets the sum of both to 0."""

_DATED = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$")


class DriftReason(StrEnum):
    """Why a call could not reuse all that the call before it had sent. Where several hold, the first one in prefix order."""

    POLICY_UPDATE = "policy_update"
    """A rule has a new version, came in, or moved."""

    PERMISSION_SHRINK = "permission_shrink"
    """A tool or a permission was taken away."""

    CONSTRAINT_REMOVED = "constraint_removed"
    """A rule is no longer in force."""

    TOOL_CHANGE = "tool_change"
    """A tool came in, or says something else."""

    TOOL_ORDER = "tool_order"
    KEY_ORDER = "key_order"
    """The same tools in the same order, their JSON written in another one."""

    MODEL_CHANGE = "model_change"
    PROVIDER_CHANGE = "provider_change"
    COMPACTION = "compaction"
    REBUILD = "rebuild"
    """The context was built anew: asked for, rolled back, or replaced from its first message on."""

    UNKNOWN = "unknown"
    """Something else changed the system prompt, or messages that had been sent."""


class TokenUsage(NamedTuple):
    """What a provider charged for one call."""

    input_tokens: int
    """Everything that was sent, cached or not."""

    output_tokens: int = 0
    cache_hit: int | None = None
    """Tokens read from the cache; `None` where the provider does not say."""

    cache_written: int = 0
    """Tokens put into the cache, where that is charged."""

    @property
    def cache_miss(self) -> int | None:
        """Tokens that were not read from the cache."""
        return None if self.cache_hit is None else max(0, self.input_tokens - self.cache_hit)

    @classmethod
    def of(cls, usage: Any, response: Any = None) -> TokenUsage | None:
        """Return the usage of an answer, `None` where nothing was reported.

        Args:
            usage: LangChain's `usage_metadata` of the message.
            response: Its `response_metadata`, where providers leave what LangChain has no place for.
        """
        if not isinstance(usage, Mapping):
            return _from_raw(_raw_usage(response))
        given = _number(usage.get("input_tokens"))
        if given is None:
            return _from_raw(_raw_usage(response))
        details = _mapping(usage.get("input_token_details"))
        hit = _number(details.get("cache_read"))
        if hit is None:
            hit = _hit_in(_raw_usage(response))
        written = _number(details.get("cache_creation")) or 0
        for name in _BY_LIFETIME:
            written += _number(details.get(name)) or 0
        return cls(
            input_tokens=given,
            output_tokens=_number(usage.get("output_tokens")) or 0,
            cache_hit=None if hit is None else min(hit, given),
            cache_written=written,
        )


class Price(Value):
    """What a model costs per million tokens, in any one currency."""

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    """`None`: as `input`."""

    cache_write: Decimal | None = None
    """`None`: as `input`."""


class PriceTable(Value):
    """Prices by model: `provider:model` or `model`, with or without its date.

    >>> PriceTable(prices={"gpt-x": {"input": "2", "cached_input": "0.5", "output": "8"}}).cost(
    ...     "openai", "gpt-x-2026-01-31", TokenUsage(input_tokens=1_000, cache_hit=600, output_tokens=100)
    ... )
    Decimal('0.0019')
    """

    prices: Mapping[str, Price]

    def price_of(self, provider: str, model: str) -> Price | None:
        """Return the price of a model, `None` for one the table does not name."""
        bare = _DATED.sub("", model)
        for name in (f"{provider}:{model}", model, f"{provider}:{bare}", bare):
            if name in self.prices:
                return self.prices[name]
        return None

    def cost(self, provider: str, model: str, usage: TokenUsage) -> Decimal | None:
        """Return what a call cost. Where the provider does not report its cache, all input counts as fresh."""
        price = self.price_of(provider, model)
        if price is None:
            return None
        hit = usage.cache_hit or 0
        written = min(usage.cache_written, usage.input_tokens - hit)
        total = (usage.input_tokens - hit - written) * price.input + usage.output_tokens * price.output
        total += hit * (price.input if price.cached_input is None else price.cached_input)
        total += written * (price.input if price.cache_write is None else price.cache_write)
        return total / _MILLION


class PrefixReport(Value):
    """One model call and the prompt cache, in numbers and names."""

    prefix_fingerprint: str
    """32 hexadecimal digits over what stays between compactions: model, tools, system message, evidence, summary. Conversation does not move it."""

    serializer_version: int
    first_changed_offset: int | None = None
    """Where this call stops repeating the one before, in characters of the canonical form; `None` if it only grew, or nothing came before.

    Exact to a tool, a message, and a line of the system message: no text is kept to compare further.
    """

    drift_reason: DriftReason | None = None
    """`None` where it only grew, was cut at its end, or has another last message: no more than a conversation does by itself."""

    common_prefix_tokens: int | None = None
    """Tokens this call shares with the one before, in our count; `None` where nothing came before in this process."""

    prompt_cache_hit_tokens: int | None = None
    """As reported by the provider; `None` where it does not say."""

    prompt_cache_miss_tokens: int | None = None
    time_to_first_token_s: float | None = None
    """Known only where the model's answer was streamed."""

    total_latency_s: float = 0.0
    cost: Decimal | None = None
    """In the currency of the price table; `None` without one, for an unknown model, or without reported usage."""

    tokens: int | None = None
    """Tokens sent with this call, as the caller counted them."""

    thread: str | None = None
    """Where the call was made; `None`: outside of a thread."""

    namespace: str = ""
    context_version: int = 0
    """The version of the context that was in force; 0 before the first."""

    is_reminded: bool = False
    """The critical rules stood once more behind the last message."""

    unenforced: tuple[str, ...] = ()
    """`id@version` of the rules that promise more than anything keeps."""

    rules: SkipValidation[tuple[Constraint, ...]] = Field(default=(), exclude=True, repr=False)
    """The rules in the system message, in their order. They hold text, so they are in no written form of the report."""


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def _number(value: Any) -> int | None:
    if type(value) is int or type(value) is float:
        return int(value) if 0 <= value < _MOST else None
    return None


def _raw_usage(response: Any) -> Mapping[Any, Any]:
    """Return the usage as the provider sent it: OpenAI's form, Anthropic's and Bedrock's, or Gemini's."""
    metadata = _mapping(response)
    return next((_mapping(metadata[key]) for key in ("token_usage", "usage", "usage_metadata") if _mapping(metadata.get(key))), {})


def _hit_in(raw: Mapping[Any, Any]) -> int | None:
    nested = (_mapping(raw.get(key)).get("cached_tokens") for key in ("prompt_tokens_details", "input_tokens_details"))
    flat = (raw.get(key) for key in ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cacheReadInputTokens", "cached_content_token_count"))
    return next((found for value in (*nested, *flat) if (found := _number(value)) is not None), None)


def _from_raw(raw: Mapping[Any, Any]) -> TokenUsage | None:
    sizes = (_number(raw.get(key)) for key in ("prompt_tokens", "input_tokens", "inputTokens", "prompt_token_count"))
    given = next((size for size in sizes if size is not None), None)
    if given is None:
        return None
    answers = (_number(raw.get(key)) for key in ("completion_tokens", "output_tokens", "outputTokens", "candidates_token_count"))
    hit = _hit_in(raw)
    written = 0
    if "cache_read_input_tokens" in raw or "cacheReadInputTokens" in raw:
        # Anthropic and Bedrock count what came from or went to the cache beside the input, not in it.
        written = _number(raw.get("cache_creation_input_tokens", raw.get("cacheWriteInputTokens"))) or 0
        given += (hit or 0) + written
    return TokenUsage(
        input_tokens=given,
        output_tokens=next((size for size in answers if size is not None), 0),
        cache_hit=None if hit is None else min(hit, given),
        cache_written=written,
    )
