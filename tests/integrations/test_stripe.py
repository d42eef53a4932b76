"""Stripe as a client meets it: look-ups and requests filed, and nothing that changes anything."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from approvals.models import ApprovalRequest
from audit.models import ActionExecution
from customers import customers
from integrations import stripe as integration
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.billing import ASKING, PERFORMING, connect
from tests.drivers.fake_vendors.stripe import KEY, Stripe, StripeReply
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.mcp import Reply as McpReply
from tools_registry.api import (
    BoundCustomer,
    ToolContext,
    ToolFailure,
    VendorAccount,
    VendorResponse,
)
from tools_registry.api.vendor import judge_status
from workspace.models import Customer as Bound

TRIAL_END = 4_000_000_000
FAR_OFF = {"data": [{"current_period_end": 10**30}]}


def ask(mcp: McpClient, tool: str, **arguments: Any) -> Any:
    return mcp.call(f"stripe.{tool}", arguments).facts


def filed_request() -> ApprovalRequest:
    return ApprovalRequest.objects.get()


def test_a_refund_is_asked_for_and_nothing_is_refunded(mcp: McpClient, stripe: Stripe) -> None:
    charge = stripe.charge(2000)
    reported = ask(mcp, "request_refund", payment=charge, reason="duplicate", why="Paid twice")
    row = filed_request()
    assert reported == {"request_id": str(row.pk), "status": "pending", "summary": row.summary}
    assert row.summary == f"Refund 20.00 USD of {charge} (20.00 USD paid)"
    assert row.arguments == {
        "charge": charge,
        "amount": 2000,
        "currency": "usd",
        "reason": "duplicate",
    }
    made = (row.requested_with, row.tool, row.why)
    assert made == ("stripe.request_refund", "stripe.refund", "Paid twice")
    assert stripe.changes == []
    (read,) = stripe.sent
    assert (read.path, read.headers["authorization"]) == (f"/v1/charges/{charge}", f"Bearer {KEY}")


def test_what_was_refunded_before_is_not_asked_for_again(mcp: McpClient, stripe: Stripe) -> None:
    charge = stripe.charge(2000, amount_refunded=500)
    ask(mcp, "request_refund", payment=charge)
    assert filed_request().arguments["amount"] == 1500


def test_a_payment_intent_leads_to_its_charge(mcp: McpClient, stripe: Stripe) -> None:
    charge = stripe.charge(1000)
    intent = stripe.has("payment_intent", latest_charge=charge)
    ask(mcp, "request_refund", payment=intent, amount=400)
    assert filed_request().arguments == {"charge": charge, "amount": 400, "currency": "usd"}


@pytest.mark.parametrize(
    ("currency", "shown"), [("usd", "15.00 USD"), ("jpy", "1500 JPY"), ("kwd", "1.500 KWD")]
)
def test_amounts_are_shown_in_the_units_of_their_currency(
    mcp: McpClient, stripe: Stripe, currency: str, shown: str
) -> None:
    ask(mcp, "request_refund", payment=stripe.charge(1500, currency=currency))
    assert f"Refund {shown} of" in filed_request().summary


def test_a_cancellation_says_when_it_ends(mcp: McpClient, stripe: Stripe) -> None:
    item = {"id": "si_1", "current_period_end": 1_800_000_000}
    facts = {"items": {"data": [item]}, "cancel_at_period_end": False, "status": "active"}
    row = stripe.has("subscription", **facts)
    ask(mcp, "request_cancellation", subscription=row)
    assert filed_request().summary.endswith("at the end of its period, 2027-01-15")
    assert filed_request().arguments == {"subscription": row, "at_period_end": True}


def test_a_credit_is_asked_for(mcp: McpClient, stripe: Stripe) -> None:
    customer = stripe.has("customer", currency="eur")
    ask(mcp, "request_credit", customer=customer, amount=999, currency="eur")
    assert filed_request().summary == f"Credit {customer} with 9.99 EUR"


def test_a_trial_is_extended_from_where_it_ends(mcp: McpClient, stripe: Stripe) -> None:
    soon = int(datetime.now(UTC).timestamp()) + 86_400
    row = stripe.has("subscription", status="trialing", trial_end=soon)
    ask(mcp, "extend_trial", subscription=row, days=10)
    assert filed_request().arguments == {"subscription": row, "trial_end": soon + 864_000}


def get_refusal(reply: McpReply) -> tuple[str, str]:
    """The field and the reason of an argument that cannot be."""
    assert reply.code == -32602
    return reply.error["data"]["field"], reply.error["data"]["reason"]


@pytest.mark.parametrize(
    ("facts", "asked", "field"),
    [
        pytest.param({"status": "failed"}, {}, "payment", id="failed"),
        pytest.param({"captured": False}, {}, "payment", id="uncaptured"),
        pytest.param({"disputed": True}, {}, "payment", id="disputed"),
        pytest.param({"amount_refunded": 2000}, {}, "payment", id="refunded"),
        pytest.param({"amount_refunded": 1}, {"amount": 2000}, "amount", id="too-much"),
    ],
)
def test_a_refund_that_could_not_be_made_is_not_asked_for(
    mcp: McpClient, stripe: Stripe, facts: Any, asked: Any, field: str
) -> None:
    charge = stripe.rows[stripe.charge(2000)]
    charge.update(facts)
    reply = mcp.call("stripe.request_refund", {"payment": charge["id"], **asked})
    assert get_refusal(reply)[0] == field
    assert not ApprovalRequest.objects.exists()


@pytest.mark.parametrize(
    ("tool", "facts", "asked", "field"),
    [
        pytest.param("request_cancellation", {"status": "canceled"}, {}, "subscription", id="over"),
        pytest.param(
            "request_cancellation",
            {"status": "active", "cancel_at_period_end": True},
            {},
            "subscription",
            id="ending",
        ),
        pytest.param(
            "extend_trial", {"status": "active"}, {"days": 1}, "subscription", id="no-trial"
        ),
        pytest.param(
            "extend_trial",
            {"status": "trialing", "trial_end": TRIAL_END},
            {"days": 1},
            "days",
            id="too-far",
        ),
    ],
)
def test_a_subscription_has_to_be_fit_for_it(  # noqa: PLR0917  a table's columns
    mcp: McpClient, stripe: Stripe, tool: str, facts: Any, asked: Any, field: str
) -> None:
    row = stripe.has("subscription", **facts)
    assert get_refusal(mcp.call(f"stripe.{tool}", {"subscription": row, **asked}))[0] == field


def test_a_customer_has_one_currency(mcp: McpClient, stripe: Stripe) -> None:
    customer = stripe.has("customer", currency="eur")
    asked = {"customer": customer, "amount": 1, "currency": "usd"}
    assert get_refusal(mcp.call("stripe.request_credit", asked)) == ("currency", "must be eur")


def test_without_a_bound_customer_one_has_to_be_named(mcp: McpClient, stripe: Stripe) -> None:
    reply = mcp.call("stripe.request_credit", {"amount": 1, "currency": "usd"})
    assert get_refusal(reply) == ("customer", "is required")
    assert stripe.sent == []


def test_a_deleted_customer_is_as_absent_as_one_that_never_was(
    mcp: McpClient, stripe: Stripe
) -> None:
    gone = stripe.has("deleted_customer")
    asked = {"amount": 1, "currency": "usd"}
    there = mcp.call("stripe.request_credit", {"customer": gone, **asked})
    nowhere = mcp.call("stripe.request_credit", {"customer": "cus_nobody", **asked})
    assert there.body == nowhere.body
    assert there.code == -32601


class Books:
    """A vendor that has one row."""

    settings: dict[str, str] = {}

    def __init__(self, row: Any) -> None:
        self.row = row

    def send(self, *_request: object, **_facts: object) -> VendorResponse:
        return VendorResponse(200, {}, self.row)


def test_m07_a_customer_that_disagrees_with_the_binding_is_invalid(
    mcp: McpClient, stripe: Stripe, grant: Grant
) -> None:
    theirs = {"stripe": stripe.has("customer")}
    bound = customers.keep(Bound(organization=grant.organization, name="A", vendor_ids=theirs))
    asked = {"customer": stripe.has("customer"), "amount": 5, "currency": "usd"}
    meta = {"bound_end_user_id": bound.pk}
    reply = mcp.call("stripe.request_credit", asked, meta=meta)
    assert (reply.code, reply.error["data"]["field"]) == (-32602, "customer")
    asked |= {"customer": theirs["stripe"]}
    assert mcp.call("stripe.request_credit", asked, meta=meta).facts["status"] == "pending"


@pytest.mark.parametrize(
    ("tool", "kind", "facts"),
    [
        pytest.param("request_refund", "charge", {"amount_captured": "2000"}, id="amount"),
        pytest.param("request_refund", "charge", {"currency": None}, id="currency"),
        pytest.param("request_cancellation", "subscription", {"status": []}, id="status"),
        pytest.param("extend_trial", "subscription", {"trial_end": "soon"}, id="trial"),
        pytest.param("request_credit", "customer", {"currency": True}, id="customer"),
    ],
)
def test_a_thing_that_is_not_what_the_reference_says_is_stripe_s_failure(
    mcp: McpClient, stripe: Stripe, tool: str, kind: str, facts: Any
) -> None:
    name = "payment" if kind == "charge" else kind
    more = {"extend_trial": {"days": 1}, "request_credit": {"amount": 5, "currency": "usd"}}
    asked = {name: stripe.has(kind, **facts), **more.get(tool, {})}
    assert "does not match its API reference" in mcp.call(f"stripe.{tool}", asked).error["message"]
    row = ActionExecution.objects.latest("id")
    assert (row.outcome, row.reason) == ("integration_error", "integration")


@pytest.mark.parametrize("items", [None, 1, {"data": 1}, {"data": [None, {}]}, FAR_OFF])
def test_a_period_that_cannot_be_read_is_left_out(
    mcp: McpClient, stripe: Stripe, items: Any
) -> None:
    row = stripe.has("subscription", status="active", cancel_at_period_end=False, items=items)
    reply = mcp.call("stripe.request_cancellation", {"subscription": row})
    assert reply.facts["status"] == "pending"


@pytest.mark.parametrize("vendor_ids", [{"stripe": "cus_other"}, {}], ids=["other", "none"])
def test_what_belongs_to_another_than_the_bound_customer_is_not_found(
    stripe: Stripe, vendor_ids: dict[str, str]
) -> None:
    charge = stripe.rows[stripe.charge(customer="cus_theirs")]
    context = ToolContext(
        organization_id="o",
        user_id="u",
        public_url="",
        workspace=None,  # type: ignore[arg-type]  not asked for anything
        customer=BoundCustomer(id="c", vendor_ids=vendor_ids),
        vendor=Books(charge),
    )
    with pytest.raises(ToolFailure) as failure:
        integration.request_refund(context, payment=charge["id"])
    assert failure.value.kind == ("not_found" if vendor_ids else "validation")


@pytest.mark.parametrize(
    ("reply", "code", "said"),
    [
        pytest.param(StripeReply(403, {}), -32002, "may not do this", id="forbidden"),
        pytest.param(
            StripeReply(500, b"<html>oops</html>"), -32603, "Stripe answered 500", id="broken"
        ),
        pytest.param(StripeReply(200, b"\x00garbage"), -32603, "not valid JSON", id="garbage"),
        pytest.param(
            StripeReply(200, {"odd": 1}), -32603, "does not match its API reference", id="other"
        ),
        pytest.param(StripeReply(200, [1]), -32603, "Stripe answered 200", id="no-object"),
    ],
)
def test_what_goes_wrong_at_stripe_is_said_plainly(
    mcp: McpClient, stripe: Stripe, reply: StripeReply, code: int, said: str
) -> None:
    stripe.misbehave = [reply] * 4
    answer = mcp.call("stripe.request_refund", {"payment": "ch_1"})
    assert (answer.code, said in answer.error["message"]) == (code, True)
    assert "html" not in answer.error["message"]
    assert ActionExecution.objects.latest("id").outcome == "integration_error"


def test_a_wrong_key_is_reported_without_a_letter_of_it(grant: Grant, stripe: Stripe) -> None:
    connect(grant, secret="sk_live_thewrongone")
    reply = McpClient(grant.token()).call("stripe.request_refund", {"payment": "ch_1"})
    assert (reply.code, "refused the organization's key" in reply.error["message"]) == (
        -32002,
        True,
    )
    assert stripe.sent != []
    assert "sk_" not in reply.body.decode()


@pytest.mark.parametrize(
    "message",
    [f"Use {KEY} here", "a\x1b[31mred\x00", "turn\u202earound", "x" * 5000],
    ids=["key", "control", "bidi", "long"],
)
def test_words_of_stripe_arrive_short_and_harmless(
    mcp: McpClient, stripe: Stripe, message: str
) -> None:
    stripe.misbehave = [StripeReply(400, {"error": {"message": message}})]
    reported = mcp.call("stripe.request_refund", {"payment": "ch_1"}).error["message"]
    assert KEY not in reported
    assert len(reported) < 350
    assert re.fullmatch(r"[\x20-\x7e]+", reported)


def vendor_response(status: int, **headers: str) -> VendorResponse:
    return VendorResponse(
        status, {name.replace("_", "-"): text for name, text in headers.items()}, {}
    )


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (vendor_response(429), 1.0),
        (vendor_response(429, retry_after="7"), 7.0),
        (vendor_response(429, retry_after="soon"), 1.0),
        (vendor_response(429, stripe_should_retry="false"), None),
        (vendor_response(409), 1.0),
        (vendor_response(500), None),
        (vendor_response(500, stripe_should_retry="true", retry_after="2"), 2.0),
        (vendor_response(400), None),
    ],
    ids=str,
)
def test_stripe_says_when_to_ask_again(answer: VendorResponse, seconds: float | None) -> None:
    connection = integration.TOOLSET.connection
    assert connection is not None
    assert connection.waits is not None
    assert connection.waits(answer) == seconds


def test_the_check_says_which_mode_the_key_is_for() -> None:
    connection = integration.TOOLSET.connection
    assert connection is not None
    assert connection.judge is not judge_status
    live, test = (connection.check(Books({"livemode": is_live})) for is_live in (True, False))
    assert live == VendorAccount("Stripe, live mode", "live mode")
    assert test == VendorAccount("Stripe, test mode", "test mode")


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("action", PERFORMING)
def test_k05_what_performs_is_never_listed_and_never_runs_over_mcp(
    stripe: Stripe, revision: Revision, action: str
) -> None:
    grant = make_grant(f"actions:* actions:stripe:* actions:stripe:{action}")
    connect(grant, enabled=(*ASKING, *PERFORMING))
    mcp = McpClient(grant.token(), revision)
    assert [name for name in mcp.tool_names() if name.startswith("stripe.")] == sorted(
        f"stripe.{one}" for one in ASKING
    )
    reply = mcp.call(f"stripe.{action}", {"charge": stripe.charge(), "amount": 1})
    assert reply.error["data"] == {"reason": "destructive_blocked", "layer": "destructive"}
    assert stripe.sent == []


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["payment", "amount", "reason", "why", "subscription", "days", "customer", "currency"]
)
NEAR = st.sampled_from(["ch_1", "sub_1", "cus_1", "usd", "ch_1/../x", "ch_%2e", "ch_1\n", 1, 0, -1])


@pytest.fixture
def asked_at_random(grant: Grant, stripe: Stripe) -> Iterator[McpClient]:
    connect(grant)
    yield McpClient(grant.token())
    for one in stripe.sent:
        assert re.fullmatch(r"/v1/[a-z_]+/[A-Za-z0-9_]+", one.path)


@pytest.mark.parametrize("action", ASKING)
@profile(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(arguments=st.dictionaries(NAMES | st.text(max_size=5), NEAR | ODD, max_size=5))
def test_odd_arguments_get_a_clear_error_and_reach_no_path(
    asked_at_random: McpClient, settings: Any, action: str, arguments: Any
) -> None:
    settings.HALO_RATE_TOOLS_CALL = settings.HALO_RATE_IP
    reply = asked_at_random.call(f"stripe.{action}", arguments)
    assert reply.code in {-32602, -32601, -32600}
    if reply.code == -32602:
        assert reply.error["data"].keys() <= {"field", "reason"}
