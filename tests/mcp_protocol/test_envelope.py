"""The envelope: every shape a message may have, and the many it may not."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_protocol.envelope import (
    JsonRpcBatch,
    JsonRpcNotification,
    JsonRpcRequest,
    JsonRpcResponse,
    Malformed,
    as_id,
    failure,
    read,
    success,
)
from mcp_protocol.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ProtocolError
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision
from mcp_protocol.strict_json import parse

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGE_LIKE = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "Method"]),
    JSON_VALUES | st.sampled_from(["2.0", "initialize", "ping", 1]),
)


def read_malformed(value: object, *, batch_limit: int = 0) -> Malformed:
    message = read(value, batch_limit=batch_limit)
    assert isinstance(message, Malformed)
    return message


def batch(value: object) -> JsonRpcBatch:
    message = read(value, batch_limit=100)
    assert isinstance(message, JsonRpcBatch)
    return message


def test_a_request_is_read_with_its_params() -> None:
    value = {**PING, "id": "a", "params": {"x": 1}}
    assert read(value, batch_limit=0) == JsonRpcRequest("a", "ping", {"x": 1})


def test_absent_params_read_as_an_empty_object() -> None:
    assert read(PING, batch_limit=0) == JsonRpcRequest(1, "ping", {})


def test_i13_a_message_without_an_id_is_a_notification_whatever_its_method() -> None:
    value = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "x"}}
    assert read(value, batch_limit=0) == JsonRpcNotification("tools/call", {"name": "x"})


def test_unknown_members_are_ignored() -> None:
    assert read({**PING, "x": 1, "Method": "tools/call"}, batch_limit=0) == JsonRpcRequest(
        1, "ping"
    )


@pytest.mark.parametrize(
    "version",
    [
        pytest.param({}, id="I07-absent"),
        pytest.param({"jsonrpc": "1.0"}, id="I07-1.0"),
        pytest.param({"jsonrpc": 2.0}, id="I07-number"),
        pytest.param({"jsonrpc": None}, id="I07-null"),
        pytest.param({"JSONRPC": "2.0"}, id="I07-capitals"),
    ],
)
def test_a_message_of_no_or_another_json_rpc_is_invalid_under_its_own_id(
    version: dict[str, Any],
) -> None:
    message = read_malformed({"id": 7, "method": "ping", **version})
    assert (message.id, message.error.code) == (7, INVALID_REQUEST)
    assert message.error.status(Revision.V2025_03_26) == 400


@pytest.mark.parametrize(
    "identifier",
    [
        pytest.param(None, id="I08-null"),
        pytest.param({}, id="I08-object"),
        pytest.param([], id="I08-array"),
        pytest.param(True, id="I08-true"),
        pytest.param(1.5, id="I08-fraction"),
        pytest.param(1.0, id="I08-float"),
        pytest.param(10**30, id="I08-huge"),
        pytest.param(2**63, id="I08-beyond-64-bits"),
        pytest.param(-(2**63) - 1, id="I08-below-64-bits"),
        pytest.param("x" * 70_000, id="I08-70000-characters"),
        pytest.param("x" * 1_001, id="I08-1001-characters"),
        pytest.param("a\x00", id="I08-nul"),
        pytest.param("\ud800", id="I08-surrogate"),
    ],
)
def test_an_id_that_is_no_sensible_string_or_integer_is_invalid_and_not_echoed(
    identifier: object,
) -> None:
    message = read_malformed({**PING, "id": identifier})
    assert (message.id, message.error.code) == (None, INVALID_REQUEST)
    assert failure(message.id, message.error)["id"] is None


@pytest.mark.parametrize("identifier", [0, -1, 2**63 - 1, -(2**63), "", "x" * 1_000, "é"])
def test_any_other_id_is_kept_as_it_came(identifier: int | str) -> None:
    assert read({**PING, "id": identifier}, batch_limit=0) == JsonRpcRequest(identifier, "ping")
    assert as_id(identifier) == identifier


@pytest.mark.parametrize(
    "method",
    [
        pytest.param({}, id="I10-missing"),
        pytest.param({"method": 5}, id="I10-number"),
        pytest.param({"method": None}, id="I10-null"),
        pytest.param({"Method": "ping"}, id="I10-other-case"),
    ],
)
def test_a_message_without_a_method_is_invalid(method: dict[str, Any]) -> None:
    message = read_malformed({"jsonrpc": "2.0", "id": 3, **method})
    assert (message.id, message.error.code) == (3, INVALID_REQUEST)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("", id="I10-empty"),
        pytest.param("tools/Call", id="I10-other-case"),
        pytest.param("__proto__", id="I10-proto"),
    ],
)
def test_any_text_is_a_method_as_far_as_the_envelope_goes(method: str) -> None:
    assert read({**PING, "method": method}, batch_limit=0) == JsonRpcRequest(1, method)


@pytest.mark.parametrize(
    "params",
    [
        pytest.param([], id="I11-array"),
        pytest.param("x", id="I11-string"),
        pytest.param(5, id="I11-number"),
        pytest.param(False, id="I11-false"),
    ],
)
def test_params_that_are_no_object_are_invalid_params_under_the_id(params: object) -> None:
    message = read_malformed({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params})
    assert (message.id, message.error.code) == (9, INVALID_PARAMS)
    notice = read_malformed(
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    )
    assert (notice.id, notice.error.code) == (None, INVALID_REQUEST)


@pytest.mark.parametrize("value", [None, 5, "x", True, 1.5])
def test_a_body_that_is_no_object_is_invalid(value: object) -> None:
    assert read_malformed(value).error.code == INVALID_REQUEST


def test_a_clients_answer_is_recognised() -> None:
    answer = {"jsonrpc": "2.0", "id": 4, "result": {"action": "accept"}}
    assert read(answer, batch_limit=0) == JsonRpcResponse(4, result={"action": "accept"})
    refusal = {"jsonrpc": "2.0", "id": "q", "error": {"code": -1, "message": "no"}}
    assert read(refusal, batch_limit=0) == JsonRpcResponse("q", error={"code": -1, "message": "no"})


def test_a_clients_error_may_lack_an_id_and_its_result_may_not() -> None:
    error = {"code": -32700, "message": "?"}
    assert read({"jsonrpc": "2.0", "id": None, "error": error}, batch_limit=0) == JsonRpcResponse(
        None, error=error
    )
    assert read_malformed({"jsonrpc": "2.0", "result": {}}).error.code == INVALID_REQUEST


@pytest.mark.parametrize("members", [{}, {"result": {}, "error": {}}], ids=["neither", "both"])
def test_an_answer_has_exactly_one_of_result_and_error(members: dict[str, Any]) -> None:
    message = read_malformed({"jsonrpc": "2.0", "id": 4, **members})
    assert (message.id, message.error.code) == (4, INVALID_REQUEST)


def test_i14_a_batch_is_read_member_by_member() -> None:
    members = batch([PING, {**PING, "id": 2, "method": "tools/list"}, {**PING, "id": None}]).members
    assert members[:2] == (JsonRpcRequest(1, "ping"), JsonRpcRequest(2, "tools/list"))
    assert isinstance(members[2], Malformed)


def test_i14_a_member_that_is_no_message_is_malformed_on_its_own() -> None:
    members = batch([1, PING, [PING]]).members
    assert [type(member) for member in members] == [Malformed, JsonRpcRequest, Malformed]


@pytest.mark.parametrize(
    "value",
    [pytest.param([], id="I14-empty"), pytest.param([PING] * 101, id="I14-101-members")],
)
def test_a_batch_holds_one_to_a_hundred_messages(value: list[object]) -> None:
    message = read_malformed(value, batch_limit=100)
    assert (message.id, message.error.code) == (None, INVALID_REQUEST)
    assert len(batch([PING] * 100).members) == 100


def test_an_array_is_invalid_where_batches_do_not_exist() -> None:
    message = read_malformed([PING], batch_limit=0)
    assert (message.id, message.error.code) == (None, INVALID_REQUEST)
    assert "2025-03-26" in message.error.message


def test_initialize_has_no_place_in_a_batch() -> None:
    handshake = {"jsonrpc": "2.0", "id": 5, "method": "initialize"}
    notice = {"jsonrpc": "2.0", "method": "initialize"}
    first, second, third = batch([handshake, PING, notice]).members
    assert isinstance(first, Malformed)
    assert (first.id, first.error.code) == (5, INVALID_REQUEST)
    assert second == JsonRpcRequest(1, "ping")
    assert isinstance(third, Malformed)
    assert third.id is None


@settings(deadline=None)
@given(JSON_VALUES | MESSAGE_LIKE | st.lists(MESSAGE_LIKE | JSON_VALUES, max_size=4))
def test_whatever_is_sent_is_typed_and_never_raises(value: object) -> None:
    message = read(value, batch_limit=3)
    for member in message.members if isinstance(message, JsonRpcBatch) else (message,):
        match member:
            case JsonRpcRequest(identifier, method, params):
                assert as_id(identifier) is not None
                assert isinstance(method, str)
                assert isinstance(params, dict)
            case JsonRpcNotification(method, params):
                assert isinstance(method, str)
                assert isinstance(params, dict)
            case Malformed(identifier, error):
                assert error.code in {INVALID_REQUEST, INVALID_PARAMS}
                assert identifier is None or as_id(identifier) is not None
            case JsonRpcResponse(identifier, _, _):
                assert identifier is None or as_id(identifier) is not None


@settings(deadline=None)
@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_any_body_is_typed_or_a_parse_error(body: bytes) -> None:
    try:
        message = read(parse(body), batch_limit=100)
    except ProtocolError as error:
        message = Malformed(None, error)
    codes = {PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS}
    assert not isinstance(message, Malformed) or message.error.code in codes


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_success_has_the_shape_of_its_revision(
    revision: Revision, conforms: Callable[[object, Revision, str], None]
) -> None:
    conforms(success("a", {}), revision, "JSONRPCResponse")


ERROR_DEFINITIONS = {
    **dict.fromkeys(REVISIONS, "JSONRPCErrorResponse"),
    **dict.fromkeys(REVISIONS[:3], "JSONRPCError"),
}


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_failure_has_the_shape_of_its_revision(
    revision: Revision, conforms: Callable[[object, Revision, str], None]
) -> None:
    body = failure(3, ProtocolError(INVALID_PARAMS, "Bad.", data={"field": "a", "reason": "b"}))
    conforms(body, revision, ERROR_DEFINITIONS[revision])
    assert body == {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {"code": -32602, "message": "Bad.", "data": {"field": "a", "reason": "b"}},
    }


def test_a_failure_without_data_has_no_data_member() -> None:
    assert "data" not in failure(1, ProtocolError(INVALID_PARAMS, "Bad."))["error"]
