"""How well the control fields are found and compared, and how fast.

Found: against `labelled/fields.jsonl`, by kind, with the confusion between kinds; in two parts by a digest of the message's id. The first, `tune`,
was open to the author of the extractor from the start; the second, `held`, was kept from them until its misses were sorted by cause, and says little
about unseen text since. What does is `labelled/fields_second.jsonl`, written before the extractor was read and never tuned on. Compared: mutations
that must not pass as unchanged, reformattings that must. It prints what it measured and writes
`results/fields.json`; with `--small` it takes few variants and short texts and writes nothing.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from field_variants import mutated, reformatted
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from measuring import cores, cpu_seconds_of, median, table, write

from langchain_ctxguard.core.diff import diff_fields
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.core.normalize import is_same_value, key_of
from langchain_ctxguard.domain.control import STATEMENTS, ControlField, FieldKind

LABELLED = Path(__file__).resolve().parent / "labelled" / "fields.jsonl"
SECOND = LABELLED.with_name("fields_second.jsonl")
CROSSWOZ = Path(__file__).resolve().parents[2] / "shared" / "field" / "transcripts" / "crosswoz_60.json"
SLOTS = {"评分": {"quantity"}, "人均消费": {"amount"}, "价格": {"amount"}, "门票": {"amount"}, "电话": {"phone"}, "游玩时间": {"duration"}}
"""Slots whose values the extractor claims to know."""

MUTATIONS, REFORMATTINGS = 100_000, 10_000
SMALL_MUTATIONS, SMALL_REFORMATTINGS = 3_000, 1_000
DENSITIES = (0, 3, 10, 50)
MESSAGE_LENGTH = 500


def items(path: Path = LABELLED) -> list[dict[str, Any]]:
    """Return the labelled messages."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_held(identity: str) -> bool:
    """Say whether a labelled message was at first kept from the author of the extractor."""
    return int(hashlib.sha256(identity.encode()).hexdigest(), 16) % 10 >= 6


def message_of(item: dict[str, Any]) -> BaseMessage:
    """Return a labelled message as LangChain has it."""
    if item["role"] == "tool":
        return ToolMessage(item["text"], tool_call_id="call", id=item["id"])
    return {"user": HumanMessage, "ai": AIMessage, "system": SystemMessage}[item["role"]](item["text"], id=item["id"])


def found_in(item: dict[str, Any], text: str | None = None) -> list[ControlField]:
    """Return what the extractor finds in a labelled message, or in a variant of its text."""
    shown = item if text is None else {**item, "text": text}
    return extract_fields([message_of(shown)], now=datetime.fromisoformat(item["said_at"]), timezone=item["timezone"])


def judge(item: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[ControlField], list[tuple[str, str]]]:
    """Return labelled fields found and missed, fields found that are none, and pairs of kinds one span was given."""
    found = found_in(item)
    used: set[int] = set()
    hits, misses, confused = [], [], []
    for label in item["fields"]:
        place = next((index for index, field in enumerate(found) if index not in used and _is_found(label, field, item["text"])), None)
        if place is None:
            misses.append({**label, "is_seen": any(field.raw == label["raw"] for field in found)})
            confused += [(label["kind"], field.kind.value) for field in found if field.raw == label["raw"] and field.kind != label["kind"]][:1]
        else:
            used.add(place)
            hits.append(label)
    return hits, misses, [field for index, field in enumerate(found) if index not in used], confused


def _is_found(label: dict[str, Any], field: ControlField, text: str) -> bool:
    if field.kind != label["kind"]:
        return False
    if field.kind in STATEMENTS:
        start = text.find(label["raw"])
        return field.start < start + len(label["raw"]) and start < field.stop
    return field.raw == label["raw"] and field.value is not None and is_same_value(field.kind, field.value, label["value"])


