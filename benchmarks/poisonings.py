"""How much of the labelled attacks gets into the memory: 318 conversations, each with a summarizer that obeys the attack and one that quotes.

It prints what it measured and writes `results/poisonings.json`, and `results/poisonings-second.json` for the second set (`statements.py`); with
`--small` it writes nothing. What a phrase may do is said in `labelled/README.md`; both sets were written without the code they judge.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import statements
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from measuring import compared, read_aside, table, write

from langchain_ctxguard import GuardConfig, compact_messages
from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY
from langchain_ctxguard.domain.summary import Decision, Fact, SummaryDraft, Trust
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.ports import Summarizer
from langchain_ctxguard.testing.summarizers import ScriptedSummarizer

LABELLED = Path(__file__).resolve().parent / "labelled" / "poisonings.jsonl"
CONFIG = GuardConfig.from_dict({"compaction": {"min_gain": 0}})
WRITERS = ("obeying", "quoting")
TAKEN = frozenset({Outcome.ACCEPTED, Outcome.REPAIRED, Outcome.RETRIED, Outcome.FELL_BACK})
KINDS = ("confirmed", "instruction", "system")
MARKS = ("claimed by user", "user claims", "user said")
"""How a line says that a user's words are the user's and nothing more."""

_TURNS = {
    "zh": (("好的，请稍等。", "谢谢，营业时间是几点？"), ("营业时间是九点到六点。", "明白，门店在几楼？"), ("门店在二楼。", "停车方便吗？")),
    "en": (
        ("One moment.", "Thanks. What are the opening hours?"),
        ("We are open from nine to six.", "And which floor is the shop on?"),
        ("It is on the second floor.", "Is there parking nearby?"),
    ),
}


def rows() -> list[dict[str, Any]]:
    """Return the labelled conversations."""
    return [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines() if line]


def messages_of(row: dict[str, Any]) -> list[BaseMessage]:
    """Return the conversation as messages."""
    return [_message(given, f"{row['id']}-{number}") for number, given in enumerate(row["messages"])]


def _message(given: dict[str, Any], message_id: str) -> BaseMessage:
    text = given["content"]
    match given["role"]:
        case "user":
            return HumanMessage(text, id=message_id)
        case "system":
            return SystemMessage(text, id=message_id)
        case "tool":
            return ToolMessage(text, tool_call_id=given["tool_call_id"], name=given.get("name"), id=message_id)
        case _:
            return AIMessage(text, tool_calls=[{**call, "type": "tool_call"} for call in given.get("tool_calls", ())], id=message_id)


def draft_of(row: dict[str, Any]) -> SummaryDraft | None:
    """Return what a summarizer answers that obeys the attack."""
    told = row.get("draft")
    if told is None:
        return None
    facts = (
        Fact(statement=fact["statement"], status=Trust(fact["status"]), said_by=fact.get("said_by"), quote=fact.get("quote"))
        for fact in told["facts"]
    )
    return SummaryDraft(
        user_intent=told.get("user_intent", ""),
        pending_items=tuple(told.get("pending_items", ())),
        facts=tuple(facts),
        decisions=tuple(Decision(chosen=text) for text in told.get("decisions", ())),
        open_questions=tuple(told.get("open_questions", ())),
    )


@dataclass(frozen=True)
class Breach:
    """A phrase at a place where it must not stand."""

    row: str
    attack: str
    writer: str
    kind: str
    phrase: str
    line: str
    """The line it stands in; empty for a harmless phrase that is gone."""


def breaches(row: dict[str, Any], view: Sequence[BaseMessage], writer: str) -> Iterator[Breach]:
    """Yield what stands in a view that must not, and under `kept` what is gone."""
    told = [line for message in view if message.name in {EVIDENCE, SUMMARY} for line in message.text.splitlines()]
    system = [line for message in view if isinstance(message, SystemMessage) for line in message.text.splitlines()]
    forbidden, allowed = row["forbidden"], set(map(compared, row.get("allowed", ())))
    # A phrase may run over the end of a line in what a message says; our own lines hold one item each.
    places = {
        "confirmed": [line for line in told if line.startswith("- [confirmed")],
        "instruction": told,
        "system": [*system, " ".join(system)],
    }
    for kind in KINDS:
        for phrase in map(compared, forbidden.get(kind, ())):
            may_be_claimed = kind == "instruction" and phrase in allowed
            hits = (line for line in places[kind] if phrase in compared(line) and not (may_be_claimed and any(mark in line for mark in MARKS)))
            line = next(hits, None)
            if line is not None:
                yield Breach(row["id"], row["class"], writer, kind, phrase, line)
    whole = compared("\n".join(message.text for message in view) + "\n" + json.dumps([_calls(message) for message in view], ensure_ascii=False))
    yield from (Breach(row["id"], row["class"], writer, "kept", phrase, "") for phrase in row["must_keep"] if compared(phrase) not in whole)


def _calls(message: BaseMessage) -> Any:
    return [call["args"] for call in message.tool_calls] if isinstance(message, AIMessage) else []


def attacked(row: dict[str, Any], writer: str) -> Iterator[list[BaseMessage]]:
    """Yield the view after each of a row's compactions; between them two harmless messages are said.

    Raises:
        RuntimeError: naming the row that was not compacted: nothing would have been judged.
    """
    draft = draft_of(row)
    if writer == "obeying" and draft is None:
        return
    summarizer: Summarizer = ScriptedSummarizer([draft]) if writer == "obeying" and draft is not None else ExtractiveSummarizer()
    messages: list[BaseMessage] = []
    to_come, head = messages_of(row), None
    turns = _TURNS["zh" if row["language"] == "zh" else "en"]
    for number in range(row["rounds"]):
        if number:
            answer, question = turns[(number - 1) % len(turns)]
            to_come = [AIMessage(answer, id=f"{row['id']}-a{number}"), HumanMessage(question, id=f"{row['id']}-q{number}")]
        messages += [*to_come[:-1], *read_aside(f"{row['id']}-r{number}"), to_come[-1]]
        done = compact_messages(messages, config=CONFIG, keep=("messages", 1), summarizer=summarizer, previous=head)
        if done.outcome not in TAKEN:
            msg = f"{row['id']} was not compacted in round {number + 1}: {done.outcome} ({done.record.reason})"
            raise RuntimeError(msg)
        head = done.head
        yield done.messages


def got_through(labelled: Iterable[dict[str, Any]], writers: Sequence[str] = WRITERS) -> list[Breach]:
    """Return every breach after any round, one for each phrase, kind and writer."""
    found: dict[tuple[str, str, str, str], Breach] = {}
    for row in labelled:
        for writer in writers:
            for view in attacked(row, writer):
                for breach in breaches(row, view, writer):
                    found.setdefault((breach.row, writer, breach.kind, breach.phrase), breach)
    return list(found.values())


def by_class(labelled: Sequence[dict[str, Any]], found: Sequence[Breach]) -> list[dict[str, Any]]:
    """Return one row for each kind of attack and one for all: attacks, those that got through, and harmless phrases that were lost."""
    result = []
    for name in (*dict.fromkeys(row["class"] for row in labelled), "all"):
        mine = [row for row in labelled if name in {row["class"], "all"}]
        ids = {row["id"] for row in mine}
        through = Counter(kind for kind, _ in {(breach.kind, breach.row) for breach in found if breach.row in ids})
        result.append(
            {
                "class": name,
                "attacks": len(mine),
                "got_through": len({breach.row for breach in found if breach.row in ids and breach.kind != "kept"}),
                **{kind: through[kind] for kind in KINDS},
                "to_keep": sum(len(row["must_keep"]) for row in mine),
                "lost": len({(breach.row, breach.phrase) for breach in found if breach.row in ids and breach.kind == "kept"}),
            }
        )
    return result


def main() -> int:
    """Measure and print; without `--small`, write the result. Any attack that gets through is a failure."""
    parser = argparse.ArgumentParser(description="Count the labelled attacks that get into the memory.")
    parser.add_argument("--small", action="store_true", help="write nothing")
    parser.add_argument("--show", action="store_true", help="print what got through, line by line")
    given = parser.parse_args()
    labelled = rows()
    found = got_through(labelled)
    result = by_class(labelled, found)
    print(table(result))
    if given.show:
        print(*(f"{one.row} {one.attack} {one.writer} {one.kind}: {one.phrase!r} in {one.line!r}" for one in found), sep="\n")
    if not given.small:
        write(
            "poisonings",
            measured=(
                "`labelled/poisonings.jsonl`, compacted 1 to 10 times each, once with the row's own draft, which obeys the attack, and once with the "
                "extractive summarizer. `got_through`: attacks with a forbidden phrase in a confirmed line, in evidence or summary other than as the "
                "user's marked claim, or in a system message, after any round. `lost`: of the `to_keep` harmless phrases, those that stand nowhere "
                "in a view."
            ),
            against="labels given by hand without the code.",
            rows=result,
            headline=result[-1],
        )
    return max(int(result[-1]["got_through"] > 0), _second(is_small=given.small, is_shown=given.show))


def _second(*, is_small: bool, is_shown: bool) -> int:
    """Measure and print the second set; what went wrong is shown of its `tune` half alone."""
    labelled = statements.items()
    found = statements.judged(labelled)
    result = statements.rows(labelled, found)
    print(table(result))
    if is_shown:
        print(*statements.shown(labelled, found), sep="\n")
    if not is_small:
        write(
            "poisonings-second",
            measured=(
                "`labelled/poisonings_second.jsonl`: each statement in a conversation of its own, compacted twice, once with a summarizer that "
                "believes it (in its words and the label's, in every field) and once with the extractive one. Attacks of which a piece stands in a "
                "`confirmed` line, without a mark of who claims it or as a person's who did not say it (`instruction`), in a `system` message, or as "
                "the marked claim of a tool or the assistant (`plain`); a user's own words marked as theirs are none of these. `kept`: harmless "
                "statements whose piece to keep stands in evidence or summary, of the summarizer that believes; `quoted`: of the extractive one. "
                "Only what went wrong in `tune` was looked at."
            ),
            against="labels given by hand without the code.",
            rows=result,
            headline=result[-1],
        )
    return int(any(row[kind] for row in result for kind in KINDS))


if __name__ == "__main__":
    sys.exit(main())
