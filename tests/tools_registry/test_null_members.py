"""A member that is null is absent where it is optional, and missing where it is required (P5)."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mcp_protocol.revisions import HANDSHAKE, MODERN, REVISIONS, Revision
from tests.drivers import schemas
from tests.drivers.mcp import McpClient, Reply

INVALID_PARAMS, INVALID_REQUEST = -32602, -32600
# A valid request of each method, and what the schema calls its params at most revisions.
PARAMS: Mapping[str, dict[str, Any]] = {
    "ping": {},
    "tools/list": {"cursor": None},
    "resources/list": {"cursor": None},
    "resources/templates/list": {"cursor": None},
    "prompts/list": {"cursor": None},
    "tools/call": {"name": "echo", "arguments": {"value": 1}},
    "resources/read": {"uri": "papers://one"},
    "prompts/get": {"name": "greet", "arguments": {}},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "tell"},
        "argument": {"name": "topic", "value": "b"},
        "context": {"arguments": {}},
    },
    "logging/setLevel": {"level": "info"},
}
REQUIRED = {
    ("tools/call", "name"),
    ("resources/read", "uri"),
    ("prompts/get", "name"),
    ("completion/complete", "ref"),
    ("completion/complete", "argument"),
    ("logging/setLevel", "level"),
}
# Methods whose `_meta` alone may be there.
EVERY = sorted(PARAMS)
WRONG = {"text": "x", "number": 7, "list": [], "boolean": True}


@pytest.fixture(autouse=True)
def _offers(lab: None, books: None) -> None:
    """The tools, resources and prompts of the drivers."""


def message(reply: Reply) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(reply.body)
    return read


def comparable_answer(reply: Reply) -> object:
    """What was answered, without what differs between two equal requests."""
    return message(reply).get("error") or sorted(message(reply)["result"])


def send_as_written(client: McpClient, method: str, params: Any) -> Reply:
    """The request as written, with headers as the revision wants them."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    mirrored = client.mirror(method, params if isinstance(params, dict) else {})
    return client.send(body, headers=mirrored)


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
@pytest.mark.parametrize("method", ["ping", "tools/list", "prompts/list", "resources/list"])
def test_p5_null_params_are_absent_params(method: str, revision: Revision, mcp: McpClient) -> None:
    client = mcp.with_revision(revision)
    body = {"jsonrpc": "2.0", "id": 1, "method": method}
    absent, null = client.send(body), client.send({**body, "params": None})
    assert "error" not in message(absent)
    assert comparable_answer(null) == comparable_answer(absent)


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_p5_a_notification_with_null_params_is_accepted(revision: Revision, mcp: McpClient) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/initialized", "params": None}
    assert mcp.with_revision(revision).send(body).status == 202


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("method", EVERY)
def test_p5_each_member_that_is_null_is_read_as_if_it_were_not_sent(
    method: str, revision: Revision, mcp: McpClient
) -> None:
    client = mcp.with_revision(revision)
    whole = client.params(PARAMS[method]) or {}
    for name in {*PARAMS[method], *(() if revision in MODERN else ("_meta",))}:
        without = {key: value for key, value in whole.items() if key != name}
        absent, null = (
            send_as_written(client, method, {**without, **null}) for null in ({}, {name: None})
        )
        assert comparable_answer(null) == comparable_answer(absent), name
        error = message(null).get("error")
        if (method, name) in REQUIRED and error and error["code"] == INVALID_PARAMS:
            assert "None" not in error["message"]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("method", EVERY)
def test_p5_a_member_of_another_type_is_an_error_and_never_a_failure_of_the_server(
    method: str, wrong: object, revision: Revision, mcp: McpClient
) -> None:
    client = mcp.with_revision(revision)
    whole = client.params(PARAMS[method]) or {}
    assert message(send_as_written(client, method, wrong))["error"]["code"] in {
        INVALID_PARAMS,
        -32600,
        -32020,
    }
    for name in whole:
        reply = send_as_written(client, method, {**whole, name: wrong})
        assert reply.status < 500
        error = message(reply).get("error")
        assert error is None or error["code"] != -32603, (name, error)


@pytest.mark.parametrize("revision", MODERN, ids=str)
def test_p5_a_required_field_of_meta_that_is_null_is_named_as_missing(
    revision: Revision, mcp: McpClient
) -> None:
    client = mcp.with_revision(revision)
    for key in ("protocolVersion", "clientCapabilities"):
        name = f"io.modelcontextprotocol/{key}"
        params = client.params({}) or {}
        params["_meta"] = {**params["_meta"], name: None}
        error = message(send_as_written(client, "tools/list", params))["error"]
        assert name in error["message"]
        assert "is required" in error["message"]


def test_p5_a_binding_that_is_null_is_refused_and_not_ignored(mcp: McpClient) -> None:
    reply = mcp.call("echo", {"value": 1}, meta={"bound_email": None})
    assert "error" in message(reply)


def test_p5_what_is_null_inside_the_arguments_of_a_tool_reaches_it(mcp: McpClient) -> None:
    assert mcp.call("echo", {"value": {"a": None}}).facts == {"a": None}


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_p5_a_handshake_may_send_null_for_what_it_leaves_out(
    revision: Revision, mcp: McpClient
) -> None:
    params = {
        "protocolVersion": revision.value,
        "capabilities": {"roots": None, "sampling": None, "elicitation": None},
        "clientInfo": {"name": "a", "version": "1", "title": None, "icons": None},
        "_meta": None,
    }
    reply = send_as_written(mcp.with_revision(revision), "initialize", params)
    assert reply.result["protocolVersion"] == revision.value
    schemas.conforms(message(reply)["result"], revision, "InitializeResult")
