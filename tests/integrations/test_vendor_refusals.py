"""L4 (J15): a vendor's "no such record" and "invalid values" have codes of their own."""

from collections.abc import Iterator
from typing import Any

import pytest

from integrations.linear import TOOLSET as LINEAR
from mcp_protocol.revisions import Revision
from tests.drivers.fake_vendors import help_desk, site
from tests.drivers.fake_vendors import linear as linear_site
from tests.drivers.fake_vendors.connected import connect, connect_toolset, connection, run
from tests.drivers.fake_vendors.contract import serving
from tests.drivers.fake_vendors.failures import message, row
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.fake_vendors.linear import Linear
from tests.drivers.fake_vendors.site import Site
from tests.drivers.fake_vendors.slack import Slack
from tests.drivers.fake_vendors.stripe import Stripe, StripeReply
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry.api import BoundCustomer, NotFound, VendorResponse

EARLY, LATE = Revision.V2025_03_26, Revision.V2025_11_25
REVISIONS = pytest.mark.parametrize("revision", [EARLY, LATE, Revision.V2026_07_28], ids=str)
NOT_FOUND = (-32601, "not_found", "not_found")
VALIDATION = (-32602, "validation_failed", "validation")


def call_and_get_refusal(
    client: McpClient, tool: str, arguments: dict[str, Any]
) -> tuple[int, str, str]:
    """The code that the client gets, in either form, with outcome and reason of the audit row."""
    reply = client.call(tool, arguments)
    assert ("result" in reply.json) == (client.revision is not EARLY)
    answer = message(reply)
    assert answer["message"].endswith((".", "..."))
    return answer["code"], row().outcome, row().reason


@pytest.fixture
def vendor(grant: Grant, settings: Any) -> Iterator[Site]:
    with help_desk.open_desk(settings) as opened:
        help_desk.connect(grant)
        yield opened


@pytest.mark.parametrize(("status", "expected"), [(404, NOT_FOUND), (422, VALIDATION)])
@REVISIONS
def test_l4_an_integration_without_a_judge_of_its_own_goes_by_the_status(
    mcp: McpClient, vendor: Site, revision: Revision, status: int, expected: tuple[int, str, str]
) -> None:
    vendor.usual = site.saying({"secret": help_desk.SECRET}, status)
    assert call_and_get_refusal(mcp.with_revision(revision), "desk.get_ticket", {}) == expected
    assert row().upstream_status == status
    assert help_desk.SECRET not in row().detail
    assert len(vendor.seen) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"message": "Queue q-7 is closed."},
        {"error": {"code": 9, "message": "Queue q-7 is closed."}},
        {"errors": [{"detail": "Queue q-7\nis closed."}]},
        {"error": "Queue q-7 is closed.", "status": 1},
    ],
)
@pytest.mark.parametrize(
    ("status", "before"),
    [(404, "Help desk has no such record"), (422, "Help desk refused the values")],
)
def test_the_vendor_s_sentence_is_part_of_the_answer(
    mcp: McpClient, vendor: Site, status: int, before: str, body: Any
) -> None:
    vendor.usual = site.saying(body, status)
    assert mcp.call("desk.get_ticket", {}).error["message"] == f"{before}: Queue q-7 is closed."


@pytest.mark.parametrize("status", [404, 422])
def test_secrets_in_the_vendor_s_sentence_are_masked(
    mcp: McpClient, vendor: Site, status: int
) -> None:
    sentence = f"No ticket for key {help_desk.SECRET} or xoxb-1234567890 or password=hunter22"
    vendor.usual = site.saying({"detail": sentence}, status)
    message = mcp.call("desk.get_ticket", {}).error["message"]
    assert message.endswith("No ticket for key *** or *** or password=***")
    for secret in (help_desk.SECRET, "xoxb-1234567890", "hunter22"):
        assert secret not in row().detail


@pytest.mark.parametrize(
    ("status", "expected"), [(404, NOT_FOUND), (400, VALIDATION), (422, VALIDATION)]
)
@REVISIONS
def test_l4_hubspot(
    mcp: McpClient, hubspot: HubSpot, revision: Revision, status: int, expected: Any
) -> None:
    hubspot.say(status, {"message": "Property values were not valid."})
    arguments = {"text": "A note", "contact_id": "101"}
    assert (
        call_and_get_refusal(mcp.with_revision(revision), "hubspot.create_note", arguments)
        == expected
    )
    assert row().upstream_status == status


def test_a_404_of_hubspot_has_hubspot_s_sentence(mcp: McpClient, hubspot: HubSpot) -> None:
    hubspot.say(404, {"status": "error", "message": "Object 101 of type 0-1 was archived."})
    answer = mcp.call("hubspot.create_note", {"text": "A note", "contact_id": "101"}).error
    sentence = "HubSpot has no such record: Object 101 of type 0-1 was archived."
    assert (answer["code"], answer["message"]) == (-32601, sentence)


def test_a_404_of_hubspot_for_an_address_names_the_contact_and_has_hubspot_s_sentence(
    mcp: McpClient, hubspot: HubSpot
) -> None:
    hubspot.say(404, {"message": "resource not found, token=pat-eu1-abcdef123456"})
    arguments = {"text": "A note", "contact_email": "no@example.com"}
    answer = mcp.call("hubspot.create_note", arguments).error
    sentence = "HubSpot has no contact with this email: resource not found, token=***"
    assert (answer["code"], answer["message"]) == (-32601, sentence)


