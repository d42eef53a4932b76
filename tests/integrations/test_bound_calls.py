"""M07: a call bound to a customer is about their record at the vendor, or about nobody's."""

from approvals.models import ApprovalRequest
from audit.models import ActionExecution
from tests.drivers import billing
from tests.drivers.bound_calls import bind_id, row
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient


def test_m07_a_bound_call_is_about_the_bound_contact_or_about_nobody(
    mcp: McpClient, grant: Grant, hubspot: HubSpot
) -> None:
    ada = grant.customer(email="ada@example.com", vendor_ids={"hubspot": "101"})
    bound_call = mcp.call("hubspot.create_note", {"text": "Called."}, meta=bind_id(ada))
    assert bound_call.facts["contact_id"] == "101"
    assert (row().outcome, row().bound_customer_id) == ("success", ada.pk)
    other = mcp.call("hubspot.create_note", {"text": "x", "contact_id": "102"}, meta=bind_id(ada))
    assert other.error["data"]["field"] == "contact_id"
    assert len(hubspot.list_writes()) == 1


def test_a_deal_of_another_customer_is_answered_like_one_that_does_not_exist(
    mcp: McpClient, grant: Grant, hubspot: HubSpot
) -> None:
    ada = grant.customer(email="ada@example.com", vendor_ids={"hubspot": "101"})
    theirs, unknown = (
        mcp.call("hubspot.create_note", {"text": "x", "deal_id": deal}, meta=bind_id(ada)).error
        for deal in ("502", "999")
    )
    assert theirs == unknown
    assert theirs["data"]["field"] == "deal_id"
    assert hubspot.list_writes() == []


def test_an_unpaid_intent_of_another_customer_is_answered_like_one_that_does_not_exist(
    mcp: McpClient, grant: Grant, stripe: Stripe
) -> None:
    ada = grant.customer(email="ada@example.com", vendor_ids={"stripe": "cus_Ada"})
    mine, theirs = (
        stripe.has("payment_intent", customer=whose, latest_charge=None)
        for whose in ("cus_Ada", "cus_Bob")
    )
    found, refused, unknown = (
        mcp.call("stripe.request_refund", {"payment": payment}, meta=bind_id(ada)).error
        for payment in (mine, theirs, "pi_none")
    )
    assert refused == unknown
    assert found["data"]["reason"] == "has no charge"


def test_m07_a_bound_call_finds_what_is_the_customer_s_and_nothing_else(
    mcp: McpClient, grant: Grant, stripe: Stripe
) -> None:
    ada = grant.customer(email="ada@example.com", vendor_ids={"stripe": "cus_Ada"})
    mine, theirs = (stripe.charge(2000, customer=whose) for whose in ("cus_Ada", "cus_Bob"))
    refused = mcp.call("stripe.request_refund", {"payment": theirs}, meta=bind_id(ada))
    unknown = mcp.call("stripe.request_refund", {"payment": "ch_none"}, meta=bind_id(ada))
    assert refused.code == unknown.code == -32601
    mcp.call("stripe.request_refund", {"payment": mine}, meta=bind_id(ada))
    filed = ApprovalRequest.objects.get()
    assert (filed.arguments["charge"], filed.customer_id) == (mine, ada.pk)


def test_a_request_for_a_bound_customer_is_carried_out_for_them_or_not_at_all(
    mcp: McpClient, grant: Grant, stripe: Stripe
) -> None:
    case = billing.request_refund(mcp, stripe)
    ada, bob = (grant.customer(vendor_ids={"stripe": whose}) for whose in ("cus_Ada", "cus_Bob"))
    asked = []
    for customer in (ada, bob):
        charge = case.stripe.charge(700, customer=customer.vendor_ids["stripe"])
        message = case.mcp.call(
            "stripe.request_refund", {"payment": charge}, meta=bind_id(customer)
        )
        asked.append(message.facts["request_id"])
    for_ada, for_bob = asked
    bob.delete()
    assert case.approve(for_ada).status == "done"
    assert case.approve(for_bob).status != "done"
    assert ActionExecution.objects.filter(tool="stripe.refund", bound_customer_id=ada.pk).exists()
    assert len(case.stripe.made) == 1
