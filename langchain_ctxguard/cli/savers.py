"""LangGraph's savers, opened by URL for a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_ctxguard.backends.sql_database import read_url
from langchain_ctxguard.errors import ConfigurationError


@contextmanager
def saver_at(url: str) -> Iterator[Any]:
    """Open LangGraph's saver of a SQLite file or a PostgreSQL database.

    Raises:
        ConfigurationError: the URL cannot be read, there is no such file, or the package for it is not installed.
    """
    # A driver that cannot read a URL shows it, password and all.
    named = read_url(url)
    try:
        opened: Any
        if named.get_backend_name() == "sqlite":
            from langgraph.checkpoint.sqlite import SqliteSaver

            file = str(named.database)
            if not Path(file).is_file():
                msg = f"There is no file '{file}' with checkpoints. Nothing was made; name one that an application wrote."
                raise ConfigurationError(msg)
            opened = SqliteSaver.from_conn_string(file)
        else:
            from langgraph.checkpoint.postgres import PostgresSaver

            opened = PostgresSaver.from_conn_string(named.set(drivername="postgresql").render_as_string(hide_password=False))
    except ImportError as error:
        msg = f"Reading that checkpointer needs {error.name}; install it."
        raise ConfigurationError(msg) from error
    with opened as saver:
        yield saver
