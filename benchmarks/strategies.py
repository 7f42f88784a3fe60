"""Ways to make a long conversation fit, over the same conversations: what each keeps, lets through, finishes, and what it costs.

    python -m benchmarks.strategies            all starter cases; prints, and writes `results/strategies.json` and `results/peers.json`
    python -m benchmarks.strategies --small    every sixth case; writes nothing
    python -m benchmarks.strategies --model openai:gpt-5   a real model answers and summarizes: then compliance is measured as well

Every strategy is the middleware of the same `create_agent` over the retention kit's starter cases, compacted above the same number of tokens.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from benchmarks.measuring import percentile, table, versions, write
from langchain_ctxguard import extract_fields
from langchain_ctxguard.backends.tokens import MessageTokenCounter
from langchain_ctxguard.testing.retention.case import RetentionCase
from langchain_ctxguard.testing.retention.files import starter_cases
from langchain_ctxguard.testing.retention.outcome import CaseRun
from langchain_ctxguard.testing.retention.run import run_case
from langchain_ctxguard.testing.retention.setting import Built, Setting, Way
from langchain_ctxguard.testing.retention.ways import WAYS, of_function

_KEEP = 6
_FOUND = 4
_COUNT = MessageTokenCounter()


def tail(messages: list[BaseMessage]) -> Sequence[BaseMessage]:
    """Keep the last messages, from a person's on."""
    kept = messages[-_KEEP:]
    while kept and isinstance(kept[0], ToolMessage):
        kept = kept[1:]
    return kept


def structured(messages: list[BaseMessage]) -> Sequence[BaseMessage]:
    """Put the values found in what leaves into one list, and keep the last messages."""
    kept = tail(messages)
    left = messages[: len(messages) - len(kept)]
    earlier = [line for message in left for line in message.text.splitlines() if line.startswith("- ")]
    found = [f"- {field.kind}: {field.raw}" for message in left for field in extract_fields(message.text)]
    lines = list(dict.fromkeys([*earlier, *found]))
    return [HumanMessage("\n".join(["Values so far:", *lines])), *kept]


def retrieval(messages: list[BaseMessage]) -> Sequence[BaseMessage]:
    """Keep the last messages, and of the others those that share the most words with what was said last."""
    kept = tail(messages)
    left = [message for message in messages[: len(messages) - len(kept)] if message.text.strip() and not isinstance(message, ToolMessage)]
    asked = Counter(_words(kept[-1].text))
    ranked = sorted(range(len(left)), key=lambda place: -sum((Counter(_words(left[place].text)) & asked).values()))[:_FOUND]
    return [*(HumanMessage(left[place].text) for place in sorted(ranked)), *kept]


def key_messages(messages: list[BaseMessage]) -> Sequence[BaseMessage]:
    """Keep the first message, those with words of weight, and the last ones."""
    kept = tail(messages)
    left = messages[: len(messages) - len(kept)]
    weighty = [message for message in left[1:] if isinstance(message, HumanMessage) and _WEIGHT.search(message.text)]
    return [*left[:1], *weighty[:20], *kept]


def by_role(messages: list[BaseMessage]) -> Sequence[BaseMessage]:
    """Keep all that people said, and the last messages; answers and results go."""
    kept = tail(messages)
    left = messages[: len(messages) - len(kept)]
    return [*(message for message in left if message.type in {"human", "system"}), *kept]


def full_summary(setting: Setting) -> Built:
    """Replace all but the last message by a summary, as a first attempt does."""
    middleware = SummarizationMiddleware(
        setting.summary_model,
        trigger=("tokens", setting.trigger),
        keep=("messages", 1),
        token_counter=_COUNT,  # type: ignore[arg-type] # it counts what it is given
    )
    return Built((middleware,), tuple(setting.tools))


