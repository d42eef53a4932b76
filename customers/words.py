"""Search of messages by words, over the full-text indexes of normalized words.

`foundation.text.words` says what a query looks for; both databases find the same. A row whose words
have not been computed yet is found by the indexes of earlier versions, which stem English words.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import chain
from operator import or_
from typing import Any, Final, TypeVar, cast

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Exists, Expression, F, Func, OuterRef, Q, QuerySet
from django.db.models.expressions import Col
from django.db.models.sql.compiler import SQLCompiler

from customers.lookup_keys import email_key, has_external_id
from foundation.text.folding import fold
from foundation.text.words import (
    IGNORED_WORDS,
    MAX_WORD,
    Form,
    WordQuery,
    is_split_by_signs,
    make_index_words,
    split_words,
)
from workspace.models import ConversationMessage, Ticket, TicketMessage

M = TypeVar("M", TicketMessage, ConversationMessage)
Sql = tuple[str, tuple[str, ...]]

# Up to this many matching messages, their tickets or conversations are looked up by id.
MAX_MATCHES: Final = 2_000
# Beyond that, tickets and conversations are counted up to this number.
MAX_COMMON: Final = 100
# What neither database takes within a term.
BLANK: Final = {ord("\0"): " ", ord('"'): " "}
# Of an excerpt, before the first word that was found.
LEAD: Final = 60
ELLIPSIS: Final = "…"
# The tickets whose subject is in no message; that of the others is searched with their first one.
WITHOUT_MESSAGES: Final = Q(message_count=0)
NUMBER_SIGN: Final = "#"
RUN: Final = re.compile(r"\S+")
WORD: Final = re.compile(r"[^\W_]+")


def matching(messages: QuerySet[M], query: WordQuery, *, are_few: bool = False) -> QuerySet[M]:
    """Returns the messages that have what the query looks for; all messages without a query.

    The subject of a ticket is searched with its first message. `are_few` says that other conditions
    leave few messages, which SQLite then looks up one by one.
    """
    if not query:
        return messages
    # A list of all reads the second index only while there are rows without words. Few rows are
    # compared one by one, with the words of each.
    has_unfilled = are_few or _has_unfilled(messages.model)
    matches = Matches(F("id"), query, are_few=are_few, has_unfilled=has_unfilled)
    return messages.filter(matches)


def _has_unfilled(model: type[M]) -> bool:
    # In the order of their index. Without one, PostgreSQL reads the table while its statistics are
    # those of rows before they were filled, and the last rows are filled last.
    unfilled = model.objects.filter(search_text=None).order_by("-pk")
    return unfilled.values_list("pk").first() is not None


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


def having(messages: QuerySet[M], query: WordQuery, parent: str) -> tuple[Q, int | None]:
    """Returns the condition that a row has a message with the words, and up to where to count rows.

    Words that few messages have are looked up first. The messages with a common word are many, so
    rows are tried in their order until the page is full, and counted only a little further.
    """
    found = owners(matching(messages, query), parent, MAX_MATCHES + 1)
    if len(found) <= MAX_MATCHES:
        return Q(pk__in=set(found)), None
    return _has_for_each(messages, query, parent), MAX_COMMON


def build_ticket_condition(
    tickets: QuerySet[Ticket],
    messages: QuerySet[TicketMessage],
    query: WordQuery,
    typed: str,
    searched: Q = WITHOUT_MESSAGES,
) -> tuple[Q, int | None]:
    """As `having`, for tickets: also those with the words in their subject, or with this number.

    `searched` are the tickets whose subject is in none of the messages. `typed` is the query as it
    was sent: an external id is compared as a whole.
    """
    numbered = tickets.filter(has_ticket_number(typed)) if is_ticket_number(typed) else None
    keys = [*numbered.values_list("pk", flat=True)] if numbered is not None else []
    found = owners(matching(messages, query), "ticket", MAX_MATCHES + 1)
    in_subject = searched & has_subject_words(query)
    of_subject = tickets.filter(in_subject).order_by().values_list("pk", flat=True)
    found += of_subject[: MAX_MATCHES + 1]
    if len(found) <= MAX_MATCHES:
        return Q(pk__in={*found, *keys}), None
    every = _has_for_each(messages, query, "ticket") | in_subject
    return every | Q(pk__in=keys) if keys else every, MAX_COMMON


def _has_for_each(messages: QuerySet[M], query: WordQuery, parent: str) -> Q:
    of_row = messages.filter(**{parent: OuterRef("pk")})
    return Q(ExistsForEach(matching(of_row, query, are_few=True)))


def is_ticket_number(text: str) -> bool:
    """Returns whether a text may be the number of a ticket: one word with a digit."""
    text = text.strip()
    return any(each.isdecimal() for each in text) and len(text.split()) == 1


def has_ticket_number(text: str) -> Q:
    """Returns the condition that a ticket has this external id; `#` and case make no difference."""
    number = text.strip().removeprefix(NUMBER_SIGN)
    cases = dict.fromkeys((number, number.upper(), number.lower()))
    return has_external_id([form for each in cases for form in (each, f"{NUMBER_SIGN}{each}")])


def has_subject_words(query: WordQuery) -> Q:
    """Returns the condition that a ticket has the words of a query in its subject.

    Subjects are compared as they are too, while their words have not been computed.
    """
    found = Q()
    for forms, typed in zip(query.groups, query.typed, strict=True):
        conditions = [Q(search_text__contains=_format_stored_phrase(form)) for form in forms]
        conditions += [Q(search_text=None) & _contains_typed("subject", term) for term in typed]
        found &= reduce(or_, conditions)
    return found


def has_lead_words(query: WordQuery) -> Q:
    """Returns the condition that a lead has the words of a query in its name, address or fields.

    Name and address are compared as they are too: the words may not have been computed yet.
    """
    found = Q()
    for forms, typed in zip(query.groups, query.typed, strict=True):
        conditions = [Q(search_text__contains=_format_stored_phrase(form)) for form in forms]
        for term in typed:
            conditions += [Q(email_key__contains=email_key(term)), _contains_typed("name", term)]
        found &= reduce(or_, conditions)
    return found


def _contains_typed(column: str, term: str) -> Q:
    # SQLite compares other letters than ASCII as they are.
    cases = dict.fromkeys((term, term.lower(), term.upper()))
    return reduce(or_, (Q(**{f"{column}__icontains": case}) for case in cases))


def _format_stored_phrase(form: Form) -> str:
    """Returns words in a row, or a beginning of the last one, as `search_text` has them."""
    phrase = f" {' '.join(form)} "
    return phrase.removesuffix("* ")


def excerpt(text: str, query: WordQuery, longest: int) -> str:
    """Returns the part of a text where the first of the words is, on one line."""
    text = " ".join(text.split())
    start = max(0, _find_first_place(text, query) - LEAD)
    if start:
        # At the beginning of a word.
        start = text.find(" ", start, start + LEAD) + 1 or start
    part = text[start : start + longest]
    before, after = ELLIPSIS * (start > 0), ELLIPSIS * (start + longest < len(text))
    return f"{before}{part}{after}"


def _find_first_place(text: str, query: WordQuery) -> int:
    """Returns where the first word of the query is in a text; 0 if none is."""
    if not query:
        return 0
    every = {word.removesuffix("*") for group in query.groups for form in group for word in form}
    wanted = every - IGNORED_WORDS or every
    for run in RUN.finditer(text):
        # Latin text has no such words.
        for word in () if run.group().isascii() else split_words(run.group()):
            if not is_split_by_signs(word):
                continue
            if places := [word.find(each) for each in wanted if each in word]:
                return run.start() + max(0, _find_place(run.group(), word, min(places)))
        is_short = len(run.group()) <= MAX_WORD
        index_words = _list_index_words if is_short else _list_index_words.__wrapped__
        if not wanted.isdisjoint(index_words(run.group())):
            return run.start()
    return 0


# The same words are in most texts.
@lru_cache(maxsize=16_384)
def _list_index_words(run: str) -> frozenset[str]:
    return frozenset(make_index_words(run).split())


def _find_place(run: str, word: str, place: int) -> int:
    return fold(run).find(word) + place


class ExistsForEach(Exists):
    """Whether a subquery has a row, looked up for each row of the query in its order.

    Without OFFSET, PostgreSQL may read all messages with the words first: it takes words for rare
    until it has statistics of a new column, and words of a phrase that are common together.
    """

    template = "EXISTS(%(subquery)s OFFSET 0)"


class Matches(Func):
    """Whether a message has what a query looks for. The expression is the message's `id`."""

    output_field = BooleanField()

    def __init__(
        self,
        message: Expression | F,
        query: WordQuery,
        *,
        are_few: bool = False,
        has_unfilled: bool = False,
    ) -> None:
        super().__init__(message)
        self.query = query
        self.are_few = are_few
        self.has_unfilled = has_unfilled

    def as_postgresql(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> Sql:
        table = compiler.quote_name_unless_alias(self._column.alias)
        found = f'{table}."search_words" @@ %s::tsquery'
        parameters: tuple[str, ...] = (_build_tsquery(self.query),)
        # Of a phrase, the index has only the words.
        for group in self.query.groups:
            if any(len(form) > 1 for form in group):
                phrases = [_format_stored_phrase(form) for form in group]
                places = [f'strpos({table}."search_text", %s) > 0' for _ in phrases]
                found += f" AND ({' OR '.join(places)})"
                parameters += tuple(phrases)
        if self.has_unfilled:
            unfilled, typed = _build_english_tsquery(self.query)
            # IS TRUE hides the condition from the index of these rows, which are all rows at first.
            is_unfilled = f'({table}."search_text" IS NULL) IS TRUE'
            found = f'(({found}) OR ({is_unfilled} AND {table}."words" @@ {unfilled}))'
            parameters += typed
        return f"({found})", parameters

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> Sql:
        column, _ = compiler.compile(self._column)
        table = self._column.target.model._meta.db_table
        found = self._match_fts5(compiler.quote_name_unless_alias(f"{table}_search"), column)
        parameters: tuple[str, ...] = (_build_fts5_query(self.query),)
        if self.has_unfilled:
            alias = compiler.quote_name_unless_alias(self._column.alias)
            words = self._match_fts5(compiler.quote_name_unless_alias(f"{table}_words"), column)
            is_unfilled = f'{alias}."search_text" IS NULL'
            # One look-up for each row; two lists, since SQLite makes one of each index.
            found = (
                f"CASE WHEN NOT {is_unfilled} THEN {found} ELSE {words} END"
                if self.are_few
                else f"({found} OR ({is_unfilled} AND {words}))"
            )
            parameters += (_build_typed_fts5_query(self.query),)
        return found, parameters

    def _match_fts5(self, index: str, column: str) -> str:
        found = f"(SELECT rowid FROM {index} WHERE {index} MATCH %s"  # noqa: S608  names of tables
        # The list of all messages with a common word takes longer than everything else.
        if self.are_few:
            return f"EXISTS {found} AND rowid = {column})"
        return f"{column} IN {found})"

    @property
    def _column(self) -> Col:
        return cast("Col", self.get_source_expressions()[0])


def _build_tsquery(query: WordQuery) -> str:
    groups = (
        " | ".join(f"({_format_tsquery_form(form)})" for form in group) for group in query.groups
    )
    return " & ".join(f"({group})" for group in groups)


def _format_tsquery_form(form: Form) -> str:
    # Index words have neither quotes nor backslashes.
    return " & ".join(
        f"'{word.removesuffix('*')}'{':*' if word.endswith('*') else ''}" for word in form
    )


def _build_fts5_query(query: WordQuery) -> str:
    groups = (" OR ".join(_format_fts5_form(form) for form in group) for group in query.groups)
    return " AND ".join(f"({group})" for group in groups)


def _format_fts5_form(form: Form) -> str:
    # In quotes, AND, OR, NOT and NEAR are words too (FTS5, section 3.1).
    phrase = " ".join(form)
    return f'"{phrase.removesuffix("*")}"{" *" if phrase.endswith("*") else ""}'


def _build_english_tsquery(query: WordQuery) -> Sql:
    """The query by the words as typed, for the index of rows that have yet to be filled."""
    parameters = [list(_list_typed_forms(group)) for group in query.typed]
    groups = (" || ".join(["phraseto_tsquery('english', %s)"] * len(each)) for each in parameters)
    return f"({' && '.join(f'({group})' for group in groups)})", tuple(chain(*parameters))


def _list_typed_forms(group: Sequence[str]) -> Iterator[str]:
    """Terms as they are, and their parts if they differ.

    PostgreSQL keeps addresses, numbers and words with hyphens as one word each.
    """
    for term in group:
        yield from dict.fromkeys((term.translate(BLANK), " ".join(WORD.findall(term))))


def _build_typed_fts5_query(query: WordQuery) -> str:
    groups = (" OR ".join(f'"{term.translate(BLANK)}"' for term in group) for group in query.typed)
    return " AND ".join(f"({group})" for group in groups)
