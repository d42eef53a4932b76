"""JSON-RPC 2.0 messages as restricted by MCP: typed incoming messages, and responses.

Source: JSON-RPC 2.0, sections 4 to 6; MCP, basic, Messages (every revision).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from foundation.db.storable import has_unstorable_text
from mcp_protocol.errors import INVALID_PARAMS, INVALID_REQUEST, ProtocolError, invalid_request
from mcp_protocol.meta_keys import META, PROGRESS_TOKEN, RESERVED_PREFIX
from mcp_protocol.strict_json import JsonObject

RequestId: TypeAlias = int | str

MAX_ID_CHARACTERS: Final = 1_000
# Ids are repeated and recorded; a signed 64-bit integer is not changed by either.
# Members of params that are objects of the specification, and hold nothing of a tool's author.
_ENVELOPE_OBJECTS: Final = frozenset(
    {"argument", "capabilities", "clientInfo", "context", "notifications", "ref"}
)
_ID_RANGE: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class JsonRpcRequest:
    """A call that expects a response; absent params become an empty object."""

    id: RequestId
    method: str
    params: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JsonRpcNotification:
    """A message without a response."""

    method: str
    params: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JsonRpcResponse:
    """A client's response to a request of this server, with either a result or an error."""

    id: RequestId | None
    result: object = None
    error: object = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """An invalid message; the id of the error response is None if it had no valid one."""

    id: RequestId | None
    error: ProtocolError


Message: TypeAlias = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse | Malformed


@dataclass(frozen=True, slots=True)
class JsonRpcBatch:
    """Several messages in one body (MCP 2025-03-26 only), each processed separately."""

    members: tuple[Message, ...]


def read(value: object, *, batch_limit: int) -> Message | JsonRpcBatch:
    """Converts a parsed body to a message; an invalid one becomes Malformed, so this never raises.

    `batch_limit` is the maximum number of messages of an array, 0 if batches do not exist (see
    `negotiation.batch_limit`). Source: JSON-RPC 2.0, sections 4 and 6.
    """
    return _read_batch(value, batch_limit) if isinstance(value, list) else _read_one(value)


def _read_batch(values: list[object], limit: int) -> Malformed | JsonRpcBatch:
    if not limit:
        return _make_malformed("Batches exist at revision 2025-03-26 only.")
    if not values:
        return _make_malformed("A batch must hold at least one message.")
    if len(values) > limit:
        return _make_malformed(f"A batch may hold at most {limit} messages.")
    return JsonRpcBatch(tuple(_read_member(value) for value in values))


def _read_member(value: object) -> Message:
    message = _read_one(value)
    # MCP 2025-03-26, basic/lifecycle: the handshake must not be in a batch.
    if isinstance(message, JsonRpcRequest | JsonRpcNotification) and message.method == "initialize":
        return _make_malformed("A batch must not hold `initialize`.", getattr(message, "id", None))
    return message


def _read_one(value: object) -> Message:
    if not isinstance(value, dict):
        return _make_malformed("A message must be a JSON object.")
    try:
        return _parse_message(value)
    except ProtocolError as error:
        return Malformed(as_id(value.get("id")), error)


def _parse_message(value: JsonObject) -> JsonRpcRequest | JsonRpcNotification | JsonRpcResponse:
    if value.get("jsonrpc") != "2.0":
        raise invalid_request('The member `jsonrpc` must be the string "2.0".')
    method = value.get("method")
    if method is None:
        return _response(value)
    if not isinstance(method, str):
        raise invalid_request("The member `method` must be a string.")
    if "id" not in value:
        return JsonRpcNotification(method, _params(value, INVALID_REQUEST))
    return JsonRpcRequest(_required_id(value), method, _params(value, INVALID_PARAMS))


def _response(value: JsonObject) -> JsonRpcResponse:
    if "result" in value and "error" in value:  # one of them null, which older libraries send
        value = _present(value) | {"id": value.get("id")}
    if ("result" in value) == ("error" in value):
        raise invalid_request("A message needs a method, or exactly one of result and error.")
    # An error may lack an id: the client could not read the one of the request (JSON-RPC 2.0, 5).
    answers_nothing = "error" in value and value.get("id") is None
    identifier = None if answers_nothing else _required_id(value)
    return JsonRpcResponse(identifier, value.get("result"), value.get("error"))


def _params(value: JsonObject, code: int) -> JsonObject:
    """The params without members that are null: null is absent wherever the envelope is read.

    What is inside the arguments of a tool or prompt is left as it is; so are the keys of `_meta`
    that the specification does not reserve, since a binding that is null has to be refused.
    """
    params = value.get("params")
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise ProtocolError(code, "The member `params` must be an object.")
    if None in params.values():
        params = {name: member for name, member in params.items() if member is not None}
    for name in _ENVELOPE_OBJECTS & params.keys():
        params = params | {name: _present(params[name])}
    if isinstance(meta := params.get(META), dict):
        kept: JsonObject = {}
        for key, of in meta.items():
            is_reserved = key == PROGRESS_TOKEN or key.startswith(RESERVED_PREFIX)
            if of is not None or not is_reserved:
                kept[key] = _present(of) if is_reserved else of
        params = params | {META: kept}
    return params


def _present(value: Any) -> Any:
    """The value without the members of objects that are null, on every level."""
    if not isinstance(value, dict):
        return value
    kept: JsonObject = {}
    for name, member in value.items():
        if member is not None:
            kept[name] = _present(member)
    return kept


def _required_id(value: JsonObject) -> RequestId:
    identifier = as_id(value.get("id"))
    if identifier is None:
        raise invalid_request("The member `id` must be a string or an integer of limited size.")
    return identifier


def as_id(value: object) -> RequestId | None:
    """Returns a value that is a valid id (or progress token), unchanged.

    Returns None for anything but strings of at most 1,000 characters and signed 64-bit integers.
    Source: MCP 2026-07-28, basic, Requests ("a string or integer ID", not null).
    """
    # In Python bool is a subclass of int, in JSON it is another type.
    if type(value) is int and value in _ID_RANGE:
        return value
    if isinstance(value, str) and len(value) <= MAX_ID_CHARACTERS:
        # The sender could not match an id that is returned in another form.
        return None if has_unstorable_text(value) else value
    return None


def _make_malformed(why: str, identifier: RequestId | None = None) -> Malformed:
    return Malformed(identifier, invalid_request(why))


def success(identifier: RequestId, result: Mapping[str, Any]) -> JsonObject:
    """Returns the response with a result."""
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


def failure(identifier: RequestId | None, error: ProtocolError) -> JsonObject:
    """Returns the response with an error; the id is null if none could be read.

    Source: JSON-RPC 2.0, section 5.
    """
    body: JsonObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": identifier, "error": body}
