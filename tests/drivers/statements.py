"""What is asked of the database, as Django hands it over and as the driver is given it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import psycopg
from django.db import connection

AUTHENTICATE = "SELECT oauth_accesstoken"
SWITCHES = "SELECT tools_registry_integrationmode"
CREDENTIAL = "SELECT tools_registry_credential"
PAGES = "SELECT tools_registry_documentationsection"
CUSTOMERS = "SELECT workspace_customer"
AUDIT = "INSERT action_executions"
FINISH = "UPDATE action_executions"
EVENT = "INSERT security_events"
MARKS = {"SELECT": "FROM", "INSERT": "INTO", "UPDATE": "UPDATE"}


@dataclass(frozen=True)
class Statement:
    """One statement with the values next to it."""

    sql: str
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        return first_table(self.sql)


def first_table(sql: str) -> str:
    """What a statement does and to which table first; one without a table by its first word."""
    words = sql.replace('"', "").replace("(", " ").split()
    verb = words[0].upper()
    if verb not in MARKS:
        return verb
    return f"{verb} {words[[word.upper() for word in words].index(MARKS[verb]) + 1]}"


@contextmanager
def record_statements() -> Iterator[list[Statement]]:
    """The statements that go through Django's connection while the block runs."""
    received: list[Statement] = []

    def note(execute: Callable[..., Any], sql: str, values: Any, *more: Any) -> Any:
        received.append(Statement(sql, tuple(values or ())))
        return execute(sql, values, *more)

    with connection.execute_wrapper(note):
        yield received


@contextmanager
def record_driver_statements() -> Iterator[list[str]]:
    """The statements that reach the driver on this connection, whichever way they took."""
    connection.ensure_connection()
    received: list[str] = []
    if connection.vendor == "postgresql":
        with patch.object(psycopg.Cursor, "execute", _noting(received)):
            yield received
        return
    connection.connection.set_trace_callback(received.append)
    try:
        yield received
    finally:
        connection.connection.set_trace_callback(None)


def _noting(received: list[str]) -> Callable[..., Any]:
    execute = psycopg.Cursor.execute

    def noting(cursor: Any, query: Any, *more: Any, **options: Any) -> Any:
        # The application has another one that listens for notices, and tries it now and then.
        if cursor.connection is connection.connection:
            received.append(str(query))
        return execute(cursor, query, *more, **options)

    return noting
