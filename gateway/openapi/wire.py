"""From the arguments of a tool to one HTTP request."""

from collections.abc import Mapping
from typing import Final

from foundation.db.storable import LONE_SURROGATE, leaves
from gateway.openapi import bodies_on_wire, parameters_on_wire
from gateway.openapi.bodies_on_wire import Uploads
from gateway.openapi.shapes import Body, Operation, UpstreamRequest
from gateway.openapi.values_on_wire import ALL, InvalidArgument, Json, Pair

MAX_UPLOAD_BYTES: Final = 10 * 1_048_576
NOTHING: Final[Mapping[str, Json]] = {}
# JSON is what most tools can use; servers that have something else send that.
ACCEPT: Final = "application/json, */*;q=0.8"


def build(
    operation: Operation,
    arguments: Mapping[str, Json],
    *,
    hidden_fields: Mapping[str, Json] = NOTHING,
    idempotency_key: str = "",
    max_upload_bytes: int = MAX_UPLOAD_BYTES,
) -> UpstreamRequest:
    """Returns the one request that a call of an operation's tool is.

    The arguments have been validated against the operation's full schema. `hidden_fields` are
    properties of the body that no argument holds, such as a credential. The files of a request may
    have `max_upload_bytes` together. Raises InvalidArgument.
    """
    _refuse_surrogates(arguments)
    try:
        parts = parameters_on_wire.written(operation.parameters, arguments)
        target = parameters_on_wire.target(operation, parts)
        content = None
        if operation.body is not None:
            in_body = _of_body(operation, operation.body, arguments)
            uploads = Uploads(max_upload_bytes)
            content = bodies_on_wire.content(operation.body, in_body, hidden_fields, uploads)
    except RecursionError:
        raise InvalidArgument(ALL, "are nested too deeply") from None
    _refuse_unknown(operation, arguments)
    headers = _headers(operation, parts, idempotency_key)
    if content is not None:
        headers.append(("Content-Type", content.content_type))
    return UpstreamRequest(
        method=operation.method.upper(),
        target=target,
        headers=tuple(headers),
        body=None if content is None else content.data,
    )


def _headers(
    operation: Operation, parts: parameters_on_wire.Written, idempotency_key: str
) -> list[Pair]:
    headers = list(parts.headers)
    present = {name.lower() for name, _ in headers}
    if parts.cookies:
        cookie = "; ".join(f"{name}={value}" for name, value in parts.cookies)
        headers.append(("Cookie", cookie))
    wanted = operation.idempotency_header
    if idempotency_key and wanted and wanted.lower() not in present:
        headers.append((wanted, idempotency_key))
    if "accept" not in present:
        headers.append(("Accept", ACCEPT))
    return headers


def _of_body(operation: Operation, body: Body, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments that the body holds."""
    elsewhere = {parameter.argument for parameter in operation.parameters}
    if body.open_fields:
        return {name: value for name, value in arguments.items() if name not in elsewhere}
    named = {body.argument, *(field.argument for field in body.fields)}
    return {name: value for name, value in arguments.items() if name in named}


def _refuse_unknown(operation: Operation, arguments: Mapping[str, Json]) -> None:
    """Raises InvalidArgument for an argument that would not be sent."""
    known = {parameter.argument for parameter in operation.parameters}
    if operation.body is not None:
        if operation.body.open_fields:
            return
        known |= {operation.body.argument, *(field.argument for field in operation.body.fields)}
    for name in arguments:
        if name not in known:
            raise InvalidArgument(name, "is unknown")


def _refuse_surrogates(arguments: Mapping[str, Json]) -> None:
    """Raises InvalidArgument for text that has no UTF-8 form (RFC 3629 section 3)."""
    for name, value in arguments.items():
        for leaf in leaves([name, value]):
            if isinstance(leaf, str) and LONE_SURROGATE.search(leaf):
                raise InvalidArgument(ALL, "have a character that UTF-8 cannot encode")