def measure_quality(labelled: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, dict[str, int]], dict[str, Any]]:
    """Return a row for each kind, the confusion between kinds, and the totals of the two parts and the whole.

    `critical_seen` counts a critical field whose span was found under another kind, too: an order number called a ticket is compared by its value
    all the same.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    confusion: dict[str, dict[str, int]] = {}
    for item in labelled:
        part = "held" if is_held(item["id"]) else "tune"
        hits, misses, false, confused = judge(item)
        for name, fields in (("hit", hits), ("miss", misses)):
            for label in fields:
                counts[part, name, label["kind"]] += 1
                counts[part, f"critical {name}", label["kind"]] += label["critical"]
                counts[part, "critical unseen", label["kind"]] += name == "miss" and label["critical"] and not label["is_seen"]
        for field in false:
            counts[part, "false", field.kind.value] += 1
        for labelled_kind, given in confused:
            row = confusion.setdefault(labelled_kind, {})
            row[given] = row.get(given, 0) + 1
    kinds = [kind.value for kind in FieldKind if kind is not FieldKind.PATTERN]
    rows = []
    for kind in kinds:
        both = {name: counts["tune", name, kind] + counts["held", name, kind] for name in ("hit", "miss", "false", "critical hit", "critical miss")}
        rows.append(
            {
                "kind": kind,
                "labelled": both["hit"] + both["miss"],
                "missed": both["miss"],
                "false": both["false"],
                "recall": _share(both["hit"], both["miss"]),
                "precision": _share(both["hit"], both["false"]),
                "held_recall": _share(counts["held", "hit", kind], counts["held", "miss", kind]),
                "held_precision": _share(counts["held", "hit", kind], counts["held", "false", kind]),
            }
        )
    totals = {}
    for name, parts in (("tune", ("tune",)), ("held", ("held",)), ("all", ("tune", "held"))):
        names = ("hit", "miss", "false", "critical hit", "critical miss", "critical unseen")
        total = {key: sum(counts[part, key, kind] for part in parts for kind in kinds) for key in names}
        critical = total["critical hit"] + total["critical miss"]
        totals[name] = {
            "fields": total["hit"] + total["miss"],
            "recall": _share(total["hit"], total["miss"]),
            "critical_recall": _share(total["critical hit"], total["critical miss"]),
            "critical_seen": _share(critical - total["critical unseen"], total["critical unseen"]),
            "precision": _share(total["hit"], total["false"]),
        }
    return rows, confusion, totals


def _share(hits: int, others: int) -> float | None:
    return round(hits / (hits + others), 4) if hits + others else None


def measure_slots() -> dict[str, Any] | None:
    """Return how many slot values of the task dialogues are covered digit by digit; `None` where the dialogues are not there."""
    if not CROSSWOZ.exists():
        return None
    total, missed = 0, []
    for dialogue in json.loads(CROSSWOZ.read_text(encoding="utf-8")).values():
        for turn in dialogue["messages"]:
            fields = extract_fields(turn["content"])
            for _, _, slot, value in turn["slots"]:
                start = turn["content"].find(value)
                if (
                    slot not in SLOTS
                    or start < 0
                    or not any(character.isdigit() for character in value)
                    or (SLOTS[slot] == {"amount"} and "元" not in value)
                ):
                    continue
                total += 1
                covered = {place for field in fields if field.kind in SLOTS[slot] for place in range(field.start, field.stop)}
                digits = {start + place for place, character in enumerate(value) if character.isdigit()}
                if not digits <= covered:
                    missed.append(f"{slot} {value}: {turn['content'][max(0, start - 12) : start + len(value) + 8]}")
    return {"slots": total, "missed": len(missed), "recall": round(1 - len(missed) / total, 4), "examples": missed[:5]}


def measure_mutations(labelled: Sequence[dict[str, Any]], wanted: int) -> tuple[dict[str, Any], list[str]]:
    """Return how many mutations passed as unchanged and how many were named, by mutation; and examples of what went wrong."""
    rng = random.Random(4)  # noqa: S311
    fields = {item["id"]: found_in(item) for item in labelled}
    cases = [
        (item, field)
        for item in labelled
        for field in fields[item["id"]]
        if item["text"].count(field.raw) == 1 and _is_alone(field, fields[item["id"]])
    ]
    made, unseen, misnamed = Counter[str](), Counter[str](), Counter[str]()
    wrong: list[str] = []
    while sum(made.values()) < wanted:
        item, field = rng.choice(cases)
        variant = mutated(field, item["text"], rng)
        if variant is None:
            continue
        made[variant.how] += 1
        after = found_in(item, variant.text)
        known = {key_of(old) for old in fields[item["id"]]}
        if len(after) == len(fields[item["id"]]) and {key_of(new) for new in after} < known:
            made[variant.how] -= 1  # it became another value of the same message
            continue
        change = next((change for change in diff_fields(fields[item["id"]], after, text=variant.text) if change.before is field), None)
        if change is None:
            unseen[variant.how] += 1
            wrong.append(
                f"{item['id']} {variant.how}: {field.kind} {field.raw!r} passed as unchanged in "
                f"{variant.text[max(0, field.start - 20) : field.stop + 20]!r}"
            )
        elif change.how not in variant.names:
            misnamed[variant.how] += 1
            if len(wrong) < 200:
                wrong.append(
                    f"{item['id']} {variant.how}: {field.kind} {field.raw!r} called {change.how} in "
                    f"{variant.text[max(0, field.start - 20) : field.stop + 20]!r}"
                )
    return {
        "mutations": sum(made.values()),
        "unseen": sum(unseen.values()),
        "named": round(1 - (sum(misnamed.values()) + sum(unseen.values())) / sum(made.values()), 4),
        "by_mutation": {how: {"made": made[how], "unseen": unseen[how], "otherwise_named": misnamed[how]} for how in sorted(made)},
    }, wrong


def _is_alone(field: ControlField, fields: Sequence[ControlField]) -> bool:
    return sum(key_of(other) == key_of(field) for other in fields) == 1


def measure_reformattings(labelled: Sequence[dict[str, Any]], wanted: int) -> tuple[dict[str, Any], list[str]]:
    """Return how many values written otherwise were taken for lost, and which."""
    rng = random.Random(5)  # noqa: S311
    cases = [(item, field) for item in labelled if item["text"][0] not in "[{" for field in found_in(item) if field.value is not None]
    made, lost = 0, []
    while made < wanted:
        item, field = rng.choice(cases)
        written = reformatted(field, rng)
        if written is None:
            continue
        made += 1
        raw, how = written
        context = item["text"][max(0, field.start - 16) : field.start]
        whole = item["text"][: field.start] + raw + item["text"][field.stop :]
        after = found_in({**item, "role": "user"}, whole)
        if not diff_fields([field], after, text=whole).is_clean:
            lost.append(f"{item['id']} {how}: {field.kind} {field.raw!r} -> {raw!r} behind {context!r}")
    return {"reformattings": made, "lost": len(lost), "share_lost": round(len(lost) / made, 5)}, lost


def _value(rng: random.Random) -> str:
    number = rng.randrange
    return rng.choice(
        [
            f"ORD-{number(10**6)}", f"${number(10**4)}.{number(100):02}", (
                f"2026-{number(1, 13):02}-{number(1, 28):02}"
            ), f"{number(2, 90)} days", f"a{number(10**4)}@x.example",
            f"10.{number(255)}.{number(255)}.{number(255)}", f"{number(100)}%", f"src/a{number(99)}.py:{number(999)}", f"{number(1, 999)} kg", (
                f"v{number(9)}.{number(20)}.{number(9)}"
            ),
        ]
    )  # fmt: skip


_WORDS = [
    "order",
    "delivery",
    "status",
    "address",
    "invoice",
    "customer",
    "please",
    "check",
    "the",
    "a",
    "of",
    "with",
    "for",
    "before",
    "warehouse",
    "street",
    "payment",
    "late",
    "parcel",
    "driver",
    "call",
    "back",
    "written",
    "mail",
    "answer",
    "open",
]


def text_with(hits_per_kb: int, rng: random.Random) -> str:
    """Return a message of 500 characters with about so many values in it."""
    words: list[str] = []
    length, due = 0, rng.random() * 1_000 / max(hits_per_kb, 0.01)
    while length < MESSAGE_LENGTH:
        word = rng.choice(_WORDS)
        if length >= due:
            word, due = _value(rng), due + 1_000 / max(hits_per_kb, 0.01)
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def measure_speed(*, messages: int) -> list[dict[str, Any]]:
    """Return MB/s of the extraction by density of the values, in CPU time."""
    rows = []
    for density in DENSITIES:
        rng = random.Random(density)  # noqa: S311
        read = [HumanMessage(text_with(density, rng), id=f"message-{index}") for index in range(messages)]
        size = sum(len(str(message.content).encode()) for message in read)
        found = len(extract_fields(read))
        gc.collect()
        gc.freeze()
        seconds = median([cpu_seconds_of(extract_fields, read) for _ in range(5)])
        gc.unfreeze()
        rows.append(
            {
                "fields_per_kb": round(1_000 * found / size, 1),
                "mb_per_s": round(size / seconds / 1e6, 1),
                "us_per_field": round(1e6 * seconds / found, 1) if found else None,
            }
        )
    return rows


def measure_diff() -> list[dict[str, Any]]:
    """Return the time of one comparison of 20 and of 2,000 fields that are all there, and with one in a hundred changed."""
    rows = []
    for size in (20, 2_000):
        before = [ControlField(kind=FieldKind.AMOUNT, label=f"item {index}", raw=f"${index}", value=f"{index} USD") for index in range(size)]
        after = [field.model_copy() for field in before]
        changed = [
            field.model_copy(update={"raw": f"${index}5", "value": f"{index}5 USD"}) if index % 100 == 7 else field
            for index, field in enumerate(before)
        ]
        for field in (*before, *after, *changed):
            key_of(field)
        for name, other in (("all there", after), ("1 of 100 changed", changed)):
            times = [cpu_seconds_of(diff_fields, before, other) for _ in range(200 if size == 20 else 40)]
            rows.append({"fields": size, "what": name, "us": round(1e6 * median(times), 1)})
    return rows


def measure_ledger(*, sizes: Sequence[int] = (1_250, 2_500, 5_000)) -> list[dict[str, Any]]:
    """Return the CPU time of one update of a ledger of about 200 fields, by the number of messages read: 500 characters each, 3 values per kB."""
    rng = random.Random(3)  # noqa: S311
    ledger = update_ledger((), [HumanMessage(text_with(3, rng), id=f"before-{index}") for index in range(160)]).fields
    rows = []
    for size in sizes:
        kinds = (HumanMessage, AIMessage)
        read = [kinds[index % 2](text_with(3, rng), id=f"message-{index}") for index in range(size)]
        rows.append(
            {
                "live": len(ledger),
                "messages": size,
                "extract_ms": round(1e3 * median([cpu_seconds_of(extract_fields, read) for _ in range(3)])),
                "update_ms": round(1e3 * median([cpu_seconds_of(update_ledger, ledger, read) for _ in range(3)])),
            }
        )
    return rows


def main() -> int:
    """Measure and print; without `--small`, write the results."""
    parser = argparse.ArgumentParser(description="Measure how well and how fast control fields are found and compared.")
    parser.add_argument("--small", action="store_true", help="few variants and short texts; write nothing")
    parser.add_argument("--parts", action="store_true", help="only how well fields are found, by part; writes `results/fields-parts.json`")
    parser.add_argument("--wrong", action="store_true", help="print what mutations and reformattings went wrong, of the tuned part only")
    options = parser.parse_args()
    labelled = items()
    rows, confusion, totals = measure_quality(labelled)
    totals["second"] = measure_quality(items(SECOND))[2]["all"]
    parts = [{"part": name, **total} for name, total in totals.items()]
    if not options.small:
        write(
            "fields-parts",
            measured="fields found in the two labelled sets: `tune` and `held` are parts of the first, whose misses "
            "were read and mended; `second` is "
            "the second, written before the extractor was read and never tuned on.",
            against="labels written by hand without a look at the extractor.",
            rows=parts,
        )
    if options.parts:
        print(table(parts))
        return 0
    slots = measure_slots()
    mutations, unseen = measure_mutations(labelled, SMALL_MUTATIONS if options.small else MUTATIONS)
    reformattings, lost = measure_reformattings(labelled, SMALL_REFORMATTINGS if options.small else REFORMATTINGS)
    speed, diffs = measure_speed(messages=200 if options.small else 2_000), measure_diff()
    updates = measure_ledger(sizes=(100, 200)) if options.small else measure_ledger()
    print(table(rows), table(parts), table(speed), table(diffs), table(updates), sep="\n\n")
    print(f"\nconfused: {confusion}\nslots: {slots}\nmutations: {mutations}\nreformattings: {reformattings}")
    if options.wrong:
        print(*(line for line in (*unseen, *lost) if not is_held(line.split()[0])), sep="\n", file=sys.stderr)
    if options.small:
        return 0
    write(
        "fields",
        measured=(
            "fields found in `labelled/fields.jsonl` (kind, span and value; statements by overlap), by kind; `held`: the 40% of the messages kept "
            "from the author of the extractor until their misses were sorted by cause; `second`: `labelled/fields_second.jsonl`, written before the "
            "extractor was read, never tuned on. Mutations and reformattings of the fields found there. Speed: CPU time "
            f"of `extract_fields` on 2,000 messages of 500 characters, of `diff_fields`, and of `update_ledger` with 200 live fields, on {cores()}."
        ),
        against="labels written by hand without a look at the extractor.",
        rows=rows,
        headline={
            **{f"{name}_{key}": value for name, total in totals.items() for key, value in total.items()},
            "slot_recall": slots and slots["recall"],
            **mutations,
            **reformattings,
        },
        confusion=confusion,
        slots=slots,
        speed=speed,
        diff=diffs,
        ledger=updates,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
