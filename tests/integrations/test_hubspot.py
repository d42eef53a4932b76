"""HubSpot over MCP, against a fake vendor that validates every request against the contract."""

from math import inf
from typing import Any

import pytest
from hypothesis import given

from integrations.hubspot import TOOLSET, waits
from mcp_protocol.revisions import Revision
from tests.drivers.fake_vendors import failures
from tests.drivers.fake_vendors.connected import connect, connection, run
from tests.drivers.fake_vendors.failures import message, row
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tools_registry import vendors
from tools_registry.api import (
    BoundCustomer,
    NotFound,
    Unauthorized,
    ValidationFailure,
    VendorAccount,
    VendorResponse,
)

ADA, GRACE = "ada@example.com", "grace@example.com"
NOTE = {"text": "Called back.", "contact_id": "101"}
EVERY_CALL: dict[str, dict[str, Any]] = {
    "create_deal": {"name": "Acme", "contact_id": "101"},
    "update_contact": {"contact_id": "101", "properties": {"phone": "1"}},
    "log_activity": {"subject": "Call back", "contact_id": "101"},
    "create_note": NOTE,
}


def associated_ids(request: Any) -> dict[int, str]:
    """Whom a created record is associated with, by association type."""
    return {
        one["types"][0]["associationTypeId"]: one["to"]["id"]
        for one in request.json["associations"]
    }


@pytest.mark.parametrize("action", EVERY_CALL)
def test_every_request_carries_the_token_of_the_organization(
    mcp: McpClient, hubspot: HubSpot, action: str
) -> None:
    assert mcp.call(f"hubspot.{action}", EVERY_CALL[action]).facts["id"]
    sent = {request.headers["authorization"] for request in hubspot.seen}
    assert sent == {"Bearer the-organizations-token"}
    (written,) = hubspot.list_writes()
    assert (row().outcome, row().action) == ("success", action)
    assert "the-organizations-token" not in f"{row().arguments}{row().detail}"
    assert written.method == ("PATCH" if action == "update_contact" else "POST")


def test_a_deal_stands_at_the_named_stage_for_the_contact_with_the_address(
    mcp: McpClient, hubspot: HubSpot
) -> None:
    deal = {
        "name": "Acme renewal",
        "amount": 1200.5,
        "pipeline": "renewals",
        "stage": "won",
        "close_date": "2027-02-28",
        "owner_email": "owner@example.com",
        "contact_email": ADA,
    }
    reply = mcp.with_revision(Revision.V2025_06_18).call("hubspot.create_deal", deal)
    assert reply.result["structuredContent"] == {"id": "9001", "contact_id": "101"}
    (written,) = hubspot.list_writes()
    assert written.line == "POST /crm/v3/objects/0-3"
    assert written.json["properties"] == {
        "dealname": "Acme renewal",
        "amount": "1200.5",
        "pipeline": "renewals",
        "dealstage": "renewals-1",
        "closedate": "2027-02-28T12:00:00Z",
        "hubspot_owner_id": "77",
    }
    assert associated_ids(written) == {3: "101"}


def test_a_deal_without_a_place_starts_at_the_first_stage_of_the_first_pipeline(
    mcp: McpClient, hubspot: HubSpot
) -> None:
    assert mcp.call("hubspot.create_deal", {"name": "Acme"}).facts == {"id": "9001"}
    (written,) = hubspot.list_writes()
    assert written.json["properties"] == {
        "dealname": "Acme",
        "pipeline": "default",
        "dealstage": "default-0",
    }
    assert written.json["associations"] == []


@pytest.mark.parametrize(
    ("amount", "sent"),
    [(5, "5"), (0.1, "0.1"), (1e-7, "0.0000001"), (10**12, "1000000000000"), (-0.0, "0.0")],
    ids=str,
)
def test_an_amount_is_sent_as_plain_digits(
    mcp: McpClient, hubspot: HubSpot, amount: float, sent: str
) -> None:
    mcp.call("hubspot.create_deal", {"name": "Acme", "amount": amount})
    assert hubspot.list_writes()[0].json["properties"]["amount"] == sent


