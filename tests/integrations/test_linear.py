"""Linear over MCP, against a fake vendor that validates every request against Linear's schema."""

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import time_machine

from audit.models import ActionExecution
from integrations import linear
from integrations.linear import TOOLSET, judge, waits
from mcp_protocol.revisions import HANDSHAKE, Revision
from tests.drivers.fake_vendors import linear as fake
from tests.drivers.fake_vendors.connected import connect_toolset
from tests.drivers.fake_vendors.linear import (
    BUG,
    DECOY,
    ENG,
    IDEA,
    OPS,
    URGENT,
    Linear,
    rate_limit_answer,
)
from tests.drivers.fake_vendors.site import GARBAGE, resetting, saying, sending
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry import vendors
from tools_registry.api import (
    IntegrationFailure,
    ToolContext,
    Unauthorized,
    VendorAccount,
    VendorResponse,
)
from tools_registry.pipeline.calls import ORGANIZATION_FACTS

SETTINGS = {"default_team": "ENG", "bug_label": "Bug", "feature_label": "Idea"}
BASICS = {"title": "Login fails", "description": "It says 500.\n\nSteps: sign in."}
AS_RESULT = (Revision.V2025_11_25, Revision.V2026_07_28)


@pytest.fixture
def vendor(settings: Any) -> Iterator[Linear]:
    with fake.serving() as serving:
        settings.HALO_VENDOR_URLS = {"linear": serving.url}
        yield serving


@pytest.fixture
def office(grant: Grant, vendor: Linear) -> Grant:  # noqa: ARG001  the place that is connected
    connect_toolset(grant, TOOLSET, fake.KEY, **SETTINGS)
    return grant


@pytest.fixture
def client(office: Grant) -> McpClient:
    return McpClient(office.token())


def row() -> ActionExecution:
    return ActionExecution.objects.latest("id")


def bug(client: McpClient, **given: Any) -> Reply:
    return client.call("linear.create_bug", {**BASICS, **given})


def invalid(reply: Reply) -> tuple[str, str]:
    """The field and the reason of a refusal for its arguments."""
    assert (reply.status, reply.code) == (200, -32602)
    return reply.error["data"]["field"], reply.error["data"]["reason"]


@pytest.mark.parametrize("revision", [Revision.V2025_06_18, *AS_RESULT], ids=str)
def test_tools_of_an_integration_have_its_icon(client: McpClient, revision: Revision) -> None:
    listed = client.with_revision(revision).request("tools/list").result["tools"]
    icons = {tool["name"]: tool.get("icons", []) for tool in listed}
    if revision not in AS_RESULT:
        assert not any(icons.values())
        return
    [icon] = icons["linear.create_bug"]
    assert (icon["mimeType"], icon["sizes"]) == ("image/png", ["32x32"])
    assert icon["src"].startswith("data:image/png;base64,iVBOR")
    assert icons["search_docs"] == []


@pytest.mark.parametrize(
    ("tool", "mark"), [("create_bug", BUG), ("create_feature_request", IDEA)], ids=["bug", "wish"]
)
def test_an_issue_is_filed_with_the_team_and_the_label_of_the_settings(
    client: McpClient, vendor: Linear, tool: str, mark: dict[str, Any]
) -> None:
    facts = client.call(f"linear.{tool}", BASICS).facts
    (sent,) = vendor.inputs
    assert UUID(sent.pop("id")).version == 4
    assert sent == {**BASICS, "teamId": ENG["id"], "labelIds": [mark["id"]]}
    (issue,) = vendor.issues
    assert facts == {name: issue[name] for name in ("identifier", "title", "url")}
    assert (row().outcome, row().tool) == ("success", f"linear.{tool}")


def test_what_the_caller_names_goes_before_the_settings(client: McpClient, vendor: Linear) -> None:
    bug(client, team="eng", priority="urgent", labels=["customer WAITS", "bug"])
    (sent,) = vendor.inputs
    assert sent["priority"] == 1
    assert sent["labelIds"] == [BUG["id"], URGENT["id"]]


