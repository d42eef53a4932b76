"""The audit row of a refused customer binding says what was tried."""

from typing import Any

import pytest

from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.bound_calls import row
from tests.drivers.mcp import McpClient

pytestmark = pytest.mark.usefixtures("lab")

TRIED: dict[str, tuple[dict[str, Any], str]] = {
    "id": ({"bound_end_user_id": "u_123"}, 'bound_end_user_id="u_123"'),
    "email": ({"bound_email": "alice@example.com"}, 'bound_email="a***@example.com"'),
    "both": (
        {"bound_end_user_id": "u_1", "bound_email": "bob@example.com"},
        'bound_end_user_id="u_1", bound_email="b***@example.com"',
    ),
    "email-as-id": (
        {"bound_end_user_id": "eve@example.com"},
        'bound_end_user_id="e***@example.com"',
    ),
    "two-ats": ({"bound_email": "eve@inner@example.com"}, 'bound_email="e***@example.com"'),
    "no-email": ({"bound_email": "alice"}, 'bound_email="alice"'),
    "empty": ({"bound_email": ""}, 'bound_email=""'),
    "number": ({"bound_end_user_id": 5}, "bound_end_user_id=(int)"),
    "object": ({"bound_end_user_id": {"id": "u_1"}}, "bound_end_user_id=(dict)"),
    "null": ({"bound_email": None}, "bound_email=(NoneType)"),
    "control": ({"bound_end_user_id": "u\n\u202e\u0000"}, r'bound_end_user_id="u\n\u202e\u0000"'),
    "long": ({"bound_end_user_id": "u" * 10_000}, f'bound_end_user_id="{"u" * 100}..."'),
}


@pytest.mark.parametrize(("meta", "detail"), TRIED.values(), ids=TRIED)
def test_a_rejected_binding_records_the_id_as_given_and_the_email_masked(
    mcp: McpClient, meta: dict[str, Any], detail: str
) -> None:
    mcp.call("echo", {"value": 1}, meta=meta)
    assert (row().reason, row().layer, row().detail) == ("binding_rejected", "binding", detail)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_answer_to_a_rejected_binding_repeats_nothing_of_it(
    mcp: McpClient, revision: Revision
) -> None:
    reply = mcp.with_revision(revision).call(
        "echo", {"value": 1}, meta={"bound_email": "alice@example.com"}
    )
    assert b"example.com" not in reply.body
    assert row().detail == 'bound_email="a***@example.com"'
