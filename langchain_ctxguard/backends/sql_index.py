"""Search by words, in a database: one row for each term of a text, so that SQLite and PostgreSQL find the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, literal, or_, select

from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_rows import name_digest, shown, written
from langchain_ctxguard.backends.sql_schema import terms, texts
from langchain_ctxguard.core.search_terms import SATURATION, index_terms, query_terms, ranked, rarities
from langchain_ctxguard.domain.hit import Hit

_LAST = "\U0010ffff"
_AT_ONCE = 500
"""Texts asked for in one statement."""

_READ = 20_000
"""Rows that are read to rank all that matches; where words are so common, the database chooses what is worth ranking."""

_SPARE = 20
"""How many times more texts are ranked then than are asked for."""


class SqlIndex:
    """A `TextIndex` in a database. Safe under threads, processes and forks; made by `GuardStore.open`."""

    def __init__(self, database: Database, *, tenant: str = "default") -> None:
        """Keep the spaces of one tenant in a database that has the schema."""
        self._database = database
        self._tenant = tenant

    def put(self, space: str, texts: Mapping[str, str]) -> None:
        """Index texts by key; a text put again takes the place of the former."""
        counted = {key: index_terms(text) for key, text in sorted(texts.items())}
        if not counted:
            return
        where = self._space(space)
        with self._database.writing(claim=where) as connection:
            ids = _fresh(connection, where, list(counted))
            rows = [
                {"space": where, "term": term, "text": ids[key], "count": count}
                for key, counts in counted.items()
                for term, count in sorted(counts.items())
            ]
            if rows:
                connection.execute(insert(terms), rows)

    def search(self, space: str, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the keys of the texts that share most with `query`, best first."""
        asked, beginnings = query_terms(query)
        if not asked and not beginnings:
            return []
        where = self._space(space)
        with self._database.reading(is_snapshot=True) as connection:
            total = connection.execute(select(func.count()).select_from(texts).where(texts.c.space == where)).scalar_one()
            having, only = _common(connection, where, asked, beginnings, total=total, limit=limit)
            found = connection.execute(
                select(texts.c.key, terms.c.term, terms.c.count)
                .join_from(terms, texts, texts.c.id == terms.c.text)
                .where(terms.c.space == where, _matches(asked, beginnings), *([] if only is None else [terms.c.text.in_(only)]))
            ).all()
        matches: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for key, term, count in found:
            if term in asked:
                matches[written(key)][term] += count
            for beginning in beginnings:
                if term.startswith(beginning):
                    matches[written(key)][beginning] += count
        return [Hit(key=key, score=score) for key, score in ranked(matches, texts=total, limit=limit, having=having)]

    def copy_space(self, source: str, target: str) -> None:
        """Index in `target` also what is indexed in `source`, in one transaction."""
        theirs, where = self._space(source), self._space(target)
        with self._database.writing(claim=where) as connection:
            keys = [written(row[0]) for row in connection.execute(select(texts.c.key).where(texts.c.space == theirs)).all()]
            _fresh(connection, where, sorted(keys))
            new = texts.alias()
            rows = (
                select(literal(where, terms.c.space.type), terms.c.term, new.c.id, terms.c.count)
                .join_from(terms, texts, texts.c.id == terms.c.text)
                .join(new, (new.c.name == texts.c.name) & (new.c.space == where))
                .where(terms.c.space == theirs)
            )
            connection.execute(insert(terms).from_select(["space", "term", "text", "count"], rows))

    def purge(self, space: str) -> int:
        """Forget all texts of a space."""
        where = self._space(space)
        # Not while a text is being put: its words would stay behind.
        with self._database.writing(claim=where) as connection:
            connection.execute(delete(terms).where(terms.c.space == where))
            return int(connection.execute(delete(texts).where(texts.c.space == where)).rowcount)

    def _space(self, space: str) -> bytes:
        return name_digest(self._tenant, space)


def _fresh(connection: Connection, space: bytes, keys: Sequence[str]) -> dict[str, int]:
    """Return the numbers of texts with no terms left from before; those that are not there yet get one."""
    names = {name_digest(key): key for key in keys}
    former = _numbers(connection, space, list(names))
    known = list(former.values())
    for start in range(0, len(known), _AT_ONCE):
        connection.execute(delete(terms).where(terms.c.text.in_(known[start : start + _AT_ONCE])))
    fresh = [{"space": space, "name": name, "key": shown(key)} for name, key in names.items() if name not in former]
    if fresh:
        connection.execute(insert(texts), fresh)
        former |= _numbers(connection, space, [row["name"] for row in fresh])
    return {key: former[name] for name, key in names.items()}


def _numbers(connection: Connection, space: bytes, names: Sequence[Any]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for start in range(0, len(names), _AT_ONCE):
        some = (texts.c.space == space) & texts.c.name.in_(names[start : start + _AT_ONCE])
        found |= {bytes(row[0]): int(row[1]) for row in connection.execute(select(texts.c.name, texts.c.id).where(some)).all()}
    return found


def _common(
    connection: Connection, space: bytes, asked: list[str], beginnings: list[str], *, total: int, limit: int
) -> tuple[dict[str, int] | None, list[int] | None]:
    """Return how many texts have each term and the texts worth ranking, where more rows match than are to be read; else nothing."""
    label = case(*((_span(beginning), literal(beginning)) for beginning in beginnings), else_=terms.c.term) if beginnings else terms.c.term
    here = (terms.c.space == space) & _matches(asked, beginnings)
    counted = connection.execute(select(label, func.count(terms.c.text.distinct())).where(here).group_by(label)).all()
    having = {str(row[0]): int(row[1]) for row in counted}
    if sum(having.values()) <= _READ:
        return None, None
    worth = case(*((label == term, value) for term, value in rarities(total, having).items()), else_=0.0)
    best = (
        select(terms.c.text)
        .where(here)
        .group_by(terms.c.text)
        .order_by(func.count(label.distinct()).desc(), func.sum(worth * terms.c.count / (terms.c.count + SATURATION)).desc(), terms.c.text)
        .limit(max(limit, 0) * _SPARE + _SPARE)
    )
    return having, [int(row[0]) for row in connection.execute(best).all()]


def _span(beginning: str) -> ColumnElement[bool]:
    return (terms.c.term >= beginning) & (terms.c.term <= beginning + _LAST)


def _matches(asked: list[str], beginnings: list[str]) -> ColumnElement[bool]:
    spans = [*map(_span, beginnings)]
    return or_(terms.c.term.in_(asked), *spans) if asked else or_(*spans)
