"""From a parsed OpenAPI document to an `Import`: operations as tools, and what has none."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson

from foundation import patterns
from foundation.patterns import PatternsTooLarge
from foundation.schema_work import SchemaTooComplex
from gateway.openapi import (
    arguments,
    bodies,
    documents,
    names,
    parameters,
    response_headers,
    security,
)
from gateway.openapi.arguments import Arguments
from gateway.openapi.references import (
    CHARACTERS_PER_STEP,
    OpenApiDocument,
    TooManySteps,
    Unmappable,
    UnresolvedReference,
)
from gateway.openapi.schemas.definitions import Definition, Definitions
from gateway.openapi.schemas.dialect import PREFIX, Schema, is_write_only, validating
from gateway.openapi.schemas.portable import Portable
from gateway.openapi.schemas.text import plain, with_sentence
from gateway.openapi.shapes import Import, Json, OpenApiOperation, UnmappedOperation
from gateway.openapi.wire.names import is_rewriting

# Increased with each change of how operations are mapped or fingerprints are made: what an earlier
# version mapped is mapped again before it is compared.
VERSION: Final = 1
MAX_TAGS: Final = 8
MAX_TAG_LENGTH: Final = 100
METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_NOT_OPERATIONS: Final = {
    "parameters", "servers", "summary", "description", "$ref", "additionalOperations",
}  # fmt: skip
_NOT_IN_PATH: Final = re.compile(r"[\x00-\x20\x7f]")
# Each becomes a row, a tool in lists, and a line of the page that shows the import.
MAX_OPERATIONS: Final = 5_000
_MAX_NOTES: Final = 30
_MAX_URL: Final = 2_000
RETURNS_FILE: Final = "The result is a file, in base64."
_NO_SCHEMES: Final = ("https",)
TOO_MUCH_WORK: Final = (
    "The document is too large to be read: its operations and schemas refer to each other too "
    "often."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingSettings:
    """What an import may be configured with: how long the name of a tool is at most."""

    max_name_length: int = 64


@dataclass(frozen=True, slots=True)
class _OperationPlace:
    """One operation in its document."""

    key: str
    method: str
    path_key: str
    item: Mapping[str, Json]
    raw: Json

    @property
    def operation_id(self) -> str:
        found = self.raw.get("operationId") if isinstance(self.raw, Mapping) else None
        return found if isinstance(found, str) else ""


def read(document: Mapping[str, Json], *, settings: MappingSettings | None = None) -> Import:
    """Returns the tools of a document that `documents.parse` gave. Raises InvalidDocument.

    An operation that cannot be mapped is listed with its reason and does not stop the others.
    """
    settings = settings or MappingSettings()
    version = documents.version_of(document)
    inside = OpenApiDocument(document, version)
    info = document.get("info")
    unmapped: list[UnmappedOperation] = []
    notes: list[str] = []
    try:
        found = _operations(inside, unmapped)
    except TooManySteps:
        raise documents.InvalidDocument(TOO_MUCH_WORK) from None
    chosen = names.tool_names(
        {one.key: one.operation_id for one in found}, max_length=settings.max_name_length
    )
    if not found:
        notes.append("The document has no operation that can be a tool.")
    return Import(
        title=plain(info.get("title") if isinstance(info, Mapping) else "", 200),
        version=version,
        servers=_servers(document) if version != "2.0" else _server_in_2(document),
        operations=[_name_operation(one, chosen[one.key]) for one in found],
        unmapped=unmapped,
        notes=notes,
    )


def _operations(
    document: OpenApiDocument, unmapped: list[UnmappedOperation]
) -> list[OpenApiOperation]:
    places = list(islice(_places(document, unmapped), MAX_OPERATIONS + 1))
    if len(places) > MAX_OPERATIONS:
        raise documents.InvalidDocument(
            f"The document has more than {MAX_OPERATIONS:,} operations. Split it."
        )
    definitions = Definitions(document)
    portable = Portable(definitions)
    # Read once: a document may name thousands.
    shared = frozenset(map(_strip_slash, _servers(document.root)))
    found: list[OpenApiOperation] = []
    for place in places:
        try:
            found.append(_operation(definitions, portable, place, shared))
            unmapped += _callbacks(place)
        except Unmappable as error:
            unmapped.append(UnmappedOperation(place.key, str(error)))
    return found


def _name_operation(operation: OpenApiOperation, name: str) -> OpenApiOperation:
    if name == operation.operation_id or not operation.operation_id:
        return replace(operation, name=name)
    note = f"The operation id {operation.operation_id[:80]!r} became the name {name!r}."
    return replace(operation, name=name, notes=(note, *operation.notes))


def _places(
    document: OpenApiDocument, unmapped: list[UnmappedOperation]
) -> Iterator[_OperationPlace]:
    paths = document.root.get("paths")
    for path_key, raw in paths.items() if isinstance(paths, Mapping) else ():
        if not path_key.startswith("/"):
            unmapped.append(
                UnmappedOperation(path_key, "It is no path: it does not begin with a slash.")
            )
            continue
        try:
            item = _path_item(document, raw)
        except Unmappable as error:
            unmapped.append(UnmappedOperation(path_key, str(error)))
            continue
        yield from _methods(path_key, item, unmapped)
    webhooks = document.root.get("webhooks", document.root.get("x-webhooks"))
    unmapped += [
        UnmappedOperation(f"webhook {name}", "A webhook is called by the API.")
        for name in (webhooks if isinstance(webhooks, Mapping) else ())
    ]


def _path_item(document: OpenApiDocument, raw: Json) -> Mapping[str, Json]:
    """A `$ref` of a path item adds to what is next to it, in every version."""
    item = raw
    if isinstance(raw, Mapping) and "$ref" in raw:
        target = document.resolve({"$ref": raw["$ref"]})
        siblings = {key: value for key, value in raw.items() if key != "$ref"}
        item = {**target, **siblings} if isinstance(target, Mapping) else target
    if not isinstance(item, Mapping):
        raise Unmappable("Its path item is not an object.")
    return item


def _methods(
    path_key: str, item: Mapping[str, Json], unmapped: list[UnmappedOperation]
) -> Iterator[_OperationPlace]:
    for method, raw in item.items():
        if method in METHODS:
            yield _OperationPlace(
                f"{method.upper()} {path_key}", method.upper(), path_key, item, raw
            )
        elif method.startswith("x-"):
            if isinstance(raw, Mapping) and "responses" in raw:
                unmapped.append(UnmappedOperation(f"{method} {path_key}", "It is an extension."))
        elif method not in _NOT_OPERATIONS:
            reason = "The method is not supported." if method in {"trace", "query"} else (
                "It is no HTTP method."
            )  # fmt: skip
            unmapped.append(UnmappedOperation(f"{method.upper()} {path_key}", reason))
    more = item.get("additionalOperations")
    unmapped += [
        UnmappedOperation(f"{method} {path_key}", "The method is not supported.")
        for method in (more if isinstance(more, Mapping) else ())
    ]


def _callbacks(place: _OperationPlace) -> Iterator[UnmappedOperation]:
    callbacks = place.raw.get("callbacks")
    for name in callbacks if isinstance(callbacks, Mapping) else ():
        yield UnmappedOperation(f"{place.key} callback {name}", "A callback is called by the API.")


def _operation(
    definitions: Definitions,
    portable: Portable,
    place: _OperationPlace,
    shared_servers: frozenset[str],
) -> OpenApiOperation:
    document = definitions.document
    raw = document.resolve(place.raw)
    if not isinstance(raw, Mapping):
        raise Unmappable("The operation is not an object.")
    notes: list[str] = []
    (path, fixed_query), pass_ = _path(place.path_key), definitions.translation()
    declared = parameters.read(document, path, place.item, raw, notes)
    declared = parameters.remove_fixed(declared, dict(fixed_query), notes)
    content = bodies.read(document, raw, declared, notes)
    sets = security.alternatives(document, raw, notes)
    given = arguments.read(definitions, pass_, declared, content, sets)
    every = definitions.closure(pass_.refs)
    full, needed = _complete_schema(definitions, given)
    listed, was_cut = portable.root(given.properties, given.required, is_open=bool(given.values))
    if was_cut:
        notes.append("The listed schema was cut to fewer levels for its size.")
    notes += [*pass_.notes, *(note for one in every.values() for note in one.notes)]
    summary, description = plain(raw.get("summary"), 200), plain(raw.get("description"))
    text = _text(summary, description) or place.key[:1024]
    operation = OpenApiOperation(
        key=place.key,
        name="",
        operation_id=place.operation_id or "",
        method=place.method,
        path=path,
        title=summary,
        description=_complete_description(text, document, raw),
        full_schema=full,
        listed_schema=listed,
        output_schema=_output(document, raw, notes),
        parameters=tuple(given.parameters),
        body=given.body,
        fixed_query=fixed_query,
        security=given.security,
        server="" if document.version == "2.0" else _own_server(raw, place.item, shared_servers),
        is_deprecated=raw.get("deprecated") is True,
        idempotency_header=given.idempotency_header,
        may_be_empty=tuple(given.may_be_empty),
        response_headers=_declared_headers(document, raw),
        notes=tuple(dict.fromkeys(notes))[:_MAX_NOTES],
        mapping=VERSION,
        tags=_tags(raw),
    )
    return replace(operation, fingerprint=_fingerprint(document, operation, needed))


def _tags(raw: Mapping[str, Json]) -> tuple[str, ...]:
    """The tags of an operation, cut in number and length; they are no part of its meaning."""
    given = raw.get("tags")
    texts = (plain(one, MAX_TAG_LENGTH) for one in (given if isinstance(given, list) else ()))
    return tuple(dict.fromkeys(text for text in texts if text))[:MAX_TAGS]


def _complete_schema(
    definitions: Definitions, given: Arguments
) -> tuple[Schema, Mapping[str, Definition]]:
    """Returns the schema that validates arguments, and the definitions that it has."""
    full = _full(given)
    own_patterns = patterns.price(full)
    needed = definitions.closure(definitions.references_in(full))
    if needed:
        definitions.document.work.spend(sum(one.steps for one in needed.values()))
        full["$defs"] = {name: one.full for name, one in needed.items()}
    try:
        sum((one.patterns for one in needed.values()), own_patterns).check()
        definitions.check_evaluations(full)
    except (PatternsTooLarge, SchemaTooComplex) as error:
        raise Unmappable(str(error)) from None
    return full, needed


def _path(path_key: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A fragment is only there to have a path twice and is never sent."""
    path, _, query = path_key.partition("#")[0].partition("?")
    if "{" in query:
        raise Unmappable("The query in its path has a parameter.")
    if "{" in parameters.TEMPLATE.sub("", path) or "}" in parameters.TEMPLATE.sub("", path):
        raise Unmappable("The braces in its path do not match.")
    if _NOT_IN_PATH.search(path):
        raise Unmappable("Its path has spaces or control characters.")
    fixed_query = tuple(parse_qsl(query, keep_blank_values=True))
    if any(is_rewriting("query", name) for name, _value in fixed_query):
        raise Unmappable("The query in its path changes the request.")
    return path, fixed_query


