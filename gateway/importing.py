"""Reads an OpenAPI document that a person uploads, pastes or names by its URL."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import accumulate
from operator import attrgetter
from typing import Final
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from foundation import outbound
from foundation.concurrency.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitReached
from foundation.json_text import dumps
from foundation.outbound import OutboundError
from gateway import outbound_policy
from gateway.openapi import documents, process
from gateway.openapi.shapes import Import, OpenApiOperation
from gateway.outbound_policy import InvalidTargetUrl
from tools_registry.endpoint import paging
from workspace import reading_budget
from workspace.reading_budget import ReadingBudgetSpent

# Characters of JSON that models read as one token, on average; a rough figure for people.
CHARACTERS_PER_TOKEN: Final = 4
# As tools/list says it of a tool of a project; the other hint is about as long.
ANNOTATIONS: Final = {"readOnlyHint": True, "openWorldHint": True}
_on_pages = ConcurrencyLimit(per_key=1)


class UnusableDocument(Exception):
    """The document cannot be fetched or read; the message is for the person who imports it."""


class ReadingTimeUsed(UnusableDocument):
    """The organization has no time left today in which its documents are read."""


class AnotherIsRead(Exception):
    """The person or the organization has another document read on a page; the text is for them."""


@dataclass(frozen=True, slots=True)
class Read:
    """A document's text, and what it came to."""

    text: str = field(repr=False)
    imported: Import


def read(text: str, organization_id: UUID) -> Read:
    """Returns what a document of an organization comes to.

    Raises UnusableDocument, ReadingTimeUsed if it is not read today.
    """
    with spend_time(organization_id):
        return read_uncharged(text)


@contextmanager
def spend_time(organization_id: UUID) -> Iterator[None]:
    """Counts the reading of one document. Raises ReadingTimeUsed if it is not read today."""
    try:
        with reading_budget.spend(organization_id, process.SECONDS):
            yield
    except ReadingBudgetSpent:
        raise ReadingTimeUsed(
            _("The organization has used up the time to read documents for today. Try tomorrow.")
        ) from None


def read_uncharged(text: str) -> Read:
    """Reads a document as `read` does, within `spend_time`. Raises UnusableDocument."""
    if "\x00" in text:
        raise UnusableDocument("The document contains a NUL character.")
    try:
        imported = process.read(text, limits=limits())
    except documents.InvalidDocument as invalid:
        raise UnusableDocument(str(invalid)) from None
    return Read(text, imported)


@contextmanager
def hold_page(person: UUID, organizations: frozenset[UUID]) -> Iterator[None]:
    """Lets a page read a document for these organizations. Raises AnotherIsRead without waiting.

    A page that reads holds one of few threads of all organizations: a person and an organization
    have one at a time.
    """
    with ExitStack() as held:
        try:
            for key in (person, *organizations):
                held.enter_context(_on_pages.hold(key))
        except ConcurrencyLimitReached:
            raise AnotherIsRead(
                _("Another document of your organization is being read. Try again in a moment.")
            ) from None
        yield


def limits() -> documents.DocumentLimits:
    return documents.DocumentLimits(max_bytes=settings.HALO_GATEWAY_MAX_DOCUMENT_BYTES)


def decode_document(content: bytes) -> str:
    """Returns the text of an uploaded document. Raises UnusableDocument."""
    if len(content) > settings.HALO_GATEWAY_MAX_DOCUMENT_BYTES:
        limit = settings.HALO_GATEWAY_MAX_DOCUMENT_BYTES
        raise UnusableDocument(f"The document is larger than {limit} bytes.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableDocument("The document is not UTF-8 text.") from None


def fetch_document(url: str) -> str:
    """Returns the text of the document at a URL. Raises UnusableDocument."""
    try:
        reply = outbound.fetch("GET", url, policy=outbound_policy.for_documents(url))
    except (OutboundError, InvalidTargetUrl) as error:
        raise UnusableDocument(f"The document could not be fetched. {error}") from None
    if reply.status != HTTPStatus.OK:
        message = f"The document could not be fetched: the server answered {reply.status}."
        raise UnusableDocument(message)
    return decode_document(reply.body)


def url_to_keep(url: str) -> str:
    """Returns the URL of a document as a project keeps it: empty for one with a query.

    A query may hold a token, and all admins read the URL on the next import and in the history. One
    with a user name is not fetched at all.
    """
    return "" if "?" in url else url


def tokens(imported: Import) -> int:
    """Returns about how many tokens a model reads when it is sent the list of all tools."""
    texts = map(_for_models, imported.operations)
    return sum(len(dumps(text)) for text in texts) // CHARACTERS_PER_TOKEN


def tools_on_first_page(imported: Import) -> int:
    """Returns about how many tools are on the first page of a list, which some clients read alone.

    Pages are in the order of names.
    """
    ordered = sorted(imported.operations, key=attrgetter("name"))
    sizes = accumulate(map(_listed_bytes, ordered[: paging.PAGE_SIZE]))
    return max(1, sum(1 for size in sizes if size <= paging.PAGE_BYTES))


def _for_models(operation: OpenApiOperation) -> dict[str, object]:
    """What clients pass on to models; few pass on output schemas."""
    return {
        "name": operation.name,
        "description": operation.description,
        "inputSchema": operation.listed_schema,
    }


def _listed_bytes(operation: OpenApiOperation) -> int:
    """About the bytes that a tool takes in tools/list."""
    listed = _for_models(operation) | {"title": operation.title, "annotations": ANNOTATIONS}
    if operation.output_schema is not None:
        listed["outputSchema"] = operation.output_schema
    return len(dumps(listed))
