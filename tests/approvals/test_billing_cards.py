"""What the card of a billing request shows, for clients that show MCP Apps."""

import json

import pytest

from approvals.models import ApprovalRequest
from foundation.admin_urls import row_url
from mcp_protocol.revisions import Revision
from tests.drivers.app_client import REVISIONS, AppClient
from tests.drivers.elicitation_client import EVERYTHING
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.mcp import McpClient

CARD = "ui://halo/approval"


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_billing_request_has_what_the_card_shows(
    mcp: McpClient, stripe: Stripe, revision: Revision
) -> None:
    client, charge = AppClient(mcp, revision), stripe.charge(2000)
    assert client.tools()["stripe.request_refund"]["_meta"] == {"ui": {"resourceUri": CARD}}
    result = client.call("stripe.request_refund", payment=charge).result
    row = ApprovalRequest.objects.get()
    card = result["_meta"]["approval"]
    assert (card["status"], card["summary"]) == ("pending", row.summary)
    shown = {one["name"]: one["text"] for one in card["arguments"]}
    assert shown == {"charge": charge, "amount": "2000", "currency": "usd"}
    assert card["deciders"] == "An admin of the organization who is not the requester."
    assert card["url"] == f"http://127.0.0.1:8000{row_url(row)}"
    assert card["expiresAt"] == row.expires_at.isoformat(timespec="seconds")


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_any_other_client_gets_the_result_without_it(
    mcp: McpClient, stripe: Stripe, revision: Revision
) -> None:
    charge = stripe.charge(2000)
    shown = AppClient(mcp, revision).call("stripe.request_refund", payment=charge).result
    plain_client = AppClient(mcp, revision, EVERYTHING)
    plain = plain_client.call("stripe.request_refund", payment=charge).result
    assert shown["_meta"].pop("approval")
    assert shown == {"_meta": {}, **plain}
    assert "approval" not in json.dumps(plain_client.tools()["stripe.request_refund"].get("_meta"))


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_result_that_is_repeated_for_an_idempotency_key_has_the_card(
    mcp: McpClient, stripe: Stripe, revision: Revision
) -> None:
    client = AppClient(mcp, revision)
    call = {"name": "stripe.request_refund", "arguments": {"payment": stripe.charge(2000)}}
    first, again = (
        client.request("tools/call", **call, _meta={"idempotency_key": "one"}).result
        for _ in range(2)
    )
    assert again["_meta"].pop("repeated") is True
    assert again["_meta"]["approval"]
    assert again == first
