"""From the arguments of a tool to one HTTP request."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from foundation.db.storable import LONE_SURROGATE, leaves
from gateway.openapi.shapes import OpenApiOperation, OperationBody, UpstreamRequest
from gateway.openapi.wire import bodies, parameters
from gateway.openapi.wire.bodies import Uploads
from gateway.openapi.wire.names import DeclaredNames, NamesOnWire
from gateway.openapi.wire.values import ALL, InvalidArgument, Json, Pair

MAX_UPLOAD_BYTES: Final = 10 * 1_048_576
NOTHING: Final[Mapping[str, Json]] = {}
# JSON is what most tools can use; servers that have something else send that.
ACCEPT: Final = "application/json, */*;q=0.8"


def build(
    operation: OpenApiOperation,
    arguments: Mapping[str, Json],
    *,
    declared: DeclaredNames | None = None,
    hidden_fields: Mapping[str, Json] = NOTHING,
    max_upload_bytes: int = MAX_UPLOAD_BYTES,
) -> UpstreamRequest:
    """Returns the one request that a call of an operation's tool is.

    The arguments have been validated against the operation's full schema. `declared` are the names
    of the operation, where they are kept for several calls. `hidden_fields` are
    properties of the body that no argument holds, such as a credential. The files of a request may
    have `max_upload_bytes` together. Raises InvalidArgument, also for two arguments that write the
    same name.
    """
    _refuse_surrogates(arguments)
    names = NamesOnWire(declared or DeclaredNames(operation))
    try:
        names.refuse_other_case(arguments)
        parts = parameters.write(operation.parameters, arguments, names)
        target = parameters.target(operation, parts)
        content = None
        if operation.body is not None:
            in_body = _body_arguments(operation, operation.body, arguments)
            uploads = Uploads(max_upload_bytes)
            content = bodies.content(operation.body, in_body, hidden_fields, uploads, names)
    except RecursionError:
        raise InvalidArgument(ALL, "are nested too deeply") from None
    _refuse_unknown(operation, arguments)
    headers = _headers(parts)
    if content is not None:
        headers.append(("Content-Type", content.content_type))
    return UpstreamRequest(
        method=operation.method.upper(),
        target=target,
        headers=tuple(headers),
        body=None if content is None else content.data,
    )


def with_idempotency_key(
    request: UpstreamRequest, operation: OpenApiOperation, key: str
) -> UpstreamRequest:
    """Returns the request with the key of its call, where the operation has a header for it."""
    wanted = operation.idempotency_header
    present = {name.lower() for name, _ in request.headers}
    if not key or not wanted or wanted.lower() in present:
        return request
    return replace(request, headers=(*request.headers, (wanted, key)))


def _headers(parts: parameters.ParameterParts) -> list[Pair]:
    headers = list(parts.headers)
    present = {name.lower() for name, _ in headers}
    if parts.cookies:
        cookie = "; ".join(f"{name}={value}" for name, value in parts.cookies)
        headers.append(("Cookie", cookie))
    if "accept" not in present:
        headers.append(("Accept", ACCEPT))
    return headers


def _body_arguments(
    operation: OpenApiOperation, body: OperationBody, arguments: Mapping[str, Json]
) -> dict[str, Json]:
    """The arguments that the body holds."""
    elsewhere = {parameter.argument for parameter in operation.parameters}
    if body.open_fields:
        return {name: value for name, value in arguments.items() if name not in elsewhere}
    named = {body.argument, *(field.argument for field in body.fields)}
    return {name: value for name, value in arguments.items() if name in named}


def _refuse_unknown(operation: OpenApiOperation, arguments: Mapping[str, Json]) -> None:
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
