"""The part about going back: what a rollback to each version would change, and what it never changes."""

from __future__ import annotations

from langchain_ctxguard.report.document import Block, Fold, Inline, Items, Line, Mark, Paragraph, Section
from langchain_ctxguard.report.story import GoingBack, Report
from langchain_ctxguard.report.words import count, moment

TITLE = "Going back: what a rollback would change"
_STAYS = "Consents, approvals, budgets and messages stay as they are in any rollback: context goes back, authority does not."


def versions_section(report: Report) -> Section:
    """Return the part about rollbacks."""
    blocks: list[Block] = [Paragraph(report.back_note)] if report.back_note else []
    if report.current is not None:
        blocks.append(Paragraph(f"Version {report.current} is in force. {_STAYS}"))
    if report.restored:
        done = [f"{moment(one.at)}: version {one.version} restored version {one.restores}. {one.reason}" for one in report.restored]
        blocks.append(Items(done))
    blocks += [_fold(one) for one in report.going_back]
    if report.current is not None and not report.going_back:
        blocks.append(Paragraph("There is no earlier version."))
    return Section("going-back", TITLE, blocks)


def back_words(one: GoingBack) -> str:
    """Return in a sentence what going back to a version would change."""
    if one.note:
        return one.note
    gone = sum(line.startswith("-") for line in one.lines)
    back = sum(line.startswith("+") for line in one.lines)
    messages = f"{count(one.messages_back, 'message')} would be seen as they were said again, " if one.messages_back else ""
    if not one.lines and not one.messages_back:
        return "Nothing: it shows the same."
    text = f"{messages}{count(gone, 'line')} of the context would go and {count(back, 'line')} come back."
    return text[:1].upper() + text[1:]


def _fold(one: GoingBack) -> Fold:
    title: list[Inline] = [Mark(f"To version {one.to}", "strong"), f" \u2014 {back_words(one)}"]
    lines: list[Line] = [_change(line) for line in one.lines]
    blocks: list[Block] = [Items(lines)] if lines else [Paragraph(one.note or "Both show the same.")]
    blocks.append(Paragraph(_STAYS))
    return Fold(title, blocks, anchor=f"back-{one.to}")


def _change(line: str) -> Line:
    sign, _, words = line.partition(" ")
    marks: dict[str, Mark] = {"-": Mark("goes", "bad"), "+": Mark("comes back", "good"), "~": Mark("changes", "warn")}
    return [marks[sign], f" {words}"] if sign in marks else line