def test_a_contact_is_changed_in_the_properties_that_an_admin_listed(
    mcp: McpClient, hubspot: HubSpot
) -> None:
    change = {"contact_email": "o'b+x@e.com", "properties": {"phone": "+49 1", "jobtitle": "CTO"}}
    assert mcp.call("hubspot.update_contact", change).facts == {"id": "103"}
    read, written = hubspot.seen
    assert read.path == "/crm/v3/objects/contacts/o%27b%2Bx%40e.com"
    assert (written.line, written.json) == (
        "PATCH /crm/v3/objects/contacts/103",
        {"properties": {"phone": "+49 1", "jobtitle": "CTO"}},
    )


def test_no_property_may_be_changed_until_an_admin_lists_one(
    mcp: McpClient, grant: Grant, hubspot: HubSpot
) -> None:
    connect(grant, "hubspot", hubspot)
    answer = message(mcp.call("hubspot.update_contact", EVERY_CALL["update_contact"]))
    assert (answer["code"], answer["field"]) == (-32602, "properties")
    assert hubspot.seen == []


def test_an_activity_becomes_a_task_that_is_due(mcp: McpClient, hubspot: HubSpot) -> None:
    task = {
        "subject": "Call back",
        "details": "About <b>prices</b>\n& terms",
        "due_date": "2027-01-31",
        "priority": "HIGH",
        "contact_id": "101",
        "deal_id": "501",
        "owner_email": "owner@example.com",
    }
    facts = mcp.call("hubspot.log_activity", task).facts
    assert facts == {"id": "9001", "contact_id": "101", "deal_id": "501"}
    (written,) = hubspot.list_writes()
    assert written.json["properties"] == {
        "hs_task_subject": "Call back",
        "hs_task_body": "About &lt;b&gt;prices&lt;/b&gt;<br>&amp; terms",
        "hs_task_status": "NOT_STARTED",
        "hs_task_type": "TODO",
        "hs_task_priority": "HIGH",
        "hs_timestamp": "2027-01-31T12:00:00Z",
        "hubspot_owner_id": "77",
    }
    assert (written.line, associated_ids(written)) == (
        "POST /crm/v3/objects/tasks",
        {204: "101", 216: "501"},
    )


def test_a_note_is_plain_text_on_what_it_is_about(mcp: McpClient, hubspot: HubSpot) -> None:
    facts = mcp.call("hubspot.create_note", {"text": "<script>", "deal_id": "501"}).facts
    assert facts == {"id": "9001", "deal_id": "501"}
    (written,) = hubspot.list_writes()
    assert written.json["properties"]["hs_note_body"] == "&lt;script&gt;"
    assert associated_ids(written) == {214: "501"}


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown-pipeline": ("create_deal", {"name": "A", "pipeline": "Sale"}, "pipeline"),
    "archived-pipeline": ("create_deal", {"name": "A", "pipeline": "Old"}, "pipeline"),
    "stage-elsewhere": ("create_deal", {"name": "A", "stage": "Open"}, "stage"),
    "no-such-day": ("create_deal", {"name": "A", "close_date": "2027-02-30"}, "close_date"),
    "no-owner": ("create_deal", {"name": "A", "owner_email": ADA}, "owner_email"),
    "two-contacts": ("create_note", {**NOTE, "contact_email": ADA}, "contact_email"),
    "about-nothing": ("create_note", {"text": "x"}, "contact_email"),
    "nobody-to-change": ("update_contact", {"properties": {"phone": "1"}}, "contact_email"),
    "path-for-an-id": ("create_note", {"text": "x", "contact_id": "../1"}, "contact_id"),
    "unlisted-property": (
        "update_contact",
        {"contact_id": "101", "properties": {"email": "x@example.com"}},
        "properties",
    ),
    "unknown-contact": ("create_note", {"text": "x", "contact_id": "999"}, "arguments"),
}


