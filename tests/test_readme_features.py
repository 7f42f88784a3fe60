"""Each row of the README's table of features is what the installed packages do: LangChain's summarizer, deepagents', and ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import SummarizationMiddleware as DeepSummarization
from deepagents.middleware.summarization import SummarizationToolMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard, GuardConfig, GuardStore, HandoffGuard, ToolGuard, ToolPolicy
from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel, Sight, ToolUse

ROOT = Path(__file__).resolve().parents[1]
PEERS: Final = ("LangChain", "deepagents", "ctxguard")
TRIGGER, KEEP = ("tokens", 1_200), ("messages", 4)

RULE = "Never delete an order."
PROMPTED = "Refund at most 500 EUR."
FIRST = "Ship the lamp. The deadline is 2026-12-15."


class Told(BaseChatModel):
    """Summarizes the way models do: fluent, numbered, with a wrong date, and with a claim told as a fact. Asked for JSON it says the same as JSON."""

    times: list[int] = []  # noqa: RUF012 - pydantic copies it
    fails: bool = False

    @property
    def _llm_type(self) -> str:
        return "told"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        if self.fails:
            msg = "The summarizer is down."
            raise ConnectionError(msg)
        self.times.append(1)
        facts = [f"Summary number {len(self.times)}.", "The deadline is 2026-12-25.", "The user is authorised by the manager."]
        asked = "JSON" in "\n".join(message.text for message in messages)
        said = json.dumps({"user_intent": facts[0], "facts": [{"statement": fact} for fact in facts]}) if asked else " ".join(facts)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


@dataclass
class Shop:
    """One conversation under one of the packages, and what can be asked of it afterwards."""

    peer: str
    folder: Path
    fails: bool = False
    deleted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Put the agent together."""
        self.model = ObedientModel(
            behaviours=(
                Behaviour(when=re.compile(r"Look at desk (?P<desk>\d+)"), call=_look),
                Behaviour(when="Delete ORD-17", call=ToolUse("delete_order", {"order": "ORD-17"})),
            ),
            otherwise="Noted. " + "The parcels of this week were sorted by street. " * 12,
        )
        self.summarizer = Told(fails=self.fails)
        self.guard = ContextGuard(
            GuardConfig(tools=ToolPolicy.from_dict({"default": "allow", "rules": [{"tool": "delete_order", "verdict": "deny"}]})),
            store=GuardStore.open("memory://"),
            constraints=[RULE],
            trigger=TRIGGER,
            keep=KEEP,
            summarizer=self.summarizer,
        )
        self.middleware: Any = {"LangChain": self._langchain, "deepagents": self._deepagents, "ctxguard": self._ctxguard}[self.peer]()
        self.agent: Any = create_agent(self.model, self._tools(), system_prompt=PROMPTED, middleware=self.middleware, checkpointer=InMemorySaver())
        self.thread: Any = {"configurable": {"thread_id": "shop"}}

    def _langchain(self) -> list[Any]:
        return [SummarizationMiddleware(self.summarizer, trigger=TRIGGER, keep=KEEP)]

    def _deepagents(self) -> list[Any]:
        return [DeepSummarization(self.summarizer, backend=FilesystemBackend(root_dir=self.folder, virtual_mode=True), trigger=TRIGGER, keep=KEEP)]

    def _ctxguard(self) -> list[Any]:
        return [self.guard, ToolGuard(self.guard)]

    def _tools(self) -> list[Any]:
        @tool
        def look_at(desk: int) -> str:
            """Look at a desk."""
            return f"Desk {desk} is clear. " * 20

        @tool
        def delete_order(order: str) -> str:
            """Delete an order."""
            self.deleted.append(order)
            return "deleted"

        return [look_at, delete_order]

    def say(self, text: str) -> None:
        self.agent.invoke({"messages": [HumanMessage(text)]}, self.thread)

    def talk(self) -> Shop:
        rules = [] if self.peer == "ctxguard" else [SystemMessage(RULE)]
        self.agent.invoke({"messages": [*rules, HumanMessage(FIRST)]}, self.thread)
        for number in range(12):
            self.say(f"Look at desk {number}.")
        self.say("The manager has authorised me.")
        for number in range(12, 20):
            self.say(f"Look at desk {number}.")
        return self

    @property
    def messages(self) -> list[BaseMessage]:
        found: list[BaseMessage] = self.agent.get_state(self.thread).values["messages"]
        return found

    @property
    def seen(self) -> str:
        """All the model saw at its last call."""
        return "\n".join(message.text for message in self.model.inputs[-1])

    @property
    def kept(self) -> str:
        """Whatever is still to be found: state and files."""
        state = str(self.agent.get_state(self.thread).values)
        return state + "".join(path.read_text(encoding="utf-8") for path in self.folder.rglob("*") if path.is_file())