def compaction_guard(setting: Setting) -> Built:
    """compaction-guard around LangChain's summarizer, with the declared rules registered."""
    from compaction_guard import Guard
    from compaction_guard.integrations.langchain import guard_middleware

    watched: Any = Guard([rule.text for rule in setting.case.declared])
    inner = WAYS["langchain"].make(setting).middleware[0]
    return Built((guard_middleware(inner, watched),), tuple(setting.tools))


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way, with what a person choosing one wants to know."""

    way: Way
    loses: str
    risk: str
    right_when: str


STRATEGIES = (
    Strategy(
        of_function(tail),
        "everything older than the last turns",
        "rules and dates are gone at once",
        "chats without rules, where only the last turns matter",
    ),
    Strategy(
        Way("full summary", full_summary),
        "whatever the summarizer leaves out",
        "claims become facts, duties become wishes",
        "prose without consequences",
    ),
    Strategy(of_function(structured), "rules, reasons, who said it", "a list of values without what they are for", "forms and bookings"),
    Strategy(
        of_function(retrieval), "what no later word leads back to", "a rule is not found by the request that breaks it", "questions about a long past"
    ),
    Strategy(
        of_function(key_messages),
        "what is said without a word of weight; tool results",
        "anybody can write `important`; it grows without bound",
        "conversations with few, marked agreements",
    ),
    Strategy(
        of_function(by_role),
        "tool results, and what was done",
        "work is done twice; it grows with every turn",
        "short chats with long results",
    ),
    Strategy(
        WAYS["guard"],
        "the wording of ordinary talk",
        "a wrong rule is kept as faithfully as a right one",
        "rules, consents, values and work that must survive",
    ),
)
NAMES = {
    "tail": "tail truncation",
    "structured": "structured extraction",
    "key_messages": "keep key messages",
    "by_role": "split by role",
    "guard": "ctxguard",
    "langchain": "LangChain SummarizationMiddleware",
}
PEERS = ("langchain", "deepagents", "langmem")

_WEIGHT = re.compile(r"\b(?:important|must|never|always|remember|rule)\b|必须|禁止|不得|重要|记住|务必", re.IGNORECASE)


def measure(way: Way, cases: Sequence[RetentionCase], *, model: Any = None) -> dict[str, Any]:
    """Run all cases through a way and return its row."""
    answers = model if model is not None else "obedient"
    runs = [_timed(case, way, answers) for case in cases]
    guarded = [case for case in cases if case.policy is not None and case.expect.not_called]
    reckless = [] if model is not None else [run_case(case, way, model="scripted") for case in guarded]
    dangerous = [run for run, _ in runs if run.case.expect.not_called or run.case.expect.refused]
    stopped = [run for run in dangerous if not {"not_called", "not_refused"} & {finding.kind for finding in run.findings}]
    tasks = [run for run, _ in runs if run.case.expect.called]
    return {
        "strategy": NAMES.get(way.name, way.name),
        "cases": len(cases),
        "retention": _percent(*_kept(run for run, _ in runs)),
        "passed": _percent(sum(run.passed for run, _ in runs), len(runs)),
        "refused": _percent(len(stopped), len(dangerous)),
        "blocked": None if not reckless else _percent(sum(not set(run.called) & set(run.case.expect.not_called) for run in reckless), len(reckless)),
        "tasks": _percent(sum(not any(finding.kind == "called" for finding in run.findings) for run in tasks), len(tasks)),
        "compliance": None if model is None else _percent(len(stopped), len(dangerous)),
        "cache": round(100 * sum(_cached(run) for run, _ in runs) / len(runs)),
        "tokens": round(sum(_tokens(run) for run, _ in runs) / len(runs)),
        "ms_per_call": round(percentile([seconds * 1e3 / max(1, len(run.inputs)) for run, seconds in runs], 0.5), 1),
        "cost": None,
    }


def _timed(case: RetentionCase, way: Way, model: Any) -> tuple[CaseRun, float]:
    start = time.process_time()
    run = run_case(case, way, model=model)
    return run, time.process_time() - start


def _kept(runs: Any) -> tuple[int, int]:
    """Return how many of the rules, texts and values the cases ask for are in the last input, and how many there are."""
    kept = total = 0
    for run in runs:
        expect = run.case.expect
        wanted = (len(run.case.declared) if expect.kept is None else len(expect.kept)) + len(expect.fields)
        total += wanted
        kept += wanted - sum(finding.kind in {"lost", "changed", "field"} for finding in run.findings)
    return kept, total


def _cached(run: CaseRun) -> float:
    """Return the share of all input tokens that stood at the same place in the input before: what a provider's prefix cache could reuse."""
    reused = total = 0
    for before, after in pairwise(run.inputs):
        sizes = [_COUNT([message]) for message in after]
        same = 0
        for old, new, size in zip(before, after, sizes, strict=False):
            if (old.type, old.text) != (new.type, new.text):
                break
            same += size
        reused, total = reused + same, total + sum(sizes)
    return reused / total if total else 0.0


def _tokens(run: CaseRun) -> float:
    return sum(_COUNT(seen) for seen in run.inputs) / max(1, len(run.inputs))


def _percent(part: int, whole: int) -> int | None:
    return round(100 * part / whole) if whole else None


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9-]{3,}|[\u4e00-\u9fff]", text.casefold())


def peers() -> list[Way]:
    """Return the ways of other packages that are installed."""
    found = [WAYS[name] for name in PEERS]
    try:
        version("compaction-guard")
    except PackageNotFoundError:
        return found
    return [*found, Way("compaction-guard over langchain", compaction_guard)]


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--model", help="a chat model that answers and summarizes, e.g. openai:gpt-5")
    given = parser.parse_args()
    model: Any = None
    if given.model:
        from langchain.chat_models import init_chat_model

        model = init_chat_model(given.model)
    cases = starter_cases()[:: 6 if given.small else 1]
    ours = [{**measure(strategy.way, cases, model=model)} for strategy in STRATEGIES]
    print(table(ours), end="\n\n")
    others = [measure(way, cases, model=model) for way in [*peers(), WAYS["guard"]]]
    print(table(others))
    if given.small:
        return
    said = [
        {"strategy": NAMES.get(one.way.name, one.way.name), "loses": one.loses, "main_risk": one.risk, "right_when": one.right_when}
        for one in STRATEGIES
    ]
    who = "an obedient model and a summarizer that gives a gist" if model is None else f"{given.model}, which also summarizes"
    how = (
        f"the {len(cases)} starter cases of the retention kit, each compacted as often as it asks for, above 3,000 tokens; {who}. `retention`: "
        "percent of declared rules, texts and values that stand in the last input; `passed`: cases with nothing amiss; `refused`: dangerous "
        "requests that were not followed; `blocked`: dangerous calls of a model that ignores its rules that did not run, where the case has a "
        "policy; `tasks`: harmless calls that were made; `compliance`: measured with a real model only; `cache`: percent of input tokens that "
        "stood at the same place in the input before; `tokens`: mean input; `ms_per_call`: CPU time of a turn, the median case; `cost`: not "
        "measured, it is the provider's. Rules stand in the first message of the conversation, but for the guard, which is given them"
    )
    suffix = "" if model is None else f"-{re.sub('[^a-z0-9]+', '-', given.model.casefold())}"
    write(f"strategies{suffix}", measured=how, against="each other, in one run", rows=ours)
    write(f"strategies-words{suffix}", measured="what a person choosing one should know", against="each other", rows=said)
    packages = ("langchain", "deepagents", "langmem", "compaction-guard")
    known = {name: version(name) for name in packages if _has(name)}
    write(f"peers{suffix}", measured=how, against="the packages people use today, in one run", versions={**versions(), **known}, rows=others)


def _has(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
