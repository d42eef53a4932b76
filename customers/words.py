"""Search of messages by words, over the full-text indexes of migration 0006.

A term is a word or a phrase. Both databases compare stems of English words. Any text is a term:
nothing in it is an operator, and stop words alone are not searched for.
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, TypeVar, cast

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Exists, Expression, F, Func, OuterRef, Q, QuerySet
from django.db.models.expressions import Col
from django.db.models.sql.compiler import SQLCompiler

from workspace.models import ConversationMessage, TicketMessage

M = TypeVar("M", TicketMessage, ConversationMessage)
Sql = tuple[str, tuple[str, ...]]

WORD: Final = re.compile(r"[^\W_]+")
# Stems differ from their words at the end: a word in a text is found by its first characters.
SHORTEST_STEM: Final = 3
MAX_ENDING: Final = 3
PHRASE: Final = "phraseto_tsquery('english', %s)"
# Up to this many matching messages, their tickets or conversations are looked up by id.
MAX_MATCHES: Final = 2_000
# Beyond that, tickets and conversations are counted up to this number.
MAX_COMMON: Final = 100
# What neither database takes within a term.
BLANK: Final = {ord("\0"): " ", ord('"'): " "}
# Of an excerpt, before the first word that was found.
LEAD: Final = 60
ELLIPSIS: Final = "…"
# The stop words of PostgreSQL's english configuration (english.stop); FTS5 has none.
STOP_WORDS: Final = frozenset(
    WORD.findall("""
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
    her hers herself it its itself they them their theirs themselves what which who whom this that
    these those am is are was were be been being have has had having do does did doing a an the and
    but if or because as until while of at by for with about against between into through during
    before after above below to from up down in out on off over under again further then once here
    there when where why how all any both each few more most other some such no nor not only own
    same so than too very s t can will just don should now
    """)
)


def significant(terms: Sequence[str]) -> list[str]:
    """Returns the terms that have a word other than stop words."""
    return [term for term in terms if set(WORD.findall(term.lower())) - STOP_WORDS]


def matching(messages: QuerySet[M], terms: Sequence[str], *, are_few: bool = False) -> QuerySet[M]:
    """Returns the messages that have every significant term; all messages without one.

    The subject of a ticket is searched with its first message. `are_few` says that other conditions
    leave few messages, which SQLite then looks up one by one.
    """
    kept = significant(terms)
    return messages.filter(Matches(F("id"), kept, are_few=are_few)) if kept else messages


def owners(messages: QuerySet[M], parent: str, limit: int) -> list[str]:
    """Returns the id of what each message belongs to, for so many of the messages and no order.

    On PostgreSQL the subquery keeps the full-text index in use: with LIMIT alone, a wrong estimate
    of how many messages have two words makes the planner read the whole table.
    """
    rows = messages.order_by().values_list(f"{parent}_id", flat=True)
    if connection.vendor != "postgresql":
        return list(rows[:limit])
    inner: str
    parameters: tuple[Any, ...]
    inner, parameters = rows.query.sql_with_params()
    sql = f"WITH found (owner) AS MATERIALIZED ({inner}) SELECT owner FROM found LIMIT %s"  # noqa: S608  made by Django
    with connection.cursor() as cursor:
        cursor.execute(sql, [*parameters, limit])
        return [owner for (owner,) in cursor.fetchall()]


def having(messages: QuerySet[M], terms: Sequence[str], parent: str) -> tuple[Q, int | None]:
    """Returns the condition that a row has a message with the terms, and up to where to count rows.

    Words that few messages have are looked up first. The messages with a common word are many, so
    rows are tried in their order until the page is full, and counted only a little further.
    """
    found = owners(matching(messages, terms), parent, MAX_MATCHES + 1)
    if len(found) <= MAX_MATCHES:
        return Q(pk__in=set(found)), None
    of_row = messages.filter(**{parent: OuterRef("pk")})
    return Q(Exists(matching(of_row, terms, are_few=True))), MAX_COMMON


def excerpt(text: str, terms: Sequence[str], longest: int) -> str:
    """Returns the part of a text where the first of the terms is, on one line."""
    text = " ".join(text.split())
    found = [place for term in terms if (place := _place(text, term)) is not None]
    start = max(0, min(found, default=0) - LEAD)
    if start:
        # At the beginning of a word.
        start = text.find(" ", start, start + LEAD) + 1 or start
    part = text[start : start + longest]
    before, after = ELLIPSIS * (start > 0), ELLIPSIS * (start + longest < len(text))
    return f"{before}{part}{after}"


def _place(text: str, term: str) -> int | None:
    word = next((word for word in WORD.findall(term) if word.lower() not in STOP_WORDS), "")
    beginning = word[: max(SHORTEST_STEM, len(word) - MAX_ENDING)]
    found = re.search(rf"\b{re.escape(beginning)}", text, re.IGNORECASE) if word else None
    return found and found.start()


def _forms(term: str) -> list[str]:
    """A term as it is, and its parts if they differ.

    PostgreSQL keeps addresses, numbers and words with hyphens as one word each.
    """
    return list(dict.fromkeys((term, " ".join(WORD.findall(term)))))


class Matches(Func):
    """Whether a message has every one of the terms. The expression is the message's `id`."""

    output_field = BooleanField()

    def __init__(
        self, message: Expression | F, terms: Sequence[str], *, are_few: bool = False
    ) -> None:
        super().__init__(message)
        self.terms = tuple(term.translate(BLANK) for term in terms)
        self.are_few = are_few

    def as_postgresql(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> Sql:
        table = compiler.quote_name_unless_alias(self._column.alias)
        forms = [_forms(term) for term in self.terms]
        query = " && ".join(f"({' || '.join([PHRASE] * len(each))})" for each in forms)
        return f'{table}."words" @@ ({query})', tuple(chain.from_iterable(forms))

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> Sql:
        column, _ = compiler.compile(self._column)
        index = compiler.quote_name_unless_alias(
            f"{self._column.target.model._meta.db_table}_words"
        )
        # In quotes, AND, OR, NOT and NEAR are words too (FTS5, section 3.1).
        query = " ".join(f'"{term}"' for term in self.terms)
        found = f"(SELECT rowid FROM {index} WHERE {index} MATCH %s"  # noqa: S608  names of tables
        # The list of all messages with a common word takes longer than everything else.
        if self.are_few:
            return f"EXISTS {found} AND rowid = {column})", (query,)
        return f"{column} IN {found})", (query,)

    @property
    def _column(self) -> Col:
        return cast("Col", self.get_source_expressions()[0])