@pytest.mark.parametrize("action_arguments_field", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("revision", [Revision.V2025_03_26, Revision.V2025_11_25], ids=str)
def test_what_cannot_be_is_reported_by_field_and_writes_nothing(
    mcp: McpClient, hubspot: HubSpot, action_arguments_field: Any, revision: Revision
) -> None:
    action, arguments, field = action_arguments_field
    answer = message(mcp.with_revision(revision).call(f"hubspot.{action}", arguments))
    assert (answer["code"], answer["field"]) == (-32602, field)
    assert answer["reason"]
    assert row().outcome == "validation_failed"
    # What HubSpot itself refuses has been sent.
    assert len(hubspot.list_writes()) == (field == "arguments")


def test_a_blank_stage_is_left_out(mcp: McpClient, hubspot: HubSpot) -> None:
    assert not mcp.call("hubspot.create_deal", {"name": "A", "stage": " "}).result["isError"]
    (sent,) = hubspot.list_writes()
    assert '"dealstage": "default-0"' in str(sent)  # the first of the pipeline


def test_a_stage_that_does_not_exist_is_answered_with_those_that_do(
    mcp: McpClient, hubspot: HubSpot
) -> None:
    hubspot.pipelines[1]["stages"][0]["label"] = "Won\x1b[2J\n"
    answer = message(mcp.call("hubspot.create_deal", {"name": "A", "stage": "Lost"}))
    assert answer["reason"] == "must name one of: Appointment, Contract sent, Won [2J"


def test_an_account_without_pipelines_is_no_error_of_the_arguments(
    mcp: McpClient, hubspot: HubSpot
) -> None:
    hubspot.pipelines = []
    answer = message(mcp.call("hubspot.create_deal", {"name": "A", "pipeline": "Sales"}))
    assert answer["message"] == (
        "HubSpot shows no pipeline of deals that is in use, so no deal can be created. Nothing was "
        "changed."
    )


def test_a_rate_limit_says_once_when_to_try_again(mcp: McpClient, hubspot: HubSpot) -> None:
    hubspot.say(429, {"policyName": "DAILY"})
    answer = message(mcp.call("hubspot.create_note", NOTE))
    assert answer["message"].count("Try again later.") == 1
    assert "The HubSpot rate limit was reached." in answer["message"]


def test_a_label_that_two_stages_share_names_neither(mcp: McpClient, hubspot: HubSpot) -> None:
    for stage in hubspot.pipelines[1]["stages"]:
        stage["label"] = "Same"
    answer = message(mcp.call("hubspot.create_deal", {"name": "A", "stage": "same"}))
    assert answer["field"] == "stage"
    mcp.call("hubspot.create_deal", {"name": "A", "stage": "default-2"})
    assert hubspot.list_writes()[0].json["properties"]["dealstage"] == "default-2"


def test_an_address_that_no_contact_has_is_not_found(mcp: McpClient, hubspot: HubSpot) -> None:
    answer = message(
        mcp.call("hubspot.create_note", {"text": "x", "contact_email": "no@example.com"})
    )
    assert (answer["code"], row().outcome) == (-32601, "not_found")
    assert hubspot.list_writes() == []


def bound_customer(email: str = "", contact: str = "") -> BoundCustomer:
    return BoundCustomer("u_1", email=email, vendor_ids={"hubspot": contact} if contact else {})


@pytest.mark.parametrize(
    "customer",
    [bound_customer(ADA), bound_customer("", "101"), bound_customer("ADA@example.com", "101")],
)
@pytest.mark.parametrize("action", EVERY_CALL)
def test_m07_a_bound_customer_s_contact_is_the_one_that_is_meant(
    grant: Grant, hubspot: HubSpot, action: str, customer: BoundCustomer
) -> None:
    hubspot.contacts["101"] = customer.email or ADA
    given_too = EVERY_CALL[action]
    alone = {name: value for name, value in given_too.items() if name != "contact_id"}
    for arguments in (given_too, alone):
        run(grant, f"hubspot.{action}", arguments, customer)
    for written in hubspot.list_writes():
        assert written.path.endswith("/101") or "101" in associated_ids(written).values()


DISAGREEING: dict[str, tuple[BoundCustomer, dict[str, Any]]] = {
    "id": (bound_customer(GRACE), {"contact_id": "101"}),
    "id-by-vendor-id": (bound_customer("", "102"), {"contact_id": "101"}),
    "email": (bound_customer(GRACE), {"contact_email": ADA}),
    "email-without-one": (bound_customer("", "102"), {"contact_email": GRACE}),
    "kelvin-sign": (
        bound_customer("\N{KELVIN SIGN}@example.com"),
        {"contact_email": "k@example.com"},
    ),
    "deal": (bound_customer(GRACE), {"deal_id": "501"}),
}


@pytest.mark.parametrize(("customer", "arguments"), DISAGREEING.values(), ids=DISAGREEING)
def test_m07_an_argument_that_disagrees_with_the_binding_is_invalid(
    grant: Grant, hubspot: HubSpot, customer: BoundCustomer, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ValidationFailure) as refused:
        run(grant, "hubspot.create_note", {"text": "x", **arguments}, customer)
    assert refused.value.field in arguments
    assert hubspot.list_writes() == []


def test_m07_a_deal_of_the_bound_customer_may_be_named(grant: Grant, hubspot: HubSpot) -> None:
    run(grant, "hubspot.create_note", {"text": "x", "deal_id": "501"}, bound_customer(ADA))
    assert associated_ids(hubspot.list_writes()[0]) == {202: "101", 214: "501"}


@pytest.mark.parametrize(
    "customer", [bound_customer(), bound_customer("no@example.com"), bound_customer(ADA, "../5")]
)
def test_a_bound_customer_without_a_contact_gets_no_deal_without_one(
    grant: Grant, hubspot: HubSpot, customer: BoundCustomer
) -> None:
    with pytest.raises(NotFound):
        run(grant, "hubspot.create_deal", {"name": "Acme"}, customer)
    assert hubspot.list_writes() == []


def test_a_refused_token_is_unauthorized_and_stays_out_of_the_answer(
    mcp: McpClient, hubspot: HubSpot
) -> None:
    hubspot.token = "another"
    answer = message(mcp.call("hubspot.create_note", NOTE))
    assert answer["code"] == -32002
    assert (row().outcome, row().reason) == ("integration_error", "unauthorized")
    assert "the-organizations-token" not in str(answer)


# Status, body, then the code and the audit row's outcome and upstream status.
TROUBLE: dict[str, tuple[int, Any, int, str, int | None]] = {
    "scope": (403, {"category": "MISSING_SCOPES"}, -32002, "integration_error", 403),
    "missing": (404, {}, -32601, "not_found", 404),
    "conflict": (409, {"message": "exists"}, -32602, "validation_failed", 409),
    "l4-values": (422, {"message": "no"}, -32602, "validation_failed", 422),
    "refused-in-garbage": (400, b"\xff", -32602, "validation_failed", 400),
    "refused-at-length": (400, {"message": "x\n" * 9999}, -32602, "validation_failed", 400),
    "used-up": (429, {"policyName": "DAILY"}, -32603, "integration_error", 429),
    "down": (502, b"<html>", -32603, "integration_error", 502),
    "moved": (302, b"", -32603, "integration_error", 302),
    "garbage": (201, b"<html>", -32603, "integration_error", 201),
    "empty": (201, b"", -32603, "integration_error", 201),
    "list": (201, [1], -32603, "integration_error", 201),
    "odd-id": (201, {"id": "../1"}, -32603, "integration_error", 201),
    "deep": (201, b"[" * 100_000, -32603, "integration_error", 201),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
def test_hubspot_s_trouble_is_reported_in_plain_words_and_recorded(
    mcp: McpClient, hubspot: HubSpot, trouble: Any
) -> None:
    status, body, code, outcome, upstream = trouble
    hubspot.say(status, body)
    answer = message(mcp.call("hubspot.create_note", NOTE))
    assert (answer["code"], row().outcome, row().upstream_status) == (code, outcome, upstream)
    assert answer["message"].isprintable()
    assert len(answer["message"]) < 400
    assert len(hubspot.seen) == 1


GARBAGE: list[Any] = [
    *([], {"results": None}, {"results": [1]}, {"results": [{}]}),
    {"results": [{"archived": False, "displayOrder": 0, "label": 5, "id": None, "stages": 1}]},
    {"results": [{"archived": False, "displayOrder": [], "label": "", "id": "1"}]},
]


@pytest.mark.parametrize("body", GARBAGE, ids=repr)
def test_pipelines_that_cannot_be_read_are_an_integration_error(
    mcp: McpClient, hubspot: HubSpot, body: Any
) -> None:
    hubspot.say(200, body)
    assert message(mcp.call("hubspot.create_deal", {"name": "A"}))["code"] == -32603
    assert row().outcome == "integration_error"


@pytest.mark.parametrize("body", [[], {"associations": 1}, {"associations": {"contacts": {}}}])
def test_a_deal_that_cannot_be_read_is_nobody_s(grant: Grant, hubspot: HubSpot, body: Any) -> None:
    hubspot.say(200, body)
    with pytest.raises(ValidationFailure):
        run(
            grant, "hubspot.create_note", {"text": "x", "deal_id": "501"}, bound_customer("", "101")
        )


@pytest.mark.parametrize(
    ("status", "headers", "value", "seconds"),
    [
        (429, {"retry-after": "3"}, {"policyName": "TEN_SECONDLY_ROLLING"}, 3.0),
        (429, {"x-hubspot-ratelimit-interval-milliseconds": "10000"}, None, 10.0),
        (429, {}, {"policyName": "SECONDLY"}, 1.0),
        (429, {"retry-after": "soon"}, [], 1.0),
        (429, {"retry-after": "3"}, {"policyName": "DAILY"}, inf),
        (423, {}, {}, 2.0),
        (500, {"retry-after": "3"}, {}, None),
        (200, {}, {}, None),
    ],
)
def test_hubspot_says_how_long_to_wait(
    status: int, headers: dict[str, str], value: Any, seconds: float | None
) -> None:
    assert waits(VendorResponse(status, headers, value)) == seconds


def test_the_check_names_the_pipelines_of_the_account(grant: Grant, hubspot: HubSpot) -> None:
    check, vendor = (
        connection("hubspot").check,
        vendors.get_vendor(grant.organization.pk, "hubspot"),
    )
    pipelines = "with the deal pipelines: Renewals, Sales Pipeline, Old"
    assert check(vendor) == VendorAccount(f"HubSpot account 12345 (STANDARD) {pipelines}", "12345")
    hubspot.token = "another"
    with pytest.raises(Unauthorized):
        check(vendor)


def test_an_organization_uses_its_own_token_alone(hubspot: HubSpot) -> None:
    theirs = make_grant()
    theirs.connect("hubspot", enabled=("create_note",))
    answer = message(McpClient(theirs.token()).call("hubspot.create_note", NOTE))
    assert answer["code"] == -32603
    assert hubspot.seen == []


@pytest.mark.parametrize("tool", TOOLSET.tools, ids=lambda tool: tool.name)
@pytest.mark.parametrize("revision", [Revision.V2025_03_26, Revision.V2025_11_25], ids=str)
def test_any_arguments_at_all_are_answered_clearly(
    mcp: McpClient, hubspot: HubSpot, settings: Any, tool: Any, revision: Revision
) -> None:
    failures.raise_limits(settings)
    near = failures.arguments_like(tool, "101", ADA, "2027-01-31", {"phone": "1"}, "Won", "")

    @failures.FUZZ
    @given(near)
    def fuzz(arguments: dict[str, Any]) -> None:
        failures.answers_clearly(mcp.with_revision(revision), tool, arguments)

    fuzz()
    assert hubspot.breaches == []
