"""What an import finds in an OpenAPI document: an `OpenApiOperation` for each tool, as values.

An operation holds everything that a call needs. It is stored as JSON and read without the document.
"""

import hashlib
import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

Json: TypeAlias = Any
Place: TypeAlias = Literal["path", "query", "header", "cookie"]
Style: TypeAlias = Literal[
    "simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "tabDelimited",
    "deepObject",
]  # fmt: skip
BodyKind: TypeAlias = Literal["json", "form", "multipart", "text", "binary"]
# Ranges of media types that JSON is in, and the type of text that is sent for them.
TEXT_IN_RANGE: Final = {"*/*": "text/plain", "application/*": "application/octet-stream"}
SchemeKind: TypeAlias = Literal["bearer", "basic", "api_key", "oauth2", "unsupported"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter: the argument that holds its value, and how it is written on the wire.

    `media_type` is set for a parameter that is described by `content`; its value is written as
    JSON. `fixed` is sent without being asked for, as the version that an API requires in a header;
    such a parameter has no argument, and `argument` is empty.
    """

    argument: str
    name: str
    place: Place
    style: Style
    explode: bool
    required: bool = False
    allow_reserved: bool = False
    media_type: str = ""
    fixed: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyField:
    """One property of an object body, and how a form or a multipart body writes it."""

    argument: str
    name: str
    style: Style = "form"
    explode: bool = True
    content_type: str = ""
    is_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationBody:
    """The body of a request.

    Either `argument` holds it as a whole, or each of `fields` is an argument of its own. With
    `open_fields`, arguments that no field or parameter names are properties of the body, too.
    """

    kind: BodyKind
    media_type: str
    argument: str = ""
    fields: Sequence[BodyField] = ()
    open_fields: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """One security scheme: what it needs, and where an API key is sent.

    `prefix` is written before the secret in a header. `argument_name` is set where the document
    declares the credential as a parameter or a field of the body; it is no argument then.
    """

    name: str
    kind: SchemeKind
    place: Place | Literal["body"] = "header"
    parameter: str = "Authorization"
    prefix: str = ""
    authorization_url: str = ""
    token_url: str = ""
    scopes: Sequence[str] = ()
    argument_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiOperation:
    """One operation of a document as one tool.

    `key` is method and path key as the document has them, the stable name of the operation in it.
    `path` is the template that is filled, `fixed_query` what the path key has behind a question
    mark. `full_schema` validates arguments; `listed_schema` is the portable form that clients are
    shown. `security` is a list of alternatives, each a set of schemes that are needed together; an
    empty alternative needs none. `server` is where its path is, if that is not the server of the
    document; variables have their defaults, and one without a default is left. `may_be_empty` are
    the arguments whose parameters allow empty text, None for an operation that was stored before
    they were read. `response_headers` are those that the document declares and a result may have,
    in lower case. `fingerprint` changes when the meaning of the tool or a text that models read
    does. `notes` say what was changed, and why. `mapping` is the version of the mapping that the
    operation was made by, 0 before versions were counted. `tags` are those of the document, for
    people who choose among many tools.
    """

    key: str
    name: str
    operation_id: str
    method: str
    path: str
    title: str
    description: str
    full_schema: Mapping[str, Json]
    listed_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json] | None = None
    parameters: Sequence[Parameter] = ()
    body: OperationBody | None = None
    fixed_query: Sequence[tuple[str, str]] = ()
    security: Sequence[Sequence[Scheme]] = ()
    server: str = ""
    is_deprecated: bool = False
    idempotency_header: str = ""
    may_be_empty: Sequence[str] | None = None
    response_headers: Sequence[str] = ()
    fingerprint: str = ""
    notes: Sequence[str] = ()
    mapping: int = 0
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class UnmappedOperation:
    """An operation, a webhook or a callback that has no tool, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What one document came to. `version` is its OpenAPI version, `servers` as it declares them.

    `notes` are about the document as a whole.
    """

    title: str
    version: str
    servers: Sequence[str]
    operations: Sequence[OpenApiOperation]
    unmapped: Sequence[UnmappedOperation] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRequest:
    """One HTTP request, without a credential. `target` is the path with its query, encoded."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = field(default=None, repr=False)

    def digest(self, base_url: str) -> str:
        """Returns the SHA-256 of what is sent to an address: method, URL, headers and body."""
        body = None if self.body is None else hashlib.sha256(self.body).hexdigest()
        parts = [self.method, f"{base_url}{self.target}", list(self.headers), body]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def as_json(operation: OpenApiOperation) -> dict[str, Json]:
    """Returns an operation as JSON values, to store it.

    The version before `server` reads each of its own members, so that it fails without `servers`.
    """
    return asdict(operation) | {"servers": [operation.server] if operation.server else []}


def from_json(stored: Mapping[str, Json]) -> OpenApiOperation:
    """Returns the operation that `as_json` gave; what an earlier version lacks has its default."""
    operation: OpenApiOperation = _value(OpenApiOperation, stored)
    return operation


def import_from_json(stored: Mapping[str, Json]) -> Import:
    """Returns an import that was written as JSON."""
    made: Import = _value(Import, stored)
    return made


# An import has thousands of values of a few kinds.
_hints: Any = lru_cache(get_type_hints)


def _value(kind: Any, stored: Any) -> Any:
    """A stored value as its annotated type: dataclasses and sequences of them, else unchanged."""
    if get_origin(kind) in {types.UnionType, Literal}:
        known = [one for one in get_args(kind) if is_dataclass(one)]
        return _value(known[0], stored) if known and stored is not None else stored
    if is_dataclass(kind):
        made: Any = kind
        hints = _hints(kind)
        names = [one.name for one in fields(kind) if one.name in stored]
        return made(**{name: _value(hints[name], stored[name]) for name in names})
    if get_origin(kind) in {Sequence, tuple} and stored is not None:
        inner = get_args(kind)[0]
        return (
            tuple(_value(inner, one) for one in stored)
            if get_origin(kind) is Sequence
            else tuple(stored)
        )
    return stored
