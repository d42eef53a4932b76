"""Negotiation: which revision a message speaks, and on what terms."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_protocol.envelope import JsonRpcNotification, JsonRpcRequest
from mcp_protocol.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    ProtocolError,
)
from mcp_protocol.negotiation import LOG_LEVELS, Terms, accepts_forms, batch_limit, negotiate
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision

PREFIX = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
META: dict[str, Any] = {
    f"{PREFIX}protocolVersion": MODERN,
    f"{PREFIX}clientCapabilities": {"elicitation": {}},
    f"{PREFIX}clientInfo": {"name": "ExampleClient", "version": "1.0.0"},
}


def request(meta: object = None, method: str = "tools/list") -> JsonRpcRequest:
    return JsonRpcRequest(1, method, {} if meta is None else {"_meta": meta})


def get_refusal(header: str | None, message: JsonRpcRequest | JsonRpcNotification) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        negotiate(header, message)
    return caught.value


def meta_without(key: str) -> dict[str, Any]:
    return {name: value for name, value in META.items() if name != PREFIX + key}


def test_no_header_and_no_handshake_is_2025_03_26() -> None:
    assert negotiate(None, request()) == Terms(Revision.V2025_03_26)


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_legacy_header_names_the_revision(revision: Revision) -> None:
    assert negotiate(revision.value, request()).revision is revision
    assert (
        negotiate(revision.value, JsonRpcNotification("notifications/initialized")).revision
        is revision
    )


@pytest.mark.parametrize("header", ["1900-01-01", "", "latest", "2025-11-25, 2025-11-25"])
def test_an_unknown_header_is_refused_with_what_is_supported(header: str) -> None:
    error = get_refusal(header, request())
    assert (error.code, error.http_status) == (UNSUPPORTED_VERSION, 400)
    assert isinstance(error.data, dict)
    assert error.data["requested"] == header
    assert sorted(error.data["supported"]) == sorted(REVISIONS)


def test_a_modern_request_is_served_on_what_it_declares() -> None:
    meta = {**META, f"{PREFIX}logLevel": "notice", "progressToken": 7}
    assert negotiate(MODERN, request(meta)) == Terms(
        revision=Revision.V2026_07_28,
        client_capabilities={"elicitation": {}},
        log_level="notice",
        progress_token=7,
    )


@pytest.mark.parametrize("level", sorted(LOG_LEVELS))
def test_a_log_level_is_one_the_schema_knows(
    level: str, conforms: Callable[[object, Revision, str], None]
) -> None:
    conforms(level, Revision.V2026_07_28, "LoggingLevel")
    meta = {**META, f"{PREFIX}logLevel": level}
    assert negotiate(MODERN, request(meta)).log_level == level


def test_client_info_is_optional() -> None:
    assert negotiate(MODERN, request(meta_without("clientInfo"))).revision is Revision.V2026_07_28


@pytest.mark.parametrize(
    "meta",
    [
        pytest.param(None, id="no-meta"),
        pytest.param({}, id="empty-meta"),
        pytest.param([], id="meta-is-an-array"),
        pytest.param(meta_without("protocolVersion"), id="no-version"),
        pytest.param({**META, f"{PREFIX}protocolVersion": 5}, id="version-is-a-number"),
        pytest.param(meta_without("clientCapabilities"), id="no-capabilities"),
        pytest.param({**META, f"{PREFIX}clientCapabilities": None}, id="capabilities-are-null"),
        pytest.param({**META, f"{PREFIX}clientCapabilities": []}, id="capabilities-are-an-array"),
        pytest.param({**META, f"{PREFIX}clientInfo": "me"}, id="client-info-is-a-string"),
        pytest.param({**META, f"{PREFIX}logLevel": "loud"}, id="no-such-log-level"),
        pytest.param({**META, f"{PREFIX}logLevel": 3}, id="log-level-is-a-number"),
    ],
)
def test_a_modern_request_that_lacks_or_mistypes_a_field_is_invalid(meta: object) -> None:
    error = get_refusal(MODERN, request(meta))
    assert (error.code, error.http_status) == (INVALID_PARAMS, 400)


def test_a_modern_body_without_its_header_is_a_mismatch() -> None:
    error = get_refusal(None, request(META))
    assert (error.code, error.http_status) == (HEADER_MISMATCH, 400)


@pytest.mark.parametrize("header", ["2025-11-25", "2025-03-26", "1900-01-01"])
def test_a_header_that_differs_from_the_body_is_a_mismatch(header: str) -> None:
    error = get_refusal(header, request(META))
    assert (error.code, error.http_status) == (HEADER_MISMATCH, 400)


def test_a_modern_header_over_a_legacy_body_is_a_mismatch() -> None:
    meta = {**META, f"{PREFIX}protocolVersion": "2025-11-25"}
    assert get_refusal(MODERN, request(meta)).code == HEADER_MISMATCH


@pytest.mark.parametrize("header", ["1900-01-01", None])
def test_an_unknown_version_in_the_body_is_unsupported(header: str | None) -> None:
    error = get_refusal(header, request({**META, f"{PREFIX}protocolVersion": "1900-01-01"}))
    assert (error.code, error.http_status) == (UNSUPPORTED_VERSION, 400)
    assert isinstance(error.data, dict)
    assert error.data["requested"] == "1900-01-01"


def test_header_and_body_may_agree_on_a_legacy_revision() -> None:
    meta = {f"{PREFIX}protocolVersion": "2025-11-25"}
    assert negotiate("2025-11-25", request(meta)).revision is Revision.V2025_11_25


def test_legacy_meta_that_is_no_object_is_invalid_without_a_status_of_its_own() -> None:
    error = get_refusal("2025-06-18", request([]))
    assert error.code == INVALID_PARAMS
    assert error.status(Revision.V2025_06_18) == 200


def test_a_version_in_the_body_that_is_no_text_is_invalid_under_any_header() -> None:
    for header in (None, "2025-11-25", MODERN):
        error = get_refusal(header, request({f"{PREFIX}protocolVersion": 5}))
        assert (error.code, error.http_status) == (INVALID_PARAMS, 400)


def test_a_modern_notification_needs_no_fields_and_no_header() -> None:
    bare = JsonRpcNotification("notifications/cancelled")
    declared = JsonRpcNotification("notifications/cancelled", {"_meta": META})
    assert negotiate(MODERN, bare) == Terms(Revision.V2026_07_28)
    assert negotiate(None, declared).revision is Revision.V2026_07_28


def test_a_notification_is_still_held_to_what_it_says() -> None:
    declared = JsonRpcNotification("notifications/cancelled", {"_meta": META})
    assert get_refusal("2025-11-25", declared).code == HEADER_MISMATCH
    assert get_refusal("1900-01-01", JsonRpcNotification("x")).code == UNSUPPORTED_VERSION


def test_i20_initialize_without_params_is_2025_03_26() -> None:
    assert negotiate(None, request(method="initialize")) == Terms(Revision.V2025_03_26)


def test_initialize_takes_its_terms_from_its_params() -> None:
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "c", "version": "1"},
        "_meta": {"progressToken": "p"},
    }
    assert negotiate(None, JsonRpcRequest(1, "initialize", params)) == Terms(
        revision=Revision.V2025_06_18,
        client_capabilities={"elicitation": {}},
        progress_token="p",
    )


@pytest.mark.parametrize("asked", ["x", "2026-07-28", "1900-01-01"])
def test_i20_initialize_for_a_version_without_handshake_offers_the_newest_legacy(
    asked: str,
) -> None:
    message = JsonRpcRequest(1, "initialize", {"protocolVersion": asked})
    assert negotiate(None, message).revision is Revision.V2025_11_25


@pytest.mark.parametrize("header", ["2025-03-26", "1900-01-01"])
def test_a_header_sent_with_initialize_does_not_decide(header: str) -> None:
    message = JsonRpcRequest(1, "initialize", {"protocolVersion": "2025-06-18"})
    assert negotiate(header, message).revision is Revision.V2025_06_18


def test_initialize_in_a_modern_envelope_is_modern_where_no_such_method_exists() -> None:
    assert negotiate(MODERN, request(META, "initialize")).revision is Revision.V2026_07_28


@pytest.mark.parametrize(
    "params",
    [{"protocolVersion": 5}, {"capabilities": []}, {"clientInfo": "me"}],
    ids=["version", "capabilities", "client-info"],
)
def test_initialize_with_mistyped_params_is_invalid(params: dict[str, Any]) -> None:
    error = get_refusal(None, JsonRpcRequest(1, "initialize", params))
    assert error.code == INVALID_PARAMS
    assert error.status(Revision.V2025_03_26) == 200


@pytest.mark.parametrize("token", [True, None, 1.5, [], "x" * 1_001, 10**30])
def test_a_progress_token_of_another_type_is_passed_over(token: object) -> None:
    assert negotiate(None, request({"progressToken": token})).progress_token is None


@pytest.mark.parametrize("token", [0, "abc"])
def test_a_progress_token_is_kept(token: object) -> None:
    assert negotiate("2025-11-25", request({"progressToken": token})).progress_token == token


@pytest.mark.parametrize(
    ("header", "limit"),
    [(None, 100), ("2025-03-26", 100), ("2024-11-05", 0), ("2025-06-18", 0), (MODERN, 0), ("x", 0)],
)
def test_only_2025_03_26_has_batches(header: str | None, limit: int) -> None:
    assert batch_limit(header) == limit


@pytest.mark.parametrize(
    ("capabilities", "accepted"),
    [
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"form": {}, "url": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"elicitation": None}, False),
        ({"elicitation": True}, False),
        ({}, False),
    ],
)
def test_an_empty_elicitation_capability_means_forms(
    capabilities: dict[str, Any], accepted: object
) -> None:
    assert accepts_forms(capabilities) is accepted


VERSIONS = st.none() | st.sampled_from([*REVISIONS, "1900-01-01", ""])
ODD: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({})
)
METAS = st.fixed_dictionaries(
    {},
    optional={
        f"{PREFIX}protocolVersion": VERSIONS | ODD,
        f"{PREFIX}clientCapabilities": ODD,
        f"{PREFIX}clientInfo": ODD,
        f"{PREFIX}logLevel": ODD | st.sampled_from(sorted(LOG_LEVELS)),
        "progressToken": ODD,
    },
)


def outcome(header: str | None, meta: object, method: str) -> Terms | ProtocolError:
    try:
        return negotiate(header, JsonRpcRequest(1, method, {"_meta": meta}))
    except ProtocolError as error:
        return error


@settings(deadline=None)
@given(header=VERSIONS, meta=METAS | ODD, method=st.sampled_from(["initialize", "tools/call"]))
def test_a_request_is_modern_only_if_header_and_body_both_say_so(
    header: str | None, meta: object, method: str
) -> None:
    result = outcome(header, meta, method)
    if isinstance(result, ProtocolError):
        assert result.code in {INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION}
    else:
        declared = meta.get(f"{PREFIX}protocolVersion") if isinstance(meta, dict) else None
        says_modern = [header == MODERN, declared == MODERN]
        assert all(says_modern) == any(says_modern) == (result.revision == MODERN)
