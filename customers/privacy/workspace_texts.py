"""Rows of other customers and of the organization that may name a customer who is erased."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from django.db.models import Q, QuerySet

from customers import companies
from customers.privacy import tables
from customers.privacy.subject import Subject
from customers.privacy.text_columns import TextColumns, name_redaction
from foundation.text.names import name_key
from workspace.models import (
    Agent,
    Company,
    Conversation,
    ConversationMessage,
    Customer,
    DataImport,
    Event,
    FeatureFlag,
    Feedback,
    Join,
    KnowledgeChunk,
    KnowledgePage,
    KnowledgeSource,
    Lead,
    PageJob,
    Ticket,
    TicketMessage,
)


def _rows_of(name: str, lookup: str = "pk__in") -> Callable[[Subject], Q]:
    """Returns the condition of rows of a table that an erasure finds by the customer."""
    (table,) = (table for table in tables.TABLES if table.name == name)
    return lambda subject: Q(**{lookup: table.rows(subject)})


def _name_key(row: Any) -> str:
    """Returns the key of a name that was replaced, which has other signs than the name."""
    return name_key(row.name)


REDACTED: Final = (
    # Before the customers: undoing a merge makes one of what its record keeps.
    TextColumns("joins", Join, values=("filled", "merged"), own=_rows_of("joins")),
    TextColumns(
        "companies",
        Company,
        texts=("plan", "name", "domain", "industry"),
        values=("custom_fields", "trait_times"),
        derived={"name_key": _name_key},
    ),
    TextColumns(
        "customers",
        Customer,
        texts=("plan", "name", "avatar", "role"),
        values=("custom_fields", "context", "trait_times"),
        derived={"name_key": _name_key},
        own=_rows_of("customers"),
    ),
    TextColumns("leads", Lead, texts=("name",), values=("fields",), own=_rows_of("leads")),
    TextColumns(
        "events",
        Event,
        texts=("session_id", "event_type", "element_selector", "page_url"),
        values=("metadata",),
        own=_rows_of("events"),
    ),
    TextColumns("feedback", Feedback, texts=("comment",), own=_rows_of("feedback")),
    TextColumns(
        "conversations",
        Conversation,
        texts=("question",),
        keys=("session_id",),
        own=_rows_of("conversations"),
    ),
    TextColumns(
        "conversation_messages",
        ConversationMessage,
        texts=("author_name", "text"),
        values=("images",),
        own=_rows_of("conversations", "conversation__in"),
    ),
    TextColumns(
        "tickets",
        Ticket,
        texts=("subject", "inbox", "category", "source", "last_author_name"),
        values=("metadata",),
        keys=("external_id",),
        own=_rows_of("tickets"),
    ),
    TextColumns(
        "ticket_messages",
        TicketMessage,
        texts=("author_name", "text", "heading"),
        own=_rows_of("tickets", "ticket__in"),
    ),
    TextColumns("imports", DataImport, texts=("file_name",), values=("problems", "preview")),
    TextColumns("page_jobs", PageJob, texts=("title", "message")),
)
# An admin changes these: a document that was changed here alone would be read again as it was.
LEFT_AS_THEY_ARE: Final = (
    TextColumns("knowledge_sources", KnowledgeSource, texts=("title", "file_name", "url", "error")),
    TextColumns(
        "knowledge_texts",
        KnowledgeChunk,
        texts=("title", "heading", "url", "text"),
    ),
    TextColumns(
        "knowledge_pages",
        KnowledgePage,
        texts=("url", "final_url", "address", "title", "error"),
        values=("passages",),
    ),
    TextColumns("agents", Agent, texts=("name",)),
    TextColumns("feature_flags", FeatureFlag, texts=("name",)),
)
# What an erasure does not look for in rows of others: a name that anybody may have. It is counted.
NAMED_ONLY: Final = tuple(replace(columns, redaction=name_redaction) for columns in REDACTED)


def list_own_companies(subject: Subject) -> QuerySet[Company]:
    """Returns the company of the customer, if it has no other customer: its name may be theirs."""
    return companies.list_companies_of_one(subject.organization_id, subject.customer_id)
