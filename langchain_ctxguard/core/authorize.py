"""The verdict on a tool call. Deny beats ask beats allow, over every rule that applies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_ctxguard.domain.approval import Approval
from langchain_ctxguard.domain.budget import Budgets
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.policy import Policy, ToolRequest, Verdict
from langchain_ctxguard.domain.value import Value


class Needs(Value):
    """What a verdict on a call will look at, so that nothing else has to be fetched."""

    paths: bool = False
    consents: tuple[str, ...] = ()
    approvals: bool = False
    budgets: tuple[str, ...] = ()
    """Keys of the budgets the call would be charged to."""

    usage: bool = False
    origins: bool = False
    done: bool = False


def needs_of(request: ToolRequest, policy: Policy | Sequence[Policy], *, now: datetime) -> Needs:
    """Return what has to be known for a verdict on `request`."""
    raise NotImplementedError


def authorize(
    request: ToolRequest,
    policy: Policy | Sequence[Policy] | None,
    *,
    consents: Mapping[str, Any] | None,
    approvals: Iterable[Approval],
    budgets: Budgets | None,
    fields: Iterable[ControlField],
    now: datetime,
    origins: Any | None = None,
    done: Collection[Any] | None = None,
    resolve: Any | None = None,
) -> Verdict:
    """Return the verdict on a call. Pure: everything it needs is given; what is not given counts as absent, and what rests on it is refused.

    Args:
        request: The call, with the arguments that will run.
        policy: What decides; several: the strictest of them. `None`: everything is allowed.
        consents: By field, the consents in force for the requester. `None`: there is no ledger; rules about consents deny.
        approvals: Answers on record for the thread; those for another call open nothing.
        budgets: What is used already. `None`: nobody counts; rules about budgets deny.
        fields: The field ledger: where values came from whose messages are gone.
        now: The moment the verdict is for.
        origins: The `core.origins.Origins` of the root thread. `None`: no value has an origin but what `fields` say.
        done: The `DoneCall`s of the thread, for `order`. `None`: nothing was done.
        resolve: Follows the links of a path (`backends.paths`). `None`: nothing can; rules about paths deny.
    """
    raise NotImplementedError
