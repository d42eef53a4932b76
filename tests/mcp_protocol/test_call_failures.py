"""Calls that do not succeed: refused, unknown, or failed in the tool."""

import json
from collections.abc import Callable

import pytest

from mcp_protocol.errors import HALO, ProtocolError
from mcp_protocol.failures import failed_call, refusal, unknown_tool
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision

MODERN = Revision.V2026_07_28
AS_ERROR = REVISIONS[:3]
AS_RESULT = REVISIONS[3:]

CODES = [
    ("unauthorized", -32002),
    ("validation", -32602),
    ("not_found", -32601),
    ("timeout", -32603),
    ("", -32603),
]


@pytest.mark.parametrize("revision", AS_ERROR)
@pytest.mark.parametrize(("kind", "code"), CODES)
def test_a_tools_failure_is_an_error_up_to_2025_06_18(
    kind: str, code: int, revision: Revision
) -> None:
    error = failed_call(
        kind, "It failed.", "email", "must be an address", revision=revision, codes=HALO
    )
    assert isinstance(error, ProtocolError)
    assert (error.code, error.message) == (code, "It failed.")
    assert error.data == {"field": "email", "reason": "must be an address"}
    assert error.status(revision) == 200


@pytest.mark.parametrize("revision", AS_RESULT)
@pytest.mark.parametrize(("kind", "code"), CODES)
def test_a_tools_failure_is_a_result_the_model_can_read_from_2025_11_25(
    kind: str,
    code: int,
    revision: Revision,
    conforms: Callable[[object, Revision, str], None],
) -> None:
    result = failed_call(
        kind, "It failed.", "email", "must be an address", revision=revision, codes=HALO
    )
    conforms(result, revision, "CallToolResult")
    assert isinstance(result, dict)
    assert result["isError"] is True
    [block] = result["content"]
    # 2026-07-28 forbids -32002 wherever it might be read as a code.
    expected = -31002 if (code, revision) == (-32002, MODERN) else code
    assert json.loads(block["text"]) == {
        "code": expected,
        "message": "It failed.",
        "field": "email",
        "reason": "must be an address",
    }
    assert block["text"].startswith('{\n  "code": ')


def test_a_failure_says_only_what_is_known() -> None:
    error = failed_call(
        "not_found", "No such ticket.", None, None, revision=Revision.V2025_03_26, codes=HALO
    )
    assert isinstance(error, ProtocolError)
    assert error.data is None
    result = failed_call("not_found", "No such ticket.", None, None, revision=MODERN, codes=HALO)
    assert isinstance(result, dict)
    assert json.loads(result["content"][0]["text"]) == {
        "code": -32601,
        "message": "No such ticket.",
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_refusal_names_its_reason_and_layer_at_every_revision(revision: Revision) -> None:
    error = refusal("agent_disabled", "agent", "This action is switched off.", revision, HALO)
    assert error.code == (-31002 if revision is MODERN else -32002)
    assert error.data == {"reason": "agent_disabled", "layer": "agent"}
    assert error.status(revision) == 200


@pytest.mark.parametrize(
    ("reason", "status"),
    [("scope_denied", 403), ("mcp_server_disabled", 403), ("rate_limited", 429)],
    ids=["K01-scope", "flag", "T01-rate"],
)
def test_a_refusal_carries_the_status_and_headers_it_is_given(reason: str, status: int) -> None:
    headers = [("Retry-After", "3")]
    error = refusal(reason, "scope", "No.", MODERN, HALO, http_status=status, headers=headers)
    assert error.status(MODERN) == status
    assert error.headers == (("Retry-After", "3"),)


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_j02_an_unknown_tool_is_method_not_found_before_2026(revision: Revision) -> None:
    error = unknown_tool("linear.no_such", revision, HALO)
    assert (error.code, error.status(revision)) == (-32601, 200)


def test_j02_an_unknown_tool_is_invalid_params_at_2026() -> None:
    error = unknown_tool("linear.no_such", MODERN, HALO)
    assert (error.code, error.status(MODERN)) == (-32602, 200)
    assert error.message == 'Unknown tool: "linear.no_such".'


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("x" * 300, id="J01-300-characters"),
        pytest.param("a\x00", id="J01-nul"),
        pytest.param("linear.create_bug\n", id="J01-line-break"),
    ],
)
def test_an_unknown_name_is_repeated_in_harmless_characters(name: str) -> None:
    message = unknown_tool(name, Revision.V2025_03_26, HALO).message
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 150
