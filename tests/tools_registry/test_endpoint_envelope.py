"""Group I over HTTP: each invalid request gets its error and changes nothing."""

import gzip
import json
from typing import Any

import pytest

from audit.models import ActionExecution
from documentation import search
from foundation.limits import Limit
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision
from tests.drivers.mcp import McpClient

MODERN = Revision.V2026_07_28
CALL = {"name": "search_docs", "arguments": {"query": "x"}}
NO_BATCHES = [revision for revision in REVISIONS if revision != Revision.V2025_03_26]


def ping(request_id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": "ping"}


def recorded_outcomes() -> list[tuple[str, str, str]]:
    rows = ActionExecution.objects.order_by("id")
    return [(row.outcome, row.reason, row.layer) for row in rows]


PARSE_ERRORS = {
    "i01-brace": b"{",
    "i01-empty": b"",
    "i01-nul": b"nul",
    "i01-trailing": b"{} {}",
    "i02-invalid-utf8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "i02-utf16": json.dumps(ping()).encode("utf-16"),
    "i02-bom": b"\xef\xbb\xbf" + json.dumps(ping()).encode(),
    "i04-nan": b'{"jsonrpc":"2.0","id":1,"method":"ping","x":NaN}',
    "i04-infinity": b'{"jsonrpc":"2.0","id":1,"method":"ping","x":-Infinity}',
    "i04-overflow": b'{"jsonrpc":"2.0","id":1,"method":"ping","x":1e999}',
    "i05-two-methods": b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
    "i05-spelt-twice": b'{"jsonrpc":"2.0","id":1,"method":"ping","a":1,"\\u0061":2}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("body", PARSE_ERRORS.values(), ids=PARSE_ERRORS)
def test_a_body_that_is_no_strict_json_is_a_parse_error(mcp: McpClient, body: bytes) -> None:
    reply = mcp.send(body)
    assert (reply.status, reply.code, reply.json["id"]) == (400, -32700, None)
    assert recorded_outcomes() == [("protocol_error", "rpc_32700", "protocol")]


INVALID_REQUESTS = {
    "i07-no-version": ({"id": 1, "method": "ping"}, 1),
    "i07-old-version": ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1),
    "i07-number": ({"jsonrpc": 2.0, "id": "a", "method": "ping"}, "a"),
    "i08-null": (ping(None), None),
    "i08-object": (ping({}), None),
    "i08-array": (ping([]), None),
    "i08-true": (ping(request_id=True), None),
    "i08-fraction": (ping(1.5), None),
    "i08-huge": (ping(10**30), None),
    "i08-long": (ping("x" * 70_000), None),
    "i10-no-method": ({"jsonrpc": "2.0", "id": 1}, 1),
    "i10-number": ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
    "i14-empty-batch": ([], None),
    "i14-large-batch": ([ping()] * 101, None),
}


@pytest.mark.parametrize(("message", "echoed"), INVALID_REQUESTS.values(), ids=INVALID_REQUESTS)
def test_an_envelope_out_of_shape_is_an_invalid_request(
    mcp: McpClient, message: Any, echoed: Any
) -> None:
    reply = mcp.send(message)
    assert (reply.status, reply.code, reply.json["id"]) == (400, -32600, echoed)
    assert recorded_outcomes() == [("protocol_error", "rpc_32600", "protocol")]


@pytest.mark.parametrize("method", ["", "tools/Call", "__proto__", "a\u0000", "x" * 5000])
def test_i10_an_unknown_method_is_not_found(mcp: McpClient, method: str) -> None:
    assert mcp.request(method).code == -32601
    assert recorded_outcomes() == [("protocol_error", "rpc_32601", "protocol")]


@pytest.mark.parametrize("params", [[], "x", 5, None], ids=repr)
def test_i11_params_that_are_no_object_are_invalid(mcp: McpClient, params: Any) -> None:
    reply = mcp.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
    assert (reply.code, reply.json["id"]) == (-32602, 7)


def test_i13_a_call_without_an_id_is_accepted_and_never_run(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "answer", pytest.fail)
    reply = mcp.notify("tools/call", CALL)
    assert (reply.status, reply.body) == (202, b"")


def test_an_answer_of_the_client_is_accepted_and_dropped(mcp: McpClient) -> None:
    reply = mcp.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert (reply.status, reply.body) == (202, b"")
    assert recorded_outcomes() == []


def test_i14_each_member_of_a_batch_is_answered_and_recorded_on_its_own(mcp: McpClient) -> None:
    call = {"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": CALL}
    unknown = {**call, "id": "u", "params": {"name": "nope"}}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = mcp.send([ping(), call, note, 1, unknown])
    assert reply.status == 200
    assert [(one["id"], "error" in one) for one in reply.json] == [
        (1, False),
        ("c", False),
        (None, True),
        ("u", True),
    ]
    assert recorded_outcomes() == [
        ("success", "", ""),
        ("protocol_error", "rpc_32600", "protocol"),
        ("not_found", "tool_not_found", ""),
    ]


def test_i14_a_batch_of_nothing_but_notifications_has_no_body(mcp: McpClient) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = mcp.send([note, note])
    assert (reply.status, reply.body) == (202, b"")


def test_i14_a_refused_notification_is_not_answered_in_a_batch(
    mcp: McpClient, settings: Any
) -> None:
    settings.HALO_RATE_OTHER = Limit(1, 60)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = mcp.send([ping(), note])
    assert [one["id"] for one in reply.json] == [1]


def test_i14_the_handshake_is_no_part_of_a_batch(mcp: McpClient) -> None:
    (answer,) = mcp.send([{"jsonrpc": "2.0", "id": 1, "method": "initialize"}]).json
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)


