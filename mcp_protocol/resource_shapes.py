"""Serializes resources, their templates and their contents for each revision.

Source: MCP schema of each revision, Resource, ResourceTemplate and ReadResourceResult.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, Protocol

from mcp_protocol.description import RevisionSerializer, Row, unless_empty
from mcp_protocol.revisions import REVISIONS, Revision, revisions_since
from mcp_protocol.shapes import DECORATION, page_result, uncached_result
from mcp_protocol.strict_json import JsonObject

# The annotations that each revision supports; others are left out.
_ANNOTATIONS: Final[Mapping[str, tuple[Revision, ...]]] = {
    "audience": REVISIONS,
    "priority": REVISIONS,
    "lastModified": revisions_since(Revision.V2025_06_18),
}


class OfferFacts(Protocol):
    """The attributes that resources and templates have in common."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def icons(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def meta(self) -> Mapping[str, Any]: ...


class _ContentFacts(OfferFacts, Protocol):
    @property
    def mime_type(self) -> str: ...
    @property
    def annotations(self) -> Mapping[str, Any]: ...


class ResourceFacts(_ContentFacts, Protocol):
    """The attributes of a resource that a list contains; `size` in bytes."""

    @property
    def uri(self) -> str: ...
    @property
    def size(self) -> int | None: ...


class TemplateFacts(_ContentFacts, Protocol):
    """The attributes of a resource template that a list contains."""

    @property
    def uri_template(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a resource: text, or bytes."""

    uri: str
    mime_type: str
    body: str | bytes
    meta: Mapping[str, Any] = field(default_factory=dict)


def _text(contents: Contents) -> str | None:
    return contents.body if isinstance(contents.body, str) else None


def _blob(contents: Contents) -> str | None:
    return base64.b64encode(contents.body).decode() if isinstance(contents.body, bytes) else None


def _annotations_of(revision: Revision) -> Row:
    known = [name for name, revisions in _ANNOTATIONS.items() if revision in revisions]

    def read_annotations(thing: _ContentFacts) -> JsonObject | None:
        annotations = thing.annotations
        return {name: annotations[name] for name in known if name in annotations} or None

    return ("annotations", (revision,), read_annotations)


_NAMES: Final[tuple[Row, ...]] = (
    ("name", REVISIONS, attrgetter("name")),
    ("title", revisions_since(Revision.V2025_06_18), unless_empty("title")),
    ("description", REVISIONS, unless_empty("description")),
    ("mimeType", REVISIONS, unless_empty("mime_type")),
)
_REST: Final = (*map(_annotations_of, REVISIONS), *DECORATION)
_RESOURCE: Final = RevisionSerializer(
    ("uri", REVISIONS, attrgetter("uri")),
    *_NAMES,
    ("size", REVISIONS, attrgetter("size")),
    *_REST,
)
_TEMPLATE: Final = RevisionSerializer(
    ("uriTemplate", REVISIONS, attrgetter("uri_template")), *_NAMES, *_REST
)
_CONTENTS: Final = RevisionSerializer(
    ("uri", REVISIONS, attrgetter("uri")),
    ("mimeType", REVISIONS, unless_empty("mime_type")),
    ("text", REVISIONS, _text),
    ("blob", REVISIONS, _blob),
    ("_meta", revisions_since(Revision.V2025_06_18), unless_empty("meta")),
)


def resources_list_result(
    resources: Iterable[ResourceFacts], revision: Revision, next_cursor: str | None = None
) -> JsonObject:
    """Returns one page of resources in the given order."""
    return page_result(
        "resources", _RESOURCE.serialize_each(resources, revision), revision, next_cursor
    )


def templates_list_result(
    templates: Iterable[TemplateFacts], revision: Revision, next_cursor: str | None = None
) -> JsonObject:
    """Returns one page of resource templates in the given order."""
    serialized = _TEMPLATE.serialize_each(templates, revision)
    return page_result("resourceTemplates", serialized, revision, next_cursor)


def read_result(contents: Contents, revision: Revision) -> JsonObject:
    """Returns the contents of a resource; bytes become base64."""
    return uncached_result({"contents": [_CONTENTS.serialize(contents, revision)]}, revision)
