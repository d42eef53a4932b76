"""Caps that an admin sets: for an action on the Ask AI agent, and for a whole organization."""

import asyncio
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from audit.models import ActionExecution
from foundation.admin_urls import row_url
from foundation.limits import Limit
from mcp_protocol.revisions import REVISIONS, Revision
from oauth.models import Authorization
from oauth.models import Client as OAuthApp
from tests.drivers.asgi import Wire
from tests.drivers.elicitation_client import ElicitationClient, accept, facts, requests_on
from tests.drivers.fixture_tools import NOTHING, TEXT
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.shown_forms import shown_values
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset
from tools_registry.models import ActionToggle
from workspace.models import Organization, User

pytestmark = pytest.mark.usefixtures("lab")
HEADERS = ("retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


def cap_action(grant: Grant, action: str, most: int | None) -> None:
    toggles = ActionToggle.objects.filter(agent__organization=grant.organization, action=action)
    assert toggles.update(calls_per_minute=most) == 1


def cap_organization(grant: Grant, most: int | None) -> None:
    Organization.objects.filter(pk=grant.organization.pk).update(calls_per_minute=most)


def second_client(grant: Grant) -> Grant:
    """Another connection in the same organization, by the same person through another client."""
    client = OAuthApp.objects.create(client_id=f"second-{grant.client.client_id}", name="Second")
    before = grant.authorization
    other = Authorization.objects.create(
        client=client,
        user=grant.user,
        organization=grant.organization,
        membership=grant.membership,
        scope=before.scope,
        resource=before.resource,
    )
    return Grant(grant.user, grant.organization, grant.membership, client, other)


def find(client: McpClient) -> Reply:
    return client.call("crm.find_contact")


def assert_refused(reply: Reply, detail: str, most: int) -> Reply:
    """The reply, once it tells all of a 429 and the record says which limit it was."""
    assert reply.status == 429
    assert reply.error["data"] == {"reason": "rate_limited", "layer": "rate_limit"}
    retry, limit, remaining, reset = (int(reply.headers[name]) for name in HEADERS)
    assert (limit, remaining) == (most, 0)
    assert 0 < retry <= 120
    assert reset > 1_767_268_800
    row = ActionExecution.objects.latest("id")
    assert (row.outcome, row.reason, row.detail) == ("rate_limited", "rate_limited", detail)
    return reply


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_capped_action_is_refused_beyond_its_cap(grant: Grant, revision: Revision) -> None:
    grant.connect("crm", enabled=("find_contact",))
    cap_action(grant, "find_contact", 2)
    mcp = McpClient(grant.token(), revision)
    assert [find(mcp).status for _ in range(2)] == [200, 200]
    reply = assert_refused(find(mcp), "action", 2)
    assert reply.code == (-31002 if revision is Revision.V2026_07_28 else -32002)
    row = ActionExecution.objects.latest("id")
    assert (row.tool, row.integration, row.action) == ("crm.find_contact", "crm", "find_contact")


def test_a_cap_is_its_actions_and_its_organizations_own(mcp: McpClient, grant: Grant) -> None:
    stranger = make_grant()
    for one in (grant, stranger):
        one.connect("crm", enabled=("find_contact", "create_deal"))
        cap_action(one, "find_contact", 1)
    assert find(mcp).status == 200
    assert_refused(find(mcp), "action", 1)
    assert mcp.call("crm.create_deal").facts == {"deal": "d1"}
    assert find(McpClient(stranger.token())).status == 200


def test_t02_all_connections_of_an_organization_share_the_cap_of_an_action(grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact",))
    cap_action(grant, "find_contact", 1)
    assert find(McpClient(grant.token())).status == 200
    assert_refused(find(McpClient(grant.token())), "action", 1)
    assert_refused(find(McpClient(second_client(grant).token())), "action", 1)


def test_a_call_that_the_gate_refuses_costs_the_action_nothing(grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact",))
    cap_action(grant, "find_contact", 1)
    narrow = McpClient(grant.token("docs:read"))
    assert [find(narrow).status for _ in range(3)] == [403, 403, 403]
    assert find(McpClient(grant.token())).status == 200


def test_a_cap_holds_from_the_next_request_and_is_gone_with_it(
    mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("find_contact",))
    assert find(mcp).status == 200
    cap_action(grant, "find_contact", 1)
    assert find(mcp).status == 200
    assert_refused(find(mcp), "action", 1)
    cap_action(grant, "find_contact", None)
    assert find(mcp).status == 200


DESK = Toolset(integration="desk", title="Desk")


@DESK.tool(title="Two rounds", description="Asks twice.", input_schema=NOTHING)
def two_rounds(context: ToolContext, _arguments: Arguments) -> Facts:
    first = context.ask_form("first", "Your name?", {"name": TEXT})
    return Facts({**first, **context.ask_form("second", "Colour?", {"colour": TEXT})})


def test_a_call_that_asks_counts_once_however_often_it_goes_on(
    grant: Grant, elicitation_client: ElicitationClient
) -> None:
    grant.connect("desk", enabled=("two_rounds",))
    cap_action(grant, "two_rounds", 1)

    async def script() -> Wire:
        async with elicitation_client.call("desk.two_rounds") as wire:
            (first,) = await requests_on(wire)
            assert await elicitation_client.answer(first, accept(name="Ada")) == 202
            _, second = await requests_on(wire, 2)
            assert await elicitation_client.answer(second, accept(colour="red")) == 202
        return wire

    with registry.including(DESK):
        assert facts(asyncio.run(script())) == {"name": "Ada", "colour": "red"}
        assert_refused(elicitation_client.client.call("desk.two_rounds"), "action", 1)


def test_t02_all_connections_of_an_organization_share_its_cap(grant: Grant) -> None:
    cap_organization(grant, 2)
    one, other = McpClient(grant.token()), McpClient(second_client(grant).token())
    assert [client.call("setup_get_jwt_sample").status for client in (one, other)] == [200, 200]
    assert_refused(one.call("search_docs", {"query": "x"}), "organization", 2)
    assert_refused(McpClient(grant.token()).call("nope"), "organization", 2)
    assert McpClient(make_grant().token()).call("setup_get_jwt_sample").status == 200


def test_an_organizations_cap_counts_calls_only(mcp: McpClient, grant: Grant) -> None:
    cap_organization(grant, 1)
    assert [mcp.request(method).status for method in ("ping", "tools/list") * 2] == [200] * 4
    assert mcp.call("setup_get_jwt_sample").status == 200
    assert mcp.request("ping").status == 200
    assert_refused(mcp.call("setup_get_jwt_sample"), "organization", 1)


def test_a_spent_organization_that_goes_on_asking_uses_up_its_address(
    mcp: McpClient, grant: Grant, settings: Any
) -> None:
    cap_organization(grant, 1)
    settings.HALO_RATE_IP = Limit(4, 60)
    assert mcp.call("setup_get_jwt_sample").status == 200
    for _ in range(3):
        assert_refused(mcp.call("setup_get_jwt_sample"), "organization", 1)
    rows = ActionExecution.objects.count()
    assert mcp.call("setup_get_jwt_sample").status == 429
    assert mcp.call("setup_get_jwt_sample").status == 429
    assert ActionExecution.objects.count() <= rows + 1


@pytest.mark.parametrize("limit", ["token", "ip"])
def test_the_record_says_which_limit_it_was(mcp: McpClient, settings: Any, limit: str) -> None:
    setting = {"token": "HALO_RATE_OTHER", "ip": "HALO_RATE_IP"}[limit]
    setattr(settings, setting, Limit(1, 60))
    other = McpClient(make_grant().token()) if limit == "ip" else mcp
    assert mcp.request("ping").status == 200
    assert_refused(other.request("ping"), limit, 1)


@pytest.fixture
def admin(client: Client, grant: Grant) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def save(admin: Client, address: str, **changes: str) -> Any:
    """Send a form of the admin as its page offers it, with some fields changed."""
    page: Any = admin.get(address)
    forms = [page.context["adminform"].form]
    for inline in page.context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.initial_forms]
    shown = {field.html_name: field.value() for form in forms for field in form}
    kept = {
        name: value for name, value in shown.items() if value is not None and value is not False
    }
    return admin.post(address, shown_values(admin, address) | kept | changes)


def organization_url(grant: Grant) -> str:
    return row_url(grant.organization)


def toggle_url(grant: Grant) -> str:
    toggle = ActionToggle.objects.get(agent__organization=grant.organization)
    return row_url(toggle)


def test_an_admin_caps_an_action_for_the_next_call_and_it_is_in_the_history(
    admin: Client, mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("find_contact",))
    assert save(admin, toggle_url(grant), calls_per_minute="1").status_code == 302
    assert find(mcp).status == 200
    assert_refused(find(mcp), "action", 1)
    history = admin.get(toggle_url(grant).replace("change", "history"))
    assert "Calls a minute" in history.content.decode()


def test_an_admin_caps_an_organization_for_the_next_call_and_it_is_in_the_history(
    admin: Client, mcp: McpClient, grant: Grant
) -> None:
    assert save(admin, organization_url(grant), calls_per_minute="1").status_code == 302
    assert mcp.call("setup_get_jwt_sample").status == 200
    assert_refused(mcp.call("setup_get_jwt_sample"), "organization", 1)
    assert save(admin, organization_url(grant), calls_per_minute="").status_code == 302
    assert mcp.call("setup_get_jwt_sample").status == 200
    history = admin.get(organization_url(grant).replace("change", "history"))
    assert "Calls a minute" in history.content.decode()


@pytest.mark.parametrize("typed", ["0", "-1", "1000001", "1.5", "many", "9" * 40])
@pytest.mark.parametrize("address", [toggle_url, organization_url])
def test_what_can_be_no_cap_is_reported_and_not_taken(
    admin: Client, grant: Grant, address: Any, typed: str
) -> None:
    grant.connect("crm", enabled=("find_contact",))
    answer = save(admin, address(grant), calls_per_minute=typed)
    assert answer.status_code == 200
    assert "calls_per_minute" in answer.context["adminform"].form.errors
    assert not ActionToggle.objects.exclude(calls_per_minute=None).exists()
    assert not Organization.objects.exclude(calls_per_minute=None).exists()


@pytest.mark.parametrize("most", [0, 1_000_001])
def test_nothing_else_writes_a_cap_that_can_be_none(grant: Grant, most: int) -> None:
    grant.connect("crm", enabled=("find_contact",))
    with pytest.raises(IntegrityError), transaction.atomic():
        cap_action(grant, "find_contact", most)
    with pytest.raises(IntegrityError), transaction.atomic():
        cap_organization(grant, most)
