"""Requests of the server to a client during a call, in the form of each revision.

One request is `{"method": ..., "params": {...}}`, as in MCP 2026-07-28 (schema, InputRequest).
Source: client/elicitation, client/sampling and client/roots of each revision.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp_protocol import client_capabilities
from mcp_protocol.revisions import MODERN, REVISIONS, Revision, revisions_since
from mcp_protocol.strict_json import JsonObject

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"

InputRequest: TypeAlias = Mapping[str, Any]
Params: TypeAlias = Mapping[str, Any]

# The members of a form field at 2025-06-18, by its type; later revisions added defaults, titled
# choices and multiple choices (schema, PrimitiveSchemaDefinition).
_ONCE_IN_A_FIELD: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("minLength", "maxLength", "format", "enum", "enumNames"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": ("default",),
}
_IN_EVERY_FIELD: Final = ("type", "title", "description")


class UnsupportedAtRevision(Exception):
    """The revision has no form of this request."""


def _as_it_is(params: Params) -> JsonObject:
    return dict(params)


def _plain_form(params: Params) -> JsonObject:
    schema = params["requestedSchema"]
    fields = {name: _plain_field(field) for name, field in schema["properties"].items()}
    required = {"required": schema["required"]} if "required" in schema else {}
    plain = {"type": "object", "properties": fields, **required}
    return {"message": params["message"], "requestedSchema": plain}


def _plain_field(field: Mapping[str, Any]) -> JsonObject:
    if "oneOf" in field:
        choices = [choice["const"] for choice in field["oneOf"]]
        titles = [choice["title"] for choice in field["oneOf"]]
        field = {**field, "enum": choices, "enumNames": titles}
    kept = _ONCE_IN_A_FIELD.get(field["type"])
    if kept is None:
        raise UnsupportedAtRevision(f"a field of type {field['type']}")
    return {key: value for key, value in field.items() if key in (*_IN_EVERY_FIELD, *kept)}


def _add_id(params: Params) -> JsonObject:
    return {"elicitationId": secrets.token_urlsafe(16), **params}


def _remove_id(params: Params) -> JsonObject:
    return {key: value for key, value in params.items() if key != "elicitationId"}


_Encoders: TypeAlias = Mapping[Revision, Callable[[Params], JsonObject]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of request: the capability it needs, and its serialization by revision, if any."""

    needs: JsonObject
    encoders: _Encoders


def _identity_encoders(revisions: tuple[Revision, ...]) -> _Encoders:
    return dict.fromkeys(revisions, _as_it_is)


_KINDS: Final[Mapping[str, _Kind]] = {
    "form": _Kind(
        {"elicitation": {"form": {}}},
        {
            **_identity_encoders(revisions_since(Revision.V2025_11_25)),
            Revision.V2025_06_18: _plain_form,
        },
    ),
    "url": _Kind(
        {"elicitation": {"url": {}}},
        {Revision.V2025_11_25: _add_id, **dict.fromkeys(MODERN, _remove_id)},
    ),
    "sampling": _Kind({"sampling": {}}, _identity_encoders(REVISIONS)),
    "sampling with tools": _Kind(
        {"sampling": {"tools": {}}}, _identity_encoders(revisions_since(Revision.V2025_11_25))
    ),
    "roots": _Kind({"roots": {}}, _identity_encoders(REVISIONS)),
}


def _kind(request: InputRequest) -> _Kind:
    params = request.get("params", {})
    match request["method"]:
        case "elicitation/create":
            return _KINDS["url" if params.get("mode") == "url" else "form"]
        case "sampling/createMessage":
            return _KINDS["sampling with tools" if "tools" in params else "sampling"]
        case "roots/list":
            return _KINDS["roots"]
        case other:
            raise ValueError(f"No client can be asked {other}.")


def required_capabilities(requests: Mapping[str, InputRequest]) -> JsonObject:
    """Returns the capabilities that requests need, in the form of ClientCapabilities.

    Raises ValueError for a method that is no request to a client.
    """
    return client_capabilities.merge([_kind(request).needs for request in requests.values()])


def serialize(requests: Mapping[str, InputRequest], revision: Revision) -> dict[str, JsonObject]:
    """Returns requests in the form of a revision. Raises UnsupportedAtRevision."""
    return {key: _serialize_request(request, revision) for key, request in requests.items()}


def _serialize_request(request: InputRequest, revision: Revision) -> JsonObject:
    encode = _kind(request).encoders.get(revision)
    if encode is None:
        raise UnsupportedAtRevision(f"{request['method']} at {revision}")
    params = encode(request.get("params", {}))
    return {"method": request["method"], **({"params": params} if params else {})}


def is_result(request: InputRequest, value: object) -> bool:
    """Returns whether a client's value has the form of a result of this request."""
    return isinstance(value, dict) and _SHAPES[request["method"]](value)


def _is_elicited(value: JsonObject) -> bool:
    return value.get("action") in ("accept", "decline", "cancel")


def _is_sampled(value: JsonObject) -> bool:
    return (
        value.get("role") in ("user", "assistant")
        and isinstance(value.get("model"), str)
        and isinstance(value.get("content"), dict | list)
    )


def _is_rooted(value: JsonObject) -> bool:
    roots = value.get("roots")
    return isinstance(roots, list) and all(
        isinstance(root, dict) and isinstance(root.get("uri"), str) for root in roots
    )


_SHAPES: Final[Mapping[str, Callable[[JsonObject], bool]]] = {
    ELICIT: _is_elicited,
    SAMPLE: _is_sampled,
    LIST_ROOTS: _is_rooted,
}


def server_request(identifier: str, request: Mapping[str, Any]) -> JsonObject:
    """Returns a serialized request as a JSON-RPC request of the server."""
    return {"jsonrpc": "2.0", "id": identifier, **request}