def _full(given: Arguments) -> Schema:
    full: Schema = {
        "type": "object",
        "properties": {name: validating(one) for name, one in given.properties.items()},
        "required": given.required,
        "additionalProperties": validating(given.values),
    }
    if given.together:
        full["dependentRequired"] = {
            name: [one for one in given.together if one != name] for name in given.together_with
        }
    return full


def _text(summary: str, description: str) -> str:
    if not summary or description.startswith(summary.rstrip(".")):
        return description or summary
    return plain(with_sentence(summary, description) if description else summary)


def _complete_description(text: str, document: OpenApiDocument, raw: Mapping[str, Json]) -> str:
    """The description of a tool, which says so if the tool returns a file."""
    return with_sentence(text, RETURNS_FILE) if _returns_file(document, raw) else text


def _responses(document: OpenApiDocument, raw: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The responses that a success is declared with; what refers to nothing is left out."""
    responses = raw.get("responses")
    for status, response in responses.items() if isinstance(responses, Mapping) else ():
        if not str(status).startswith("2"):
            continue
        with suppress(UnresolvedReference):
            resolved = document.resolve(response)
            if isinstance(resolved, Mapping):
                yield resolved


def _declared_headers(document: OpenApiDocument, raw: Mapping[str, Json]) -> tuple[str, ...]:
    names: list[str] = []
    for response in _responses(document, raw):
        headers = response.get("headers")
        if isinstance(headers, Mapping):
            document.work.spend(len(headers))
            names += headers
    return response_headers.select_allowed(names)


def _returns_file(document: OpenApiDocument, raw: Mapping[str, Json]) -> bool:
    """Whether every body that a successful response is declared with is binary."""
    types: list[str] = []
    for response in _responses(document, raw):
        content = response.get("content")
        types += [*map(str, content)] if isinstance(content, Mapping) else []
    return bool(types) and all(bodies.kind_of(one) == "binary" for one in types)


def _output(document: OpenApiDocument, raw: Mapping[str, Json], notes: list[str]) -> Schema | None:
    """The properties that a successful response has; any object is valid all the same.

    A call that ran must not fail because its API does not keep to its own document.
    """
    responses = raw.get("responses")
    found: Json = None
    for status, response in responses.items() if isinstance(responses, Mapping) else ():
        try:
            schema = _response_schema(document, response)
        except UnresolvedReference as error:
            if "another document" in str(error):
                raise
            notes.append(str(error))
            continue
        if schema is not None and found is None and str(status).startswith("2"):
            found = schema
    if not isinstance(found, Mapping):
        return None
    try:
        shown: Schema = {
            name: {} for name, one in bodies.raw_properties(document, found)
            if not is_write_only(document, one)
        }  # fmt: skip
        target = document.resolve(found)
    except Unmappable:
        return None
    if isinstance(target, Mapping) and target.get("type") == "array":
        return {"type": "object", "properties": {"items": {}}}
    if not shown and not (isinstance(target, Mapping) and target.get("type") == "object"):
        return None
    return {"type": "object", "properties": shown} if shown else {"type": "object"}


def _response_schema(document: OpenApiDocument, response: Json) -> Json:
    response = document.resolve(response)
    if not isinstance(response, Mapping):
        return None
    schema = response.get("schema")
    content = response.get("content")
    for media_type, inner in content.items() if isinstance(content, Mapping) else ():
        if isinstance(inner, Mapping) and bodies.kind_of(media_type) == "json":
            schema = inner.get("schema")
            break
    if isinstance(schema, Mapping) and "$ref" in schema:
        document.resolve(schema)
    return schema


def _servers(owner: Mapping[str, Json]) -> tuple[str, ...]:
    """The addresses that a document names; the variables in them have their defaults."""
    listed = owner.get("servers")
    found: list[str] = []
    for one in listed if isinstance(listed, list) else ():
        url = one.get("url") if isinstance(one, Mapping) else None
        if not isinstance(url, str) or len(url) > _MAX_URL:
            continue
        variables = one.get("variables")
        for name, variable in variables.items() if isinstance(variables, Mapping) else ():
            default = variable.get("default") if isinstance(variable, Mapping) else None
            if isinstance(default, str | int | float):
                place, text = f"{{{name}}}", str(default)
                # Before it is made: defaults may have variables in them, many times over.
                if len(url) + url.count(place) * len(text) > _MAX_URL:
                    break
                url = url.replace(place, text)
        else:
            found.append(url)
    return tuple(dict.fromkeys(found))


def _own_server(raw: Mapping[str, Json], item: Mapping[str, Json], shared: frozenset[str]) -> str:
    """The server of an operation or of its path; empty if it has none.

    It is empty also for one of the servers of the document, which the target URL stands for.
    """
    own = [_strip_slash(url) for url in _servers(raw) or _servers(item)]
    return own[0] if own and shared.isdisjoint(own) else ""


def _strip_slash(url: str) -> str:
    return url.rstrip("/") or "/"


def _server_in_2(document: Mapping[str, Json]) -> tuple[str, ...]:
    host, base = document.get("host"), document.get("basePath")
    base = base if isinstance(base, str) else ""
    if not isinstance(host, str) or not host:
        return (base,) if base else ()
    listed = document.get("schemes")
    schemes = [str(one) for one in listed] if isinstance(listed, list) else []
    return tuple(f"{scheme}://{host}{base}" for scheme in schemes or _NO_SCHEMES)


def _plain(value: Any) -> Any:
    """Dataclasses as JSON values; a body of a thousand fields makes `asdict` slow."""
    return orjson.loads(orjson.dumps(value))


def _fingerprint(
    document: OpenApiDocument, operation: OpenApiOperation, needed: Mapping[str, Definition]
) -> str:
    """SHA-256 over what the operation means and what models read: not its name or its place."""
    full = {key: value for key, value in operation.full_schema.items() if key != "$defs"}
    full["required"] = sorted(full["required"])
    parameters = _plain(operation.parameters)
    ordered = sorted(parameters, key=lambda one: (one["place"], one["name"]))
    body = _plain(operation.body)
    meaning = {
        "method": operation.method,
        "path": operation.path,
        "query": operation.fixed_query,
        "parameters": ordered,
        "body": body,
        "schema": full,
        "definitions": {PREFIX + name: one.digest for name, one in needed.items()},
        "security": [sorted(map(asdict, one), key=str) for one in operation.security],
        "idempotency_header": operation.idempotency_header,
        "server": operation.server,
    }
    text = orjson.dumps(meaning, option=orjson.OPT_SORT_KEYS, default=str)
    document.work.spend(len(text) // CHARACTERS_PER_STEP)
    # The listed schema was counted when it was made.
    return hashlib.sha256(text + _read_by_models(operation)).hexdigest()


def _read_by_models(operation: OpenApiOperation) -> bytes:
    listed = operation.listed_schema
    shown = [
        *(operation.title, operation.description, operation.output_schema),
        {**listed, "required": sorted(listed.get("required", ()))},
    ]
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)
