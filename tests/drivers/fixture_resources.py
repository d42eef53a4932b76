"""Resources, templates and prompts for tests: every kind, and every way to fail."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.drivers.fixture_tools import SECRET
from tools_registry.api import (
    Argument,
    ListedResource,
    NotFound,
    PromptMessage,
    ResourceBody,
    ToolContext,
    Toolset,
    Unauthorized,
    ValidationFailure,
    text_message,
)

LIBRARY = Toolset(scope="setup:read", title="Library")
# Belongs to the CRM of `fixture_tools.py`, and to its action `find_contact`.
PAPERS = Toolset(integration="crm", title="CRM")

Given = Mapping[str, str]

PIXEL = b"\x89PNG\r\n\x1a\n\x00"
ICON = {"src": "data:image/png;base64,AA==", "mimeType": "image/png"}
DECORATED: dict[str, Any] = {
    "icons": [ICON],
    "meta": {"example.com/shelf": 3},
    "annotations": {
        "audience": ["user"],
        "priority": 0.5,
        "lastModified": "2026-01-02T03:04:05Z",
    },
}


@LIBRARY.resource(
    uri="lab://rules",
    title="Rules",
    description="Text.",
    mime_type="text/plain",
    size=8,
    **DECORATED,
)
def rules(_context: ToolContext, _none: Given) -> ResourceBody:
    return ResourceBody("Be kind.")


@LIBRARY.resource(uri="lab://pixel", title="Pixel", description="Bytes.", mime_type="image/png")
def pixel(_context: ToolContext, _none: Given) -> ResourceBody:
    return ResourceBody(PIXEL)


FAILURES: dict[str, Exception] = {
    "missing": NotFound("There is no such book."),
    "invalid": ValidationFailure(
        "No book has that number.", field="book", reason="must be another"
    ),
    "unauthorized": Unauthorized("The other library refused the key."),
    "broken": RuntimeError(SECRET),
}


def _books(_context: ToolContext) -> Sequence[ListedResource]:
    return [
        ListedResource({"book": f"book {number}"}, f"book-{number}", size=2) for number in (2, 1)
    ]


def _titles(_context: ToolContext, typed: str, others: Given) -> Sequence[str]:
    return [f"{others.get('prefix', 'book')} {number}" for number in range(150) if typed != "none"]


def _fails(_context: ToolContext, _typed: str, _others: Given) -> Sequence[str]:
    raise RuntimeError(SECRET)


@LIBRARY.template(
    uri_template="lab://books/{book}/text",
    title="A book",
    description="By its name.",
    mime_type="text/plain",
    listed=_books,
    completions={"book": _titles},
    **DECORATED,
)
def book_text(_context: ToolContext, variables: Given) -> ResourceBody:
    book = variables["book"]
    if book in FAILURES:
        raise FAILURES[book]
    if book == "huge":
        return ResourceBody("x" * 1_100_000)
    return ResourceBody(f"This is {book}.", mime_type="text/markdown")


def _cannot_list(_context: ToolContext) -> Sequence[ListedResource]:
    raise RuntimeError(SECRET)


@LIBRARY.template(
    uri_template="lab://unlisted/{name}",
    title="Unlisted",
    description="Its list fails, and it asks.",
    listed=_cannot_list,
    completions={"name": _fails},
)
def read_unlisted(context: ToolContext, _variables: Given) -> ResourceBody:
    context.ask({"who": {"method": "elicitation/create"}})
    return ResourceBody("never")


@LIBRARY.prompt(
    title="Tell everything",
    description="One block of every kind.",
    icons=[ICON],
    meta={"example.com/shelf": 3},
    arguments=[
        Argument("topic", title="Topic", description="Of what", required=True, complete=_titles),
        Argument("tone"),
    ],
)
def tell(_context: ToolContext, arguments: Given) -> Sequence[PromptMessage]:
    topic = arguments["topic"]
    if topic in FAILURES:
        raise FAILURES[topic]
    embedded = {"uri": "lab://rules", "mimeType": "text/plain", "text": "Be kind."}
    return [
        text_message(f"Tell of {topic}, {arguments.get('tone', 'plainly')}."),
        text_message("Gladly.", role="assistant"),
        PromptMessage({"type": "image", "data": "AA==", "mimeType": "image/png"}),
        PromptMessage({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}),
        PromptMessage({"type": "resource", "resource": embedded}),
        PromptMessage({"type": "resource_link", "uri": "lab://rules", "name": "rules"}),
    ]


@PAPERS.resource(
    uri="crm://contacts", title="Contacts", description="A list.", action="find_contact"
)
def contacts(_context: ToolContext, _none: Given) -> ResourceBody:
    return ResourceBody("Ada")


@PAPERS.template(
    uri_template="crm://people/{name}", title="A person", description="One.", action="find_contact"
)
def person(_context: ToolContext, variables: Given) -> ResourceBody:
    return ResourceBody(variables["name"])


@PAPERS.prompt(title="Greet a contact", description="Kindly.", action="find_contact")
def greet(_context: ToolContext, _none: Given) -> Sequence[PromptMessage]:
    return [text_message("Greet Ada.")]
