"""The method table: which method exists at which revision, and what it is charged to."""

import pytest

from mcp_protocol.methods import METHODS, OTHER, RATE_BUCKETS, MethodKind
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision

MODERN = Revision.V2026_07_28


def is_known(method: str, revision: Revision) -> bool:
    return METHODS.get((method, revision)) is MethodKind.REQUEST


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "method",
    [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
    ],
)
def test_what_hands_out_content_exists_at_every_revision(method: str, revision: Revision) -> None:
    assert is_known(method, revision)


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    ],
)
def test_the_handshake_methods_are_gone_at_2026(method: str) -> None:
    assert all(is_known(method, revision) for revision in HANDSHAKE)
    assert not is_known(method, MODERN)


def test_discovery_exists_at_2026_alone() -> None:
    assert is_known("server/discover", MODERN)
    assert not any(is_known("server/discover", revision) for revision in HANDSHAKE)


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "method",
    [
        pytest.param("", id="I10-empty"),
        pytest.param("tools/Call", id="I10-other-case"),
        pytest.param("__proto__", id="I10-proto"),
        pytest.param("tools/call ", id="I10-trailing-space"),
        pytest.param("notifications/initialized", id="a-notification-asked-as-a-request"),
    ],
)
def test_anything_else_is_unknown(method: str, revision: Revision) -> None:
    assert not is_known(method, revision)


@pytest.mark.parametrize(
    "method",
    [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
    ],
)
def test_handshake_revisions_accept_the_clients_notifications(method: str) -> None:
    kinds = {METHODS.get((method, revision)) for revision in HANDSHAKE}
    assert kinds == {MethodKind.NOTIFICATION}
    assert (method, MODERN) not in METHODS


@pytest.mark.parametrize(
    ("method", "bucket"),
    [
        ("tools/list", "tools_list"),
        ("tools/call", "tools_call"),
        ("ping", "other"),
        ("server/discover", "other"),
        ("resources/read", "other"),
        ("no/such", "other"),
    ],
)
def test_t01_each_method_is_charged_to_its_bucket(method: str, bucket: str) -> None:
    assert RATE_BUCKETS.get(method, OTHER) == bucket
