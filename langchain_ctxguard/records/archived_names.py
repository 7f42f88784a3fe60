"""Where messages of some names were archived, with what earlier questions found: what was never archived is not looked for at every call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from langchain_ctxguard.core.identity import name_in
from langchain_ctxguard.domain.archive import Manifest


class Answer(NamedTuple):
    """Where a message was archived by the versions that lead to one; no addresses: nowhere."""

    version: int
    addresses: frozenset[str]


class NameSearch:
    """Goes back from version to version until every name is found or known not to be there. The newest that archived a name counts."""

    def __init__(self, names: Iterable[str], answers: Mapping[str, Answer]) -> None:
        """Look for names.

        Args:
            names: As `name_of` gives them.
            answers: What is known of some of them.
        """
        self.wanted = set(names)
        self.found: dict[str, set[str]] = {}
        self.looked = 0
        """How many lists were looked through."""

        self._known: dict[int, list[tuple[str, frozenset[str]]]] = {}
        for name, answer in answers.items():
            self._known.setdefault(answer.version, []).append((name, answer.addresses))

    def recall(self, version: int) -> None:
        """Come to a version: what is known of it and all before it need not be looked for."""
        for name, addresses in self._known.get(version, ()):
            if name in self.wanted:
                self.wanted.discard(name)
                self.found |= {name: set(addresses)} if addresses else {}

    def look(self, manifest: Manifest) -> None:
        """Look through what a version archived."""
        self.looked += 1
        for row in manifest.messages:
            if (name := name_in(row.key)) in self.wanted:
                self.found.setdefault(name, set()).add(row.address)
        self.wanted -= self.found.keys()
