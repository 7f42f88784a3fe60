"""What the manifests of a checkpoint lead to: nodes level by level, then the contents that this process has not read before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.message_blobs import MessageBlobs
from langchain_ctxguard.backends.message_state import State, state_of
from langchain_ctxguard.core.manifest import Manifest, Walk
from langchain_ctxguard.errors import BlobMissingError
from langchain_ctxguard.graph.known import Known, Listed
from langchain_ctxguard.graph.recent_contents import Content, Place


class _Manifests(Protocol):
    blobs: MessageBlobs
    known: Known

    def place(self, thread: str) -> Place: ...


class Reading:
    """What the manifests of one answer lead to."""

    def __init__(self, manifests: _Manifests, thread: str, named: Mapping[bytes, Manifest]) -> None:
        """Read all of it.

        Raises:
            BlobMissingError: something they name is gone or altered.
        """
        self._blobs, self._known = manifests.blobs, manifests.known
        self._thread = thread
        self._named = named
        # Asked before anything is read: what is removed meanwhile moves it.
        self._place = manifests.place(thread)
        self._nodes: dict[bool, dict[bytes, bytes]] = {False: {}, True: {}}
        self._listed = {data: listed for data in named if (listed := self._known.listed(data, self._place)) is not None}
        walked = self._walked({data: Walk(tree) for data, tree in named.items() if data not in self._listed})
        for data, listed in walked.items():
            self._known.keep_list(data, listed, self._place)
        self._listed |= walked
        self._contents: dict[bool, dict[bytes, Content]] = {}
        for is_keyed in (False, True):
            found = [listed for data, listed in self._listed.items() if named[data].is_keyed is is_keyed]
            names = list(dict.fromkeys(name for listed in found for name in listed.items))
            nodes = list(dict.fromkeys(name for listed in found for name in listed.nodes))
            is_own = is_keyed is self._blobs.is_keyed
            self._contents[is_keyed] = self._own(names, nodes) if is_own else dict(self._fetched(names, is_keyed=is_keyed))

    def value(self, data: bytes) -> Any:
        """Return what a manifest stands for: new objects each time."""
        tree = self._named[data]
        names, contents = self._listed[data].items, self._contents[tree.is_keyed]
        found = [contents[name] for name in names]
        # Read all at once, as the serializer reads a list.
        others = iter(self._blobs.values_of([content for content in found if isinstance(content, bytes)]))
        values = [content.made() if type(content) is State else next(others) for content in found]
        if tree.is_keyed is self._blobs.is_keyed:
            objects = (
                (value, name, content if type(content) is State else state_of(value))
                for value, name, content in zip(values, names, found, strict=True)
                if isinstance(value, BaseMessage)
            )
            self._known.remember(objects, self._place, is_read=True)
        return values if tree.is_list else values[0]

    def _walked(self, walks: Mapping[bytes, Walk]) -> dict[bytes, Listed]:
        try:
            self._follow(list(walks.values()))
            return {data: Listed(walk.items(), walk.nodes) for data, walk in walks.items()}
        except ValueError as error:
            msg = f"A manifest of thread '{self._thread}' {error}. Nothing was returned; restore the checkpoint and the store."
            raise BlobMissingError(msg, space=self._thread, address="") from error

    def _own(self, names: Sequence[bytes], nodes: Sequence[bytes]) -> dict[bytes, Content]:
        """Return contents written as this saver writes: those that are kept, and from the store the rest and some of the kept ones, to check them."""
        recent = self._known.contents
        contents = recent.of(names, self._place)
        absent = [name for name in names if name not in contents]
        # Nodes that were read just now are looked at again: there are few of them, or all of it is new.
        checked = recent.to_check([*contents, *nodes], self._place) if contents else ()
        found = self._fetched([*absent, *checked], is_keyed=self._blobs.is_keyed)
        new = {name: found[name] for name in absent}
        self._known.stored.add(new, self._place)
        fresh = kept_form(self._blobs, new)
        recent.keep(fresh, [len(content) for content in new.values()], self._place, names)
        contents.update(fresh)
        return contents

    def _follow(self, walks: list[Walk]) -> None:
        open_walks = walks
        while open_walks:
            for is_keyed in (False, True):
                needs = [walk.needs() for walk in open_walks if walk.manifest.is_keyed is is_keyed]
                self._fetch_nodes(set().union(*needs), is_keyed=is_keyed)
            open_walks = [walk for walk in open_walks if walk.needs()]
            for walk in open_walks:
                walk.step(self._nodes[walk.manifest.is_keyed])

    def _fetch_nodes(self, names: set[bytes], *, is_keyed: bool) -> None:
        read, is_own = self._nodes[is_keyed], is_keyed is self._blobs.is_keyed
        absent = [name for name in names if name not in read]
        if is_own and absent:
            read.update(self._known.stored.nodes(absent, self._place))
            absent = [name for name in absent if name not in read]
        found = self._fetched(absent, is_keyed=is_keyed)
        read.update(found)
        if is_own:
            self._known.stored.add(found, self._place)

    def _fetched(self, names: Sequence[bytes], *, is_keyed: bool) -> dict[bytes, bytes]:
        return self._blobs.contents(self._thread, names, is_keyed=is_keyed, key=self._place.key if self._blobs.is_keyed else None)


def kept_form(blobs: MessageBlobs, contents: Mapping[bytes, bytes]) -> dict[bytes, Content]:
    """Return contents as `RecentContents` keeps them."""
    states = blobs.states_of(list(contents.values()))
    return {name: content if state is None else state for (name, content), state in zip(contents.items(), states, strict=True)}
