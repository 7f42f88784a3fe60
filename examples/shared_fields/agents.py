"""Two agents of one customer: the shop hears the values, the dispatcher knows them in another thread, while the customer consents to that.

python agents.py
"""

from __future__ import annotations

import re
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ConsentLedger, ContextGuard, ExtractiveSummarizer, FieldStore, GuardStore, compact_messages
from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel

MEMORY = "consent.cross_session_memory"
CUSTOMER = "customer-17"
SAID = "My order is ORD-7712. The deadline is 2026-12-15, the budget 450 EUR."


def scripted_model() -> BaseChatModel:
    """Return a stand-in that knows a date only where it sees one."""
    date = re.compile(r"(?P<date>\d{4}-\d\d-\d\d)")
    return ObedientModel(
        behaviours=(
            Behaviour(when="When must it arrive?", given=date, call=lambda seen: f"By {seen['date']}."),
            Behaviour(when="When must it arrive?", call="I do not know."),
        ),
        otherwise="Noted. " + "We have many desks. " * 150,
    )


def agent_of(rules: list[str]) -> Any:
    """Return an agent with a guard of its own."""
    model = scripted_model()  # a real one: init_chat_model("openai:gpt-5")
    guard = ContextGuard(constraints=rules, trigger=("tokens", 4_000), summarizer=ExtractiveSummarizer())  # with a real model, leave that out
    return create_agent(model, middleware=[guard], checkpointer=InMemorySaver())


def shop_hears(store: GuardStore) -> list[str]:
    """Let the customer talk to the shop, and share the values he gave; without his consent that raises `ConsentRequiredError`."""
    agent, thread = agent_of(["Never promise a date."]), {"configurable": {"thread_id": "shop"}}
    for text in (SAID, "What else do you sell?", "Good bye."):
        state = agent.invoke({"messages": [HumanMessage(text)]}, thread)
    # A compaction reads the values of a conversation into a ledger; here one is made as the conversation ends.
    ledger = compact_messages(state["messages"], keep=("turns", 1)).fields
    FieldStore(store, subject=CUSTOMER).save(ledger, by="shop")
    return [field.raw for field in ledger]


def dispatcher_answers(store: GuardStore) -> str:
    """Ask the dispatcher, in a thread that begins with what is shared."""
    opening = FieldStore(store, subject=CUSTOMER).opening()
    messages = [*([opening] if opening else []), HumanMessage("When must it arrive?")]
    state = agent_of(["Never name a customer."]).invoke({"messages": messages}, {"configurable": {"thread_id": "dispatch"}})
    return str(state["messages"][-1].text)


def main() -> None:
    """Consent, share, ask; take the consent back, and ask again."""
    with GuardStore.open("memory://") as store:
        ledger = ConsentLedger(store, surface="settings page")
        ledger.grant(MEMORY, value=True, subject=CUSTOMER, basis="consent", recorded_by=CUSTOMER)
        print("shared:         ", ", ".join(shop_hears(store)))
        print("with consent:   ", dispatcher_answers(store))
        ledger.revoke(MEMORY, subject=CUSTOMER, basis="withdrawal", recorded_by=CUSTOMER)
        print("taken back:     ", dispatcher_answers(store))


if __name__ == "__main__":
    main()