@pytest.mark.parametrize(
    ("asked", "team"),
    [("OPS", OPS), ("ops", OPS), (" Operations ", OPS), ("DEC", DECOY)],
    ids=["key", "key-in-small", "name", "name-like-a-key"],
)
def test_a_team_is_found_by_its_key_before_its_name(
    client: McpClient, vendor: Linear, asked: str, team: dict[str, str]
) -> None:
    bug(client, team=asked)
    assert vendor.inputs[0]["teamId"] == team["id"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [("Nobody", "must be the key"), ("Twins", "several teams"), ('"}) { x', "must be the key")],
    ids=["unknown", "ambiguous", "graphql"],
)
def test_a_team_that_is_none_or_many_is_refused_by_its_field(
    client: McpClient, vendor: Linear, asked: str, message: str
) -> None:
    field, reason = invalid(bug(client, team=asked))
    assert field == "team"
    assert message in reason
    assert reason.endswith(". There are: ENG, OPS, TW3, TW4, DEC")
    assert vendor.inputs == []


@pytest.mark.parametrize(
    "name", ["Nonsense", "Nightly", "Area"], ids=["unknown", "another-teams", "group"]
)
def test_a_label_that_the_team_cannot_use_is_refused_by_its_field(
    client: McpClient, vendor: Linear, name: str
) -> None:
    assert invalid(bug(client, labels=["Bug", name])) == (
        "labels",
        f"names no label of the team: {name}. There are: Bug, Idea, Customer waits",
    )
    assert vendor.inputs == []


def test_a_list_of_what_there_is_says_where_it_is_cut(client: McpClient, vendor: Linear) -> None:
    vendor.page = 1
    assert invalid(bug(client, team="Nobody"))[1].endswith(". There are: ENG …")
    vendor.page = 50
    vendor.labels += [fake.label(100 + number, f"Label {number:040}") for number in range(20)]
    reason = invalid(bug(client, labels=["Nonsense"]))[1]
    assert reason.endswith(" …")
    assert len(reason) < 600


def test_a_list_of_nothing_says_so(client: McpClient, vendor: Linear) -> None:
    vendor.teams = []
    assert invalid(bug(client, team="ENG"))[1].endswith(". There are: none")


def test_teams_and_labels_are_looked_for_on_every_page(client: McpClient, vendor: Linear) -> None:
    vendor.page = 1
    bug(client, team="ops", labels=["Nightly", "Idea"])
    assert len(vendor.inputs[0]["labelIds"]) == 3
    pages = [seen.json["variables"].get("after") for seen in vendor.seen]
    assert pages.count("1") == 2
    assert pages.count("2") == 1


def test_a_list_that_never_ends_is_given_up(client: McpClient, vendor: Linear) -> None:
    page = {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "9"}}
    vendor.script(*[saying({"data": {"teams": page}})] * 40)
    assert bug(client).error["message"] == "Linear's response did not end. Nothing was changed."
    assert len(vendor.seen) == linear.MAX_PAGES


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ({}, "no default team is set"),
        ({"default_team": "GONE"}, "default team of the connection"),
        ({"default_team": "ENG", "bug_label": "Gone"}, "label Gone of the connection's settings"),
    ],
    ids=["no-team", "team-gone", "label-gone"],
)
def test_settings_that_lead_nowhere_are_said_so(
    grant: Grant, vendor: Linear, kept: dict[str, str], message: str
) -> None:
    connect_toolset(grant, TOOLSET, fake.KEY, **kept)
    assert message in bug(McpClient(grant.token())).error["message"]
    assert vendor.inputs == []


def test_without_labels_no_label_is_looked_for(grant: Grant, vendor: Linear) -> None:
    connect_toolset(grant, TOOLSET, fake.KEY, default_team="ENG")
    assert bug(McpClient(grant.token())).facts["identifier"] == "ENG-1"
    assert vendor.inputs[0]["labelIds"] == []
    assert len(vendor.seen) == 2


def test_two_calls_file_two_issues(client: McpClient, vendor: Linear) -> None:
    assert bug(client).facts != bug(client).facts
    assert len({issue["id"] for issue in vendor.issues}) == 2


