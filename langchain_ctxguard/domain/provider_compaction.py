"""A compaction that a provider made on its own servers, as its answer tells of it. Numbers and names, no text."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, NonNegativeInt

from langchain_ctxguard.domain.value import Value

ProviderCompactionKind = Literal["summarized", "cleared"]


class ProviderCompaction(Value):
    """What a provider did to the context of one answer."""

    provider: str
    """As LangChain names it: `anthropic`, `openai`; empty where the answer does not say."""

    kind: ProviderCompactionKind
    """`summarized`: what came before the answer was replaced by a summary of the provider's. `cleared`: results of tools were left out."""

    message: str | None = None
    """Id of the answer that tells of it."""

    cleared_tool_uses: NonNegativeInt = 0
    cleared_tokens: NonNegativeInt = 0
    """Input tokens the provider left out, as it reports them; 0 where it does not."""

    @property
    def keeps_system(self) -> bool:
        """Say whether the system message is known to stand outside of what was replaced.

        Anthropic keeps `system` apart from `messages` and drops blocks of these only; with OpenAI's Responses it is an input item like any other.
        Sources: https://platform.claude.com/docs/en/build-with-claude/compaction, https://developers.openai.com/api/docs/guides/compaction.
        """
        return self.kind == "cleared" or self.provider == "anthropic"


class ProviderCompactionEntry(Value):
    """A provider's compaction as it is on record of a thread."""

    schema_version: Literal[1] = 1
    at: AwareDatetime
    namespace: str = ""
    version: NonNegativeInt = 0
    """Of the context the provider compacted; 0 before the first."""

    compaction: ProviderCompaction
