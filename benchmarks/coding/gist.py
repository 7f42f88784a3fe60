"""The model that summarizes. It keeps what was asked first and last and what was changed lately, and lets the rest go; a careful one keeps more."""

from __future__ import annotations

import json
import re
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from benchmarks.coding.reading import PATH

_GOAL = r"(?:Change the code: `[^`\n]+` becomes `[^`\n]+`|Raise each number behind `[^`\n]+` by \d+) in every file below \w+/"
_ASKED = re.compile(rf"{_GOAL}|Now (?:set|add|delete)(?:[^.\n]|\.(?=\w))*")
_CHANGED = re.compile(rf"(?:Edited|Wrote|Removed) ({PATH.pattern})\.|Changed so far: ([^\n]*?) and others")
_SAID = re.compile(
    rf"{_ASKED.pattern}|Never touch \w+/|Keep src/compat\.py, callers outside still use it|All error codes begin with ERR_"
    r"|Run the check right after the first file|Find out meanwhile which file configures the port, a later step needs it"
    r"|Choose a JSON library meanwhile, and ask `package_size` first: more than 50 MB cannot be deployed"
)
_LATELY = 3


class Gist(BaseChatModel):
    """Tells the goal, the newest request, and the files changed last. A rule said once, a place looked up once, a reason: gone."""

    is_careful: bool = False
    """It keeps each sentence of a person, word for word, and every file that was changed: more than a prompt can make sure of."""

    @property
    def _llm_type(self) -> str:
        return "gist"

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        del stop, run_manager, kwargs
        text = "\n".join(message.text for message in messages)
        told = gist(text, is_careful=self.is_careful)
        # Asked for JSON it says the same as JSON.
        answer = json.dumps({"user_intent": told, "facts": [{"statement": told}]}) if "JSON object" in text else told
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


def gist(text: str, *, is_careful: bool = False) -> str:
    """Return a short account of a conversation."""
    asked = _ASKED.findall(text)
    kept = dict.fromkeys([*(one for one in asked if not one.startswith("Now"))][:1] + asked[-1:])
    edited = [path for found in _CHANGED.findall(text) for path in PATH.findall("".join(found))]
    lately = list(dict.fromkeys(reversed(edited)))[: None if is_careful else _LATELY]
    if is_careful:
        kept = dict.fromkeys(found for found in _SAID.findall(text) if found not in asked[-1:]) | dict.fromkeys(asked[-1:])
    said = f"The person asked: {' '.join(f'{one}.' for one in kept)}\nThe assistant worked through the files and ran into no trouble."
    return said + (f"\nChanged so far: {', '.join(lately)} and others." if lately else "")