@pytest.mark.parametrize(
    "lost",
    [saying({}, 502), resetting, GARBAGE, saying({"data": {"issueCreate": None}})],
    ids=["502", "reset", "garbage", "null"],
)
def test_an_issue_whose_answer_is_lost_is_filed_once_and_found(
    client: McpClient, vendor: Linear, lost: Any
) -> None:
    vendor.lose_creation(lost)
    assert bug(client).facts["identifier"] == "ENG-1"
    assert len(vendor.issues) == 1
    first, second = vendor.inputs
    assert first == second


def test_a_creation_that_fails_is_sent_once_more(client: McpClient, vendor: Linear) -> None:
    vendor.refuse_creation(saying({}, 503))
    assert bug(client).facts["identifier"] == "ENG-1"


def test_a_creation_that_fails_twice_has_failed(client: McpClient, vendor: Linear) -> None:
    vendor.refuse_creation(saying({}, 503), saying({}, 503))
    assert bug(client).code == -32603
    assert (row().outcome, row().upstream_status) == ("integration_error", 503)


USAGE = fake.refusal("x", "USAGE_LIMIT", "Upgrade\u0007 to\n file more.")
REFUSALS = {
    "usage": (saying(USAGE, 400), -32603, "Linear refused: Upgrade  to  file more."),
    "200": (saying(USAGE, 200), -32603, "Linear refused: Upgrade  to  file more."),
    "forbidden": (saying(fake.refusal("no", "FORBIDDEN"), 403), -32002, "may not do this"),
    "long": (saying(fake.refusal("x", "E", "y" * 5000), 400), -32603, "y" * 200),
    "key": (saying(fake.refusal("x", "AUTHENTICATION_ERROR"), 400), -32002, "API key"),
    "401": (saying({}, 401), -32002, "refused the organization's credential"),
}


@pytest.mark.parametrize(("said", "code", "message"), REFUSALS.values(), ids=REFUSALS)
def test_what_linear_refuses_is_reported_in_short_and_not_sent_again(
    client: McpClient, vendor: Linear, said: Any, code: int, message: str
) -> None:
    vendor.refuse_creation(said)
    reply = bug(client)
    assert reply.code == code
    assert message in reply.error["message"]
    assert len(reply.error["message"]) < 250
    assert (row().outcome, len(vendor.inputs)) == ("integration_error", 1)


def test_a_key_that_linear_does_not_know_is_unauthorized(grant: Grant, vendor: Linear) -> None:
    connect_toolset(grant, TOOLSET, "lin_api_revoked", **SETTINGS)
    for revision in HANDSHAKE:
        reply = bug(McpClient(grant.token(), revision))
        assert "lin_api_revoked" not in reply.body.decode()
        assert (row().outcome, row().reason) == ("integration_error", "unauthorized")
    assert vendor.issues == []


@pytest.mark.parametrize("budget", ["Requests", "Complexity", "Endpoint-Requests"])
def test_one_request_too_many_is_reported_as_that(
    client: McpClient, vendor: Linear, budget: str
) -> None:
    vendor.refuse_creation(rate_limit_answer(budget, 3600))
    assert "Linear's rate limit is reached." in bug(client).error["message"]
    assert len(vendor.inputs) == 1


def test_a_budget_that_is_soon_full_again_is_waited_for(client: McpClient, vendor: Linear) -> None:
    vendor.refuse_creation(rate_limit_answer("Requests", 0.05))
    assert bug(client).facts["identifier"] == "ENG-1"
    assert len(vendor.inputs) == 2


UNREADABLE = {
    "garbage": GARBAGE,
    "empty": sending(b""),
    "list": saying([1]),
    "no-data": saying({"data": None}),
    "no-nodes": saying({"data": {"teams": {}}}),
    "null-nodes": saying({"data": {"teams": {"nodes": None}}}),
    "strange-node": saying({"data": {"teams": {"nodes": [5]}}}),
    "half-a-node": saying({"data": {"teams": {"nodes": [{"id": "1"}]}}}),
    "numbers": saying({"data": {"teams": {"nodes": [{"id": 1, "key": 2, "name": 3}]}}}),
    "strange-errors": saying({"errors": "all of it"}),
    "strange-error": saying({"errors": [5]}),
    "strange-extensions": saying({"errors": [{"message": 5, "extensions": []}]}),
    "500": saying({"data": {"teams": {"nodes": []}}}, 500),
    "404": sending(b"<html>", 404),
}


