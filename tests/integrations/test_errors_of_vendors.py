"""V4, V5, V10, V11, V19, V20, V31, V33, V37: errors of vendors lead on, the same for each of them.

Every action meets every kind of error of its vendor, with a secret and an id of the vendor's log in
it.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from audit.models import ActionExecution, SecurityEvent
from tests.drivers import billing
from tests.drivers.fake_vendors import linear as linear_site
from tests.drivers.fake_vendors.faults import ChangeFault
from tests.drivers.fake_vendors.site import saying, sending
from tests.drivers.mcp import McpClient
from tests.integrations.test_outcomes_of_changes import (
    CALLS,
    REQUESTS,
    VendorsBehindProxies,
    vendors,
)
from tools_registry.models import IntegrationMode

__all__ = ["vendors"]
LOG_ID = "0f1e2d3c-aaaa-4bbb-8ccc-1234567890ab"
SECRET = "xoxb-1234567890"
PAGE = b"<html>Blocked"


@dataclass(frozen=True)
class ErrorKind:
    """What a vendor answers, and what a client reads of it."""

    status: int
    body: Any
    says: str
    code: int
    field: str = ""
    connection: str = "connected"
    has_log_id: bool = True


def hubspot(status: int, message: str, says: str, code: int, **more: Any) -> ErrorKind:
    error = {"message": f"About {SECRET}", "context": more.pop("context", {})}
    body = {"status": "error", "message": message, "category": "C", "correlationId": LOG_ID}
    return ErrorKind(status, {**body, "errors": [error]}, says, code, **more)


def slack(
    error: str, says: str, code: int, connection: str = "connected", **more: Any
) -> ErrorKind:
    return ErrorKind(200, {"ok": False, "error": error, **more}, says, code, "", connection)


def stripe(status: int, says: str, number: int, connection: str = "connected", **error: Any) -> Any:
    body = {"error": {"message": f"No: {SECRET}", **error}}
    return ErrorKind(status, body, says, number, error.get("param", ""), connection)


def linear(code: str, says: str, number: int, **more: Any) -> ErrorKind:
    body = linear_site.refusal("Refused", code, f"Not for {SECRET}.")
    return ErrorKind(400, body, says, number, **more)


BLOCKED = "answered 403, and not with an error of its own"
NO_FIELD = "Property values were not valid"
KINDS: dict[str, dict[str, ErrorKind]] = {
    "hubspot": {
        "property": hubspot(
            400,
            NO_FIELD,
            f"HubSpot refused the values: dealstage: {NO_FIELD}",
            -32602,
            field="dealstage",
            context={"propertyName": ["dealstage"]},
        ),
        "required": hubspot(
            400,
            "Some required properties were not set",
            "budget, region: Some required properties were not set",
            -32602,
            field="budget",
            context={"properties": ["budget", "region"]},
        ),
        "scope": hubspot(
            403,
            "Missing scopes",
            "needs one of these scopes: crm.objects.deals.write.",
            -32002,
            context={"requiredGranularScopes": ["crm.objects.deals.write"]},
        ),
        "other-403": hubspot(
            403, "You have to be a super admin", "may not do this: You have to be", -32002
        ),
        "missing": hubspot(
            404, f"No object of {SECRET}", "no such record: No object of ***", -32601
        ),
        "key": ErrorKind(
            401,
            {"message": "Expired", "correlationId": LOG_ID},
            "HubSpot refused the organization's credential.",
            -32002,
            connection="failing",
        ),
    },
    "linear": {
        "values": linear("INPUT_ERROR", "Linear refused the values: Not for ***", -32602),
        "permission": linear("FORBIDDEN", "the key may not do this: Not for ***", -32002),
        "key": linear(
            "AUTHENTICATION_ERROR",
            "Linear refused the organization's API key",
            -32002,
            connection="failing",
        ),
    },
    "slack": {
        "scope": slack(
            "missing_scope",
            "lacks the scope chat:write; it has channels:read (missing_scope)",
            -32002,
            needed="chat:write",
            provided="channels:read",
        ),
        "permission": slack("no_permission", "may have to be a member", -32002),
        "thread-only": slack(
            "restricted_action_thread_only_channel", "only replies can be posted there", -32603
        ),
        "read-only": slack(
            "restricted_action_read_only_channel", "the channel is read-only", -32603
        ),
        "values": slack(
            "invalid_arguments",
            "[ERROR] one ***; [ERROR] two",
            -32602,
            response_metadata={"messages": [f"[ERROR] one {SECRET}", "[ERROR] two"]},
        ),
        "channel": slack("channel_not_found", "Slack has no such channel", -32601),
        "key": slack("token_revoked", "(token_revoked)", -32002, "failing"),
        "login": slack("org_login_required", "(org_login_required)", -32002, "failing"),
    },
    "stripe": {
        "permission": stripe(403, "the key may not do this: No: ***", -32002),
        "parameter": stripe(
            400, "refused the values: No: ***", -32602, type="invalid_request_error", param="amount"
        ),
        "missing": stripe(404, "nothing under this id", -32601),
        "card": stripe(
            402,
            "Stripe answered 402 (card_declined, do_not_honor): No: ***",
            -32603,
            code="card_declined",
            decline_code="do_not_honor",
        ),
        "expired": stripe(401, "it has expired", -32002, "failing", code="api_key_expired"),
    },
}
for _kinds in KINDS.values():
    _kinds["blocked"] = ErrorKind(403, PAGE, BLOCKED, -32603, has_log_id=False)

HEADER = {"hubspot": "x-unused", "linear": "X-Request-Id", "slack": "X-Slack-Req-Id"}
CASES = [(tool, kind) for tool in CALLS for kind in KINDS[tool.partition(".")[0]]]
STRIPE_CASES = [(tool, kind) for tool in REQUESTS for kind in KINDS["stripe"]]


def fault_of(kind: ErrorKind, header: str) -> ChangeFault:
    if isinstance(kind.body, bytes):
        return ChangeFault(is_forwarded=False, answer=sending(kind.body, kind.status))
    answer = saying(kind.body, kind.status, {header: LOG_ID})
    return ChangeFault(is_forwarded=False, answer=answer)


def assert_leads_on(kind: ErrorKind, shown: str, row: ActionExecution, integration: str) -> None:
    assert kind.says in shown
    assert SECRET not in shown + row.detail
    assert (LOG_ID in shown) == (LOG_ID in row.detail) == kind.has_log_id
    mode = IntegrationMode.objects.get(integration=integration)
    assert mode.connection == kind.connection
    events = SecurityEvent.objects.filter(kind="credential_refused")
    assert events.exists() == (kind.connection == "failing")


@pytest.mark.parametrize(("tool", "name"), CASES)
def test_an_error_says_what_to_do_and_where_the_vendor_s_log_has_it(
    mcp: McpClient, vendors: VendorsBehindProxies, tool: str, name: str
) -> None:
    integration = tool.partition(".")[0]
    kind = KINDS[integration][name]
    vendors.proxies[integration].fault = fault_of(kind, HEADER[integration])
    reply = mcp.call(tool, CALLS[tool])
    assert reply.code == kind.code
    if kind.field:
        assert reply.error["data"]["field"] == kind.field
    row = ActionExecution.objects.filter(tool=tool).latest("id")
    assert_leads_on(kind, reply.error["message"], row, integration)


@pytest.mark.parametrize(("tool", "name"), STRIPE_CASES)
def test_an_admin_reads_why_stripe_refused_an_approved_change(
    mcp: McpClient, vendors: VendorsBehindProxies, tool: str, name: str
) -> None:
    kind = KINDS["stripe"][name]
    request, arguments = REQUESTS[tool]
    boss = billing.decider()
    case = billing.RefundCase(mcp, vendors.stripe, "", "", boss, billing.browser_of(boss))
    filed = mcp.call(f"stripe.{request}", arguments(vendors.stripe)).facts["request_id"]
    vendors.proxies["stripe"].fault = fault_of(kind, "Request-Id")
    request_row = case.approve(filed)
    assert request_row.status == "failed"
    row = ActionExecution.objects.filter(tool=tool).latest("id")
    assert_leads_on(kind, request_row.problem, row, "stripe")


def test_a_log_of_stripe_is_named_by_its_address(
    mcp: McpClient, vendors: VendorsBehindProxies
) -> None:
    url = "https://dashboard.stripe.com/acct_1/test/logs/req_9"
    kind = stripe(402, "", -32603, request_log_url=url)
    boss = billing.decider()
    case = billing.RefundCase(mcp, vendors.stripe, "", "", boss, billing.browser_of(boss))
    request, arguments = REQUESTS["stripe.refund"]
    filed = mcp.call(f"stripe.{request}", arguments(vendors.stripe)).facts["request_id"]
    vendors.proxies["stripe"].fault = fault_of(kind, "Request-Id")
    assert f"Log id at Stripe: {url}." in case.approve(filed).problem
