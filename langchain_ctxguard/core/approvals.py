"""Whether a person's answer opens a call: only that call, only for as long as it was given, only from somebody who may."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from langchain_ctxguard.domain.approval import Approval, Binding, argument_digests, arguments_digest
from langchain_ctxguard.domain.policy import AskNeed, ToolRequest


def binding_of(request: ToolRequest, rules: str) -> Binding:
    """Return what an approval of a call is bound to; `rules` is the fingerprint of the policy, `Verdict.fingerprint`.

    Raises:
        TypeError: an argument without a text form.
    """
    return Binding(
        tool=request.tool,
        arguments=arguments_digest(request.args),
        call_id=request.call_id,
        thread=request.thread,
        namespace=request.namespace,
        rules=rules,
        parts=argument_digests(request.args),
    )


def expiry(need: AskNeed, now: datetime) -> datetime:
    """Return until when an answer given now holds."""
    return now + timedelta(seconds=need.expires_s)


def opening(need: AskNeed, binding: Binding, approvals: Iterable[Approval], *, requester: str | None, now: datetime) -> Approval | None:
    """Return an approval that meets a need, the newest, or `None`."""
    found = [approval for approval in approvals if approval_fault(approval, need, binding, requester=requester, now=now) is None]
    return max(found, key=lambda approval: approval.given_at, default=None)


def rejection(binding: Binding, approvals: Iterable[Approval]) -> Approval | None:
    """Return the newest answer about exactly this call, if it is a no."""
    about = [approval for approval in approvals if any(bound.digest == binding.digest for bound in approval.bindings)]
    newest = max(about, key=lambda approval: approval.given_at, default=None)
    return newest if newest is not None and newest.decision in {"reject", "respond"} else None


def approval_fault(approval: Approval, need: AskNeed, binding: Binding, *, requester: str | None, now: datetime) -> str | None:  # noqa: PLR0911 - one line for each reason
    """Return why an approval does not open a call, `None` where it does."""
    if approval.decision not in {"approve", "edit"}:
        return "is no approval"
    bound = next((bound for bound in approval.bindings if bound.digest == binding.digest), None)
    if bound is None:
        return _difference(approval.bindings, binding)
    if approval.given_at > now:
        return "is dated after now"
    if approval.expires_at <= now or approval.given_at + timedelta(seconds=need.expires_s) <= now:
        return f"expired at {min(approval.expires_at, approval.given_at + timedelta(seconds=need.expires_s)).isoformat(timespec='seconds')}"
    if need.approver is None:
        return None
    if approval.approver.role != need.approver:
        return f"is by {approval.approver.role or 'somebody without a role'}, not by {need.approver}"
    if requester is None or approval.requester is None:
        return "cannot count: nobody said who asked for the call, so it may be the same person"
    if approval.approver.id in {requester, approval.requester}:
        return f"is by the person who asked for the call; another {need.approver} has to agree"
    return None


def nearest_fault(need: AskNeed, binding: Binding, approvals: Collection[Approval], *, requester: str | None, now: datetime) -> str | None:
    """Return a sentence about the approval that came closest to opening a call, `None` where none was about it."""
    about = [one for one in approvals if any(bound.call_id == binding.call_id and bound.tool == binding.tool for bound in one.bindings)]
    newest = max(about, key=lambda approval: approval.given_at, default=None)
    if newest is None:
        return None
    return f"approval '{newest.approval_id}' {approval_fault(newest, need, binding, requester=requester, now=now) or 'is no longer needed'}"


def _difference(bindings: Collection[Binding], binding: Binding) -> str:
    bound = next((one for one in bindings if one.call_id == binding.call_id), None) or next(iter(bindings), None)
    if bound is None:
        return "is for no call"
    if bound.tool != binding.tool:
        return f"is for `{bound.tool}`"
    if bound.arguments != binding.arguments:
        changed = sorted(name for name in {*bound.parts, *binding.parts} if bound.parts.get(name) != binding.parts.get(name))
        return f"is for other arguments ({', '.join(changed) or 'they'} changed)"
    if (bound.thread, bound.namespace) != (binding.thread, binding.namespace):
        return "is for another thread"
    if bound.call_id != binding.call_id:
        return "is for another call"
    return "was given under other rules"
