"""In which order the lines of a session log belong together, by what each says of its parent. What the lines say is not looked at here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """One line of a log, as far as order goes."""

    key: str | None
    """Its own id."""

    parents: tuple[str, ...]
    """Ids it names as its parent, the nearest first; the first that is in the log counts."""

    lane: tuple[str, ...]
    """Who writes: lines of other lanes are never its parents."""

    follows_lane: bool
    """A line without a parent goes on where its lane stopped; if not, it starts a conversation of its own."""

    time: str = ""
    is_said: bool = False
    """It holds a message."""


Attaches = Callable[[list[int], list[int]], bool]
"""Says whether the second path, which leaves the first, is a part of it all the same (parallel results)."""


def ordered(links: Sequence[Link], attaches: Attaches) -> list[list[int]]:
    """Return the conversations as lists of indexes, in order; each line is in one of them.

    Where a line has several that follow it, the conversation goes on with the one that leads to what was said last; the others
    are conversations of their own.
    """
    parents = _parents(links)
    children: list[list[int]] = [[] for _ in links]
    for index, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(index)
    roots = [index for index, parent in enumerate(parents) if parent is None]
    top_down = _top_down(roots, children)
    latest: list[tuple[bool, str, int]] = [(link.is_said, link.time, index) for index, link in enumerate(links)]
    follower: list[int | None] = [None] * len(links)
    for index in reversed(top_down):
        if children[index]:
            following = max(children[index], key=lambda child: latest[child])
            follower[index] = following
            latest[index] = max(latest[index], latest[following])
    return _joined(top_down, parents, follower, attaches)


def _joined(top_down: list[int], parents: list[int | None], follower: list[int | None], attaches: Attaches) -> list[list[int]]:
    """Cut the tree into paths, and put those that belong to another path where they leave it."""
    paths: dict[int, list[int]] = {}
    path_of: dict[int, int] = {}
    for index in top_down:
        parent = parents[index]
        start = path_of[parent] if parent is not None and follower[parent] == index else index
        path_of[index] = start
        paths.setdefault(start, []).append(index)
    within: dict[int, list[int]] = {}
    alone: list[int] = []
    for start, path in paths.items():
        parent = parents[start]
        if parent is not None and attaches(paths[path_of[parent]], path):
            within.setdefault(parent, []).append(start)
        else:
            alone.append(start)
    return [_walk(start, follower, within) for start in sorted(alone)]


def _walk(start: int, follower: list[int | None], within: dict[int, list[int]]) -> list[int]:
    order, stack = [], [start]
    while stack:
        index = stack.pop()
        order.append(index)
        following = follower[index]
        if following is not None:
            stack.append(following)
        stack += sorted(within.get(index, ()), reverse=True)
    return order


def _parents(links: Sequence[Link]) -> list[int | None]:
    known: dict[tuple[tuple[str, ...], str], int] = {}
    for index, link in enumerate(links):
        if link.key is not None:
            known.setdefault((link.lane[:1], link.key), index)
    parents: list[int | None] = []
    for index, link in enumerate(links):
        found = (known.get((link.lane[:1], name)) for name in link.parents)
        parents.append(next((parent for parent in found if parent is not None and parent != index), None))
    _cut_loops(parents)
    _chain_roots(links, parents)
    return parents


def _cut_loops(parents: list[int | None]) -> None:
    """A line that is its own ancestor has no parent: only a damaged log has one."""
    seen_by: list[int | None] = [None] * len(parents)
    for first in range(len(parents)):
        index: int | None = first
        below = first
        while index is not None and seen_by[index] is None:
            seen_by[index] = first
            below, index = index, parents[index]
        if index is not None and seen_by[index] == first:
            parents[below] = None


def _chain_roots(links: Sequence[Link], parents: list[int | None]) -> None:
    """Let each beginning in a lane that goes on follow the last line of what the lane said before."""
    root_of: list[int | None] = [None] * len(parents)
    last_of: dict[int, int] = {}
    for first in range(len(parents)):
        path, index = [], first
        while root_of[index] is None:
            path.append(index)
            parent = parents[index]
            if parent is None:
                root_of[index] = index
                break
            index = parent
        root = root_of[index]
        for member in path:
            root_of[member] = root
        if root is not None:
            last_of[root] = first
    stopped: dict[tuple[str, ...], int] = {}
    for root in dict.fromkeys(root for root in root_of if root is not None):
        lane = links[root].lane
        if links[root].follows_lane:
            if lane in stopped:
                parents[root] = stopped[lane]
            stopped[lane] = last_of[root]


def _top_down(roots: list[int], children: list[list[int]]) -> list[int]:
    order = list(roots)
    for index in order:
        order.extend(children[index])
    return order