@pytest.mark.parametrize("said", UNREADABLE.values(), ids=UNREADABLE)
def test_an_answer_that_makes_no_sense_is_a_failure_of_the_integration(
    client: McpClient, vendor: Linear, said: Any
) -> None:
    vendor.script(said)
    assert bug(client).code == -32603
    assert (row().outcome, row().reason) == ("integration_error", "integration")
    assert vendor.issues == []


@pytest.mark.parametrize("revision", AS_RESULT, ids=str)
def test_a_refusal_is_a_result_where_the_revision_has_it_so(
    client: McpClient, vendor: Linear, revision: Revision
) -> None:
    reply = bug(client.with_revision(revision), team="Nobody")
    assert reply.result["isError"] is True
    message = json.loads(reply.result["content"][0]["text"])
    assert (message["code"], message["field"]) == (-32602, "team")
    assert vendor.inputs == []


CUSTOMERS: dict[str, tuple[dict[str, str], str]] = {
    "named": ({"name": "Eve", "external_id": "u_7", "email": "eve@acme.example"}, r"Eve (u_7)"),
    "nameless": ({"external_id": "u-8", "email": "eve@acme.example"}, "u-8"),
    "hostile": ({"name": "![x](http://e)#<@a>", "external_id": "9"}, "![x](http://e)#<@a> (9)"),
}


@pytest.mark.parametrize(("facts", "message"), CUSTOMERS.values(), ids=CUSTOMERS)
def test_the_bound_customer_is_named_in_plain_text_and_without_an_address(
    office: Grant, client: McpClient, vendor: Linear, facts: dict[str, str], message: str
) -> None:
    customer = office.customer(**facts)
    client.call("linear.create_bug", BASICS, meta={"bound_end_user_id": customer.id})
    head, _, last = vendor.inputs[0]["description"].partition("\n\n---\nCustomer: ")
    assert head == BASICS["description"]
    assert re.sub(r"\\(.)", r"\1", last) == message
    assert re.search(r"(?<!\\)[!\[\](<>#_@]", last) is None
    assert "acme.example" not in last


@pytest.mark.parametrize(
    ("description", "end"),
    [
        ("```\nTraceback", "\n```"),
        ("~~~~ python\nx\n~~~", "\n~~~~"),
        ("```\nx\n```\nSo.", ""),
        ("``` is ``` inline", ""),
        ("```\n~~~\n``` no end", "\n```"),
    ],
    ids=["open", "longer", "closed", "inline", "other-fence"],
)
def test_the_customer_is_outside_a_block_of_code_that_was_left_open(
    office: Grant, client: McpClient, vendor: Linear, description: str, end: str
) -> None:
    customer = office.customer(external_id="u1")
    arguments = {**BASICS, "description": description}
    client.call("linear.create_bug", arguments, meta={"bound_end_user_id": customer.id})
    head, _, last = vendor.inputs[0]["description"].partition("\n\n---\nCustomer: ")
    assert (head, last) == (description + end, "u1")


def test_a_customer_with_nothing_but_an_address_is_reported_by_id(
    office: Grant, client: McpClient, vendor: Linear
) -> None:
    customer = office.customer(email="eve@acme.example")
    client.call("linear.create_bug", BASICS, meta={"bound_email": "eve@acme.example"})
    assert vendor.inputs[0]["description"].endswith(customer.id.replace("_", "\\_"))