@pytest.mark.parametrize("revision", NO_BATCHES, ids=str)
def test_i14_batches_exist_at_one_revision_only(mcp: McpClient, revision: Revision) -> None:
    reply = mcp.with_revision(revision).send([ping()])
    assert (reply.status, reply.code) == (400, -32600)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": None},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/jsonp"},
        {"Content-Encoding": "gzip"},
        {"Content-Encoding": "br, gzip"},
    ],
    ids=lambda headers: " ".join(f"{name} {value}" for name, value in headers.items()),
)
def test_i16_other_media_types_are_refused_and_nothing_is_inflated(
    mcp: McpClient, headers: dict[str, str | None]
) -> None:
    bomb = gzip.compress(b" " * 1_000_000 + json.dumps(ping()).encode())
    assert mcp.send(bomb, headers=headers).status == 415


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=UTF-8", 'Application/JSON;charset="utf-8"']
)
def test_i16_json_in_utf8_may_say_so(mcp: McpClient, content_type: str) -> None:
    assert mcp.send(ping(), headers={"Content-Type": content_type}).status == 200


@pytest.mark.parametrize("accept", [None, "text/html", "*/*", "text/event-stream", ",;q=x"])
def test_i17_whatever_is_accepted_the_answer_is_json(mcp: McpClient, accept: str | None) -> None:
    reply = mcp.send(ping(), headers={"Accept": accept})
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": None},
        {"Mcp-Name": "read_doc"},
        {"Mcp-Name": None},
        {"Mcp-Name": "=?base64?%%%?="},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"MCP-Protocol-Version": None},
    ],
    ids=lambda headers: " ".join(f"{name} {value}" for name, value in headers.items()),
)
def test_i19_headers_that_differ_from_the_body_are_refused(
    mcp: McpClient, headers: dict[str, str | None]
) -> None:
    reply = mcp.with_revision(MODERN).call("search_docs", {"query": "x"}, headers=headers)
    assert (reply.status, reply.code) == (400, -32020)
    assert recorded_outcomes() == [("protocol_error", "rpc_32020", "protocol")]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("header", "status"), [("eu", 200), ("us", 400), (None, 400)], ids=["same", "other", "none"]
)
def test_an_argument_that_stands_in_a_header_must_stand_there_the_same(
    mcp: McpClient, header: str | None, status: int
) -> None:
    sent = {"Mcp-Param-Region": header}
    reply = mcp.with_revision(MODERN).call("mirror", {"region": "eu"}, headers=sent)
    assert reply.status == status
    expected = ("success", "", "") if status == 200 else ("protocol_error", "rpc_32020", "protocol")
    assert recorded_outcomes() == [expected]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("arguments", "header"),
    [({"region": "eu", "more": 1}, "us"), ({"region": 7}, "8"), ({}, "us")],
    ids=["surplus", "mistyped", "missing"],
)
def test_a_header_that_differs_is_reported_before_what_else_is_wrong_with_the_arguments(
    mcp: McpClient, arguments: dict[str, Any], header: str
) -> None:
    client = mcp.with_revision(MODERN)
    reply = client.call("mirror", arguments, headers={"Mcp-Param-Region": header})
    assert (reply.status, reply.code) == (400, -32020)
    bound = client.call("mirror", arguments, meta={"bound_email": "a@example.com"})
    assert (bound.status, bound.code) == (200, -32602)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_such_headers_mean_nothing_before_they_existed(mcp: McpClient, revision: Revision) -> None:
    sent = {"Mcp-Param-Region": "us"}
    assert mcp.with_revision(revision).call("mirror", {"region": "eu"}, headers=sent).facts == "eu"


@pytest.mark.parametrize("version", ["1999-01-01", "2025-03-26, 2025-03-26", "x"])
def test_a_revision_nobody_knows_is_refused_with_those_that_are(
    mcp: McpClient, version: str
) -> None:
    for reply in (
        mcp.send(ping(), headers={"MCP-Protocol-Version": version}),
        mcp.send(
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            headers={"MCP-Protocol-Version": version},
        ),
    ):
        assert (reply.status, reply.code) == (400, -32022)
        assert reply.error["data"]["supported"][0] == MODERN.value


def test_a_modern_header_without_meta_is_invalid(mcp: McpClient) -> None:
    sent = {"MCP-Protocol-Version": MODERN.value, "Mcp-Method": "tools/list"}
    reply = mcp.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=sent)
    assert (reply.status, reply.code) == (400, -32602)


@pytest.mark.parametrize("size", [1_048_576, 1_048_577])
def test_i23_the_cap_is_exact(mcp: McpClient, size: int) -> None:
    body = json.dumps(ping()).encode()
    reply = mcp.send(body + b" " * (size - len(body)))
    assert reply.status == (200 if size == 1_048_576 else 413)


def test_a_list_has_no_cursor_to_go_on_from(mcp: McpClient) -> None:
    assert mcp.request("tools/list", {"cursor": "abc"}).code == -32602