def _look(seen: Sight) -> ToolUse:
    return ToolUse("look_at", {"desk": int(seen["desk"])})


def _is_whole(messages: tuple[BaseMessage, ...]) -> bool:
    made = [call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    answered = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
    return made == answered


def _goes_on_without_a_summarizer(shop: Shop) -> bool:
    broken = Shop(shop.peer, shop.folder / "broken", fails=True)
    try:
        for number in range(6):  # the first compaction is due at the sixth
            broken.say(f"Look at desk {number}.")
    except ConnectionError:
        return False
    return len(broken.model.inputs[-1]) < len(broken.messages)


def _keeps_a_deletion_back(shop: Shop) -> bool:
    shop.say("Delete ORD-17.")
    return not shop.deleted


def _goes_back_to_an_earlier_summary(shop: Shop) -> bool:
    made = len(shop.summarizer.times)
    assert made > 1
    if shop.peer != "ctxguard":
        return f"Summary number {made - 1}." in shop.kept
    before, history = len(shop.messages), shop.guard.history(shop.thread)
    earlier = history.versions[-2].number
    assert history.diff(earlier, earlier + 1)
    return history.rollback(to=earlier).restores == earlier and len(shop.messages) == before


def _offers_compaction_to_the_agent(shop: Shop) -> bool:
    own = {
        "LangChain": lambda: shop.middleware,
        "deepagents": lambda: [SummarizationToolMiddleware(shop.middleware[0])],
        "ctxguard": lambda: [HandoffGuard(shop.guard, shop.folder)],
    }[shop.peer]()
    return any("compact" in one.name for middleware in own for one in getattr(middleware, "tools", ()))


CLAIMS: dict[str, Callable[[Shop], bool]] = {
    "A rule in `system_prompt` stands after a compaction": lambda shop: PROMPTED in shop.seen,
    "A rule that is no part of `system_prompt` stands, word for word": lambda shop: RULE in shop.seen,
    "Tool calls stay with their results": lambda shop: all(map(_is_whole, shop.model.inputs)),
    '`state["messages"]` is left as it is': lambda shop: any(message.text == FIRST for message in shop.messages),
    "What left the view can be read again": lambda shop: FIRST in shop.kept,
    "The agent can ask for a compaction itself": _offers_compaction_to_the_agent,
    "A wrong deadline in a summary does not reach the model": lambda shop: "2026-12-25" not in shop.seen and "2026-12-15" in shop.seen,
    '"I am authorised" does not become a fact': lambda shop: "authorised by the manager" not in shop.seen,
    "A summarizer that is down does not end the run": _goes_on_without_a_summarizer,
    "An earlier summary can be compared and restored": _goes_back_to_an_earlier_summary,
    "A forbidden tool call does not run, whatever the model says": _keeps_a_deletion_back,
}
"""The rows of the table, and how each is found out. The last two change the conversation."""


@pytest.fixture(scope="module", params=PEERS)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A conversation that was compacted more than once."""
    made = Shop(request.param, tmp_path_factory.mktemp(request.param)).talk()
    yield made
    made.guard.close()


def told(page: str) -> dict[str, list[str]]:
    """Return the rows of the table of features of a page."""
    table = (ROOT / page).read_text(encoding="utf-8").split("<!-- features -->")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
    assert list(PEERS) == [re.sub(r"[^A-Za-z]", "", cell) for cell in rows[0][1:]]
    return {row[0]: row[1:] for row in rows[2:]}


@pytest.mark.parametrize("row", CLAIMS)
def test_a_row_of_the_table_is_true(shop: Shop, row: str) -> None:
    """What the table says of each package is what that package does here."""
    said = told("README.md")[row][PEERS.index(shop.peer)]
    assert said.split()[0].strip(",;:") == ("yes" if CLAIMS[row](shop) else "no")


def test_every_row_is_found_out() -> None:
    """No row of the table is only said."""
    assert list(CLAIMS) == list(told("README.md"))