def test_a_call_that_runs_again_finds_what_it_has_filed(office: Grant, vendor: Linear) -> None:
    def file_bug(call_id: str) -> Any:
        context = ToolContext(
            organization_id=str(office.organization.pk),
            user_id=str(office.user.pk),
            public_url="",
            workspace=ORGANIZATION_FACTS,
            call_id=call_id,
            vendor=vendors.get_vendor(office.organization.pk, "linear"),
        )
        return linear.create_bug(context, **BASICS)

    assert file_bug("a" * 32) == file_bug("a" * 32)
    assert len(vendor.issues) == 1
    assert file_bug("b" * 32) != file_bug("a" * 32)
    assert len(vendor.issues) == 2


def test_the_check_says_which_workspace_it_is_and_whose_key(office: Grant) -> None:
    vendor = vendors.get_vendor(office.organization.pk, "linear")
    assert linear.check(vendor) == VendorAccount("Linear workspace Acme as Ada", "o1")


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ({"default_team": "GONE"}, "default team of the connection"),
        ({"default_team": "ENG", "bug_label": "Gone"}, "label Gone of the connection's settings"),
    ],
    ids=["team", "label"],
)
def test_the_check_names_settings_that_linear_does_not_have(
    grant: Grant, vendor: Linear, kept: dict[str, str], message: str
) -> None:
    connect_toolset(grant, TOOLSET, fake.KEY, **kept)
    said = linear.check(vendors.get_vendor(grant.organization.pk, "linear"))
    (sentence,) = said.wrong_settings
    assert message in sentence
    assert vendor.inputs == []


def test_a_check_with_a_wrong_key_is_unauthorized(grant: Grant, vendor: Linear) -> None:
    connect_toolset(grant, TOOLSET, f"Bearer {fake.KEY}")
    with pytest.raises(Unauthorized):
        linear.check(vendors.get_vendor(grant.organization.pk, "linear"))
    assert len(vendor.seen) == 1


@pytest.mark.parametrize("viewer", [None, {}, {"name": 5}, [], {"name": "x", "organization": 1}])
def test_a_check_that_makes_no_sense_fails(office: Grant, vendor: Linear, viewer: Any) -> None:
    vendor.script(saying({"data": {"viewer": viewer}}))
    with pytest.raises(IntegrationFailure):
        linear.check(vendors.get_vendor(office.organization.pk, "linear"))


def answer(status: int = 400, code: str = "RATELIMITED", **headers: str) -> VendorResponse:
    named = {f"x-ratelimit-{name.replace('_', '-')}": message for name, message in headers.items()}
    return VendorResponse(status, named, fake.refusal("x", code))


NOW = 1_800_000_000


def time_after(seconds: int) -> str:
    return str((NOW + seconds) * 1000)


WAITS = {
    "requests": ({"requests_remaining": "0", "requests_reset": time_after(1000)}, 1000),
    "the-other": ({"requests_remaining": "5", "requests_reset": time_after(1000)}, 1),
    "both": (
        {
            "requests_remaining": "0",
            "requests_reset": time_after(1000),
            "complexity_remaining": "0",
            "complexity_reset": time_after(2000),
        },
        2000,
    ),
    "over": ({"requests_remaining": "0", "requests_reset": "1"}, 0),
    "no-header": ({}, 1),
    "no-number": ({"requests_remaining": "0", "requests_reset": "soon"}, 1),
    "strange-digits": ({"requests_remaining": "0", "requests_reset": "²"}, 1),
    "endless": ({"requests_remaining": "0", "requests_reset": "9" * 5000}, 1),
}


@pytest.mark.parametrize(("headers", "seconds"), WAITS.values(), ids=WAITS)
def test_a_spent_budget_says_when_it_is_full_again(headers: dict[str, str], seconds: int) -> None:
    with time_machine.travel(NOW, tick=False):
        assert waits(answer(**headers)) == seconds


@pytest.mark.parametrize("code", ["INPUT_ERROR", "", "AUTHENTICATION_ERROR"])
def test_nothing_else_is_waited_for(code: str) -> None:
    assert waits(answer(429, code)) is None
    assert waits(VendorResponse(400, {}, None)) is None
    assert waits(VendorResponse(200, {}, {"data": {}})) is None


def test_a_success_is_no_failure() -> None:
    assert judge(VendorResponse(200, {}, {"data": {}})) is None
    assert judge(VendorResponse(204, {}, None)) is not None
