"""Search by words, in a database: one row for each term of a text, so that SQLite and PostgreSQL find the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select

from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_rows import name_digest, shown, written
from langchain_ctxguard.backends.sql_schema import terms, texts
from langchain_ctxguard.core.search_terms import index_terms, query_terms, ranked
from langchain_ctxguard.domain.hit import Hit

_LAST = "\U0010ffff"


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
            ids = {key: _fresh(connection, where, key) for key in counted}
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
            found = connection.execute(
                select(texts.c.key, terms.c.term, terms.c.count)
                .join_from(terms, texts, texts.c.id == terms.c.text)
                .where(terms.c.space == where, _matches(asked, beginnings))
            ).all()
        matches: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for key, term, count in found:
            if term in asked:
                matches[written(key)][term] += count
            for beginning in beginnings:
                if term.startswith(beginning):
                    matches[written(key)][beginning] += count
        return [Hit(key=key, score=score) for key, score in ranked(matches, texts=total, limit=limit)]

    def purge(self, space: str) -> int:
        """Forget all texts of a space."""
        where = self._space(space)
        # Not while a text is being put: its words would stay behind.
        with self._database.writing(claim=where) as connection:
            connection.execute(delete(terms).where(terms.c.space == where))
            return int(connection.execute(delete(texts).where(texts.c.space == where)).rowcount)

    def _space(self, space: str) -> bytes:
        return name_digest(self._tenant, space)


def _fresh(connection: Connection, space: bytes, key: str) -> int:
    """Return the number of a text with no terms left from before."""
    name = name_digest(key)
    here = (texts.c.space == space) & (texts.c.name == name)
    former = connection.execute(select(texts.c.id).where(here)).scalar()
    if former is not None:
        connection.execute(delete(terms).where(terms.c.text == former))
        return int(former)
    return int(connection.execute(insert(texts).values(space=space, name=name, key=shown(key)).returning(texts.c.id)).scalar_one())


def _matches(asked: list[str], beginnings: list[str]) -> ColumnElement[bool]:
    spans = [(terms.c.term >= beginning) & (terms.c.term <= beginning + _LAST) for beginning in beginnings]
    return or_(terms.c.term.in_(asked), *spans) if asked else or_(*spans)
