"""Compactions that may be put on a review sheet, and the sheet's view of one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.transcripts import Run
from langchain_ctxguard.cli.audit_files import after_of, is_snapshot, steps_in, transcript_of
from langchain_ctxguard.cli.sheet import Sample, SheetField
from langchain_ctxguard.cli.stored_runs import FORMAT as STORED
from langchain_ctxguard.compact import compact_messages
from langchain_ctxguard.core.audit import Review, Trail
from langchain_ctxguard.core.audit_steps import Step, steps_of
from langchain_ctxguard.core.audit_told import is_told
from langchain_ctxguard.core.field_text import folded, sentence_at
from langchain_ctxguard.core.roles import speaker_of, text_of
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import CompactionError

_LISTED = 30
"""Fields a person is asked to mark for one compaction, the gravest."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A compaction a file records, or a conversation that is to be compacted for the sheet."""

    file: str
    run: Run
    step: Step | None


def candidates_in(file: str, *, is_compacting: bool) -> Iterator[Candidate]:
    """Yield the compactions of a file that can be judged; of conversations without one, themselves.

    Raises:
        TranscriptError: the file cannot be read.
    """
    for run in transcript_of(file).runs:
        recorded = list(candidates_of(run, file))
        yield from recorded
        if is_compacting and not recorded and run.messages:
            yield Candidate(file, run, None)


def candidates_of(run: Run, source: str) -> Iterator[Candidate]:
    """Yield the compactions of a run that can be judged."""
    return (Candidate(source, run, step) for step in steps_in(run))


def chosen_from(candidates: Sequence[Candidate], *, count: int, seed: int) -> list[tuple[Candidate, Sample]]:
    """Return at most `count` compactions of `candidates`; the same seed chooses the same."""
    shuffled = list(candidates)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - a seed makes the choice repeatable; nothing here is secret
    made = ((candidate, sample) for candidate in shuffled if (sample := sample_of(candidate)) is not None)
    return list(islice(made, count))


def sample_of(candidate: Candidate) -> Sample | None:
    """Return what the sheet shows of a compaction; `None` for a conversation with nothing to compact."""
    run, step = candidate.run, candidate.step
    if step is None:
        after = _compacted(run)
        if after is None:
            return None
        fresh: Sequence[tuple[int, int]] = [(0, len(run.messages))]
        place, made_by = f"{run.name}, compacted for this sheet", "ctxguard's extractive summarizer, for this sheet"
    else:
        after, fresh = after_of(run, step), step.fresh
        place, made_by = (
            f"{run.name}, compaction {step.number} ({step.mark.kind}) before message {step.mark.start}",
            _maker(run),
        )
    trail = Trail()
    if step is not None:
        _catch_up(trail, run, step)
    for start, stop in fresh:
        trail.read(run.messages[start:stop], start=start)
    reviews = sorted(trail.review(after), key=lambda review: (review.level.rank, review.field.source_turn or 0))
    listed = sorted(reviews[:_LISTED], key=lambda review: (review.field.source_turn or 0, review.field.start))
    return Sample(
        file=candidate.file,
        place=place,
        made_by=made_by,
        before=list(_excerpts(listed, run.messages)),
        after=_told(after),
        fields=[_field(review, run.messages) for review in listed],
        more_fields=len(reviews) - len(listed),
    )


def _maker(run: Run) -> str:
    return "the guard of this thread" if run.format == STORED else f"the {run.format} program"


def _catch_up(trail: Trail, run: Run, step: Step) -> None:
    """Read what came before a compaction, and let go of what earlier ones lost."""
    for earlier in steps_of(run.messages, run.compactions, is_snapshot=is_snapshot(run)):
        if earlier.number == step.number:
            return
        for start, stop in earlier.fresh:
            trail.read(run.messages[start:stop], start=start)
        if not earlier.why_not:
            trail.judge(after_of(run, earlier), messages_before=len(earlier.before))


def _compacted(run: Run) -> list[BaseMessage] | None:
    try:
        done = compact_messages(run.messages, keep=("turns", 1))
    except CompactionError:
        return None
    return None if done.outcome in {Outcome.SKIPPED, Outcome.REJECTED} else list(done.messages)


def _excerpts(reviews: Sequence[Review], messages: Sequence[BaseMessage]) -> Iterator[str]:
    """Yield the sentences that hold fields, each once."""
    seen: set[tuple[int, int]] = set()
    for review in reviews:
        turn = review.field.source_turn
        if turn is None:
            continue
        text = text_of(messages[turn])
        start, stop = sentence_at(folded(text), review.field.start, review.field.stop)
        if (turn, start) not in seen:
            seen.add((turn, start))
            yield f"message {turn}, {speaker_of(messages[turn])}: {text[start:stop]}"


def _told(after: Sequence[BaseMessage]) -> str:
    """Return the summary, and how much stayed beside it."""
    told = [text_of(message) for message in after if is_told(message)]
    stayed = len(after) - len(told)
    return "\n\n".join([*told, f"({stayed} messages stayed as they were.)"])


def _field(review: Review, messages: Sequence[BaseMessage]) -> SheetField:
    field = review.field
    turn = field.source_turn
    source = "" if turn is None else f"message {turn}, {speaker_of(messages[turn])}"
    label = f" as {field.label}" if field.label else ""
    return SheetField(field.kind.value, f"{field.raw}{label}", source, review.became, review.now)