STRIPE = {
    "missing": (StripeReply(404, {"error": {"code": "resource_missing"}}), NOT_FOUND),
    "missing-400": (StripeReply(400, {"error": {"code": "resource_missing"}}), NOT_FOUND),
    "parameter": (
        StripeReply(
            400, {"error": {"type": "invalid_request_error", "param": "x", "message": "No."}}
        ),
        VALIDATION,
    ),
    "card": (
        StripeReply(402, {"error": {"type": "card_error", "message": "Declined."}}),
        (-32603, "integration_error", "integration"),
    ),
    "key": (
        StripeReply(400, {"error": {"type": "idempotency_error", "message": "Another key."}}),
        (-32603, "integration_error", "integration"),
    ),
}


@pytest.mark.parametrize(("reply", "expected"), STRIPE.values(), ids=STRIPE)
@REVISIONS
def test_l4_stripe(
    mcp: McpClient, stripe: Stripe, revision: Revision, reply: StripeReply, expected: Any
) -> None:
    stripe.misbehave = [reply]
    assert (
        call_and_get_refusal(
            mcp.with_revision(revision), "stripe.request_refund", {"payment": "ch_1"}
        )
        == expected
    )
    assert row().upstream_status == reply.status


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            StripeReply(
                404, {"error": {"code": "resource_missing", "message": "No such charge: 'ch_9'"}}
            ),
            "Stripe has nothing under this id: No such charge: 'ch_9'",
        ),
        (StripeReply(404, {}), "Stripe has nothing under this id."),
    ],
)
def test_a_404_of_stripe_has_stripe_s_sentence(
    mcp: McpClient, stripe: Stripe, reply: StripeReply, message: str
) -> None:
    stripe.misbehave = [reply]
    answer = mcp.call("stripe.request_refund", {"payment": "ch_9"}).error
    assert (answer["code"], answer["message"]) == (-32601, message)


def test_a_call_for_a_bound_customer_does_not_tell_what_is_missing_from_what_is_not_theirs(
    grant: Grant, stripe: Stripe
) -> None:
    """Stripe's sentence would say which ids exist."""
    customer = BoundCustomer("u_1", vendor_ids={"stripe": "cus_theirs"})
    theirs = stripe.charge(customer="cus_other")
    messages = []
    for payment in (theirs, "ch_missing"):
        with pytest.raises(NotFound) as failure:
            run(grant, "stripe.request_refund", {"payment": payment}, customer)
        messages.append(failure.value.message)
    assert messages == ["Stripe has nothing under this id."] * 2


LINEAR_SAYS: dict[str, tuple[Any, Any]] = {
    "missing": (linear_site.refusal("Entity not found: Team", "INPUT_ERROR", "No."), NOT_FOUND),
    "values": (linear_site.refusal("Argument Validation", "INPUT_ERROR", "Bad."), VALIDATION),
}


@pytest.fixture
def linear(grant: Grant, settings: Any) -> Iterator[Linear]:
    with site.serving(Linear()) as fake:
        settings.HALO_VENDOR_URLS = {"linear": fake.url}
        connect_toolset(grant, LINEAR, linear_site.KEY, default_team="ENG")
        yield fake


@pytest.mark.parametrize(("said", "expected"), LINEAR_SAYS.values(), ids=LINEAR_SAYS)
@REVISIONS
def test_l4_linear(
    mcp: McpClient, linear: Linear, revision: Revision, said: Any, expected: Any
) -> None:
    linear.refuse_creation(site.saying(said, 400))
    arguments = {"title": "Broken", "description": "It is broken."}
    assert (
        call_and_get_refusal(mcp.with_revision(revision), "linear.create_bug", arguments)
        == expected
    )


def test_a_missing_record_of_linear_is_answered_in_linear_s_words(
    mcp: McpClient, linear: Linear
) -> None:
    body = linear_site.refusal("Entity not found: Team", "INPUT_ERROR", "The team was deleted.")
    linear.refuse_creation(site.saying(body, 400))
    answer = mcp.call("linear.create_bug", {"title": "Broken", "description": "It is."}).error
    sentence = "Linear has no such record: The team was deleted."
    assert (answer["code"], answer["message"]) == (-32601, sentence)


@pytest.fixture
def slack(grant: Grant, settings: Any) -> Iterator[Slack]:
    fake = Slack()
    settings.HALO_VENDOR_URLS = {"slack": fake.url}
    connect(grant, "slack", fake, default_channel="#general")
    with serving(fake):
        yield fake


@pytest.mark.parametrize(
    ("error", "expected"), [("channel_not_found", NOT_FOUND), ("invalid_arguments", VALIDATION)]
)
@REVISIONS
def test_l4_slack(
    mcp: McpClient, slack: Slack, revision: Revision, error: str, expected: Any
) -> None:
    slack.say(200, {"ok": False, "error": error})
    assert (
        call_and_get_refusal(mcp.with_revision(revision), "slack.post_message", {"text": "Hello"})
        == expected
    )


@pytest.mark.parametrize(
    ("error", "code", "before"),
    [
        ("channel_not_found", -32601, "Slack has no such channel, or the bot cannot see it"),
        ("invalid_arguments", -32602, "Slack refused the values (invalid_arguments)"),
    ],
)
def test_what_slack_adds_to_an_error_is_part_of_the_answer(
    mcp: McpClient, slack: Slack, error: str, code: int, before: str
) -> None:
    metadata = {"messages": ["[ERROR] #general was renamed by xoxb-1234567890"]}
    slack.say(200, {"ok": False, "error": error, "response_metadata": metadata})
    answer = mcp.call("slack.post_message", {"text": "Hello"}).error
    assert answer["code"] == code
    assert answer["message"] == f"{before}: [ERROR] #general was renamed by ***"


@pytest.mark.parametrize("path", ["linear", "slack"])
def test_l4_a_404_where_the_address_names_no_record_is_a_failure_of_the_integration(
    path: str,
) -> None:
    failure = connection(path).judge(VendorResponse(404, {}, None))
    assert failure is not None
    assert failure.kind == "integration"
