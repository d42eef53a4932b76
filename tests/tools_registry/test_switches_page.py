"""The page where an admin turns the switches: what it shows, what a click does, who may."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from audit.models import SecurityEvent
from foundation.admin_urls import page_url
from tests.console import markup
from tests.drivers import switches_page
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.switches_page import SwitchesPage
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace import organizations
from workspace.models import AgentKind, FeatureFlag, User

pytestmark = pytest.mark.usefixtures("lab")

FLAG, MODE = "MCP server", "Actions mode of CRM"
FIND, CREATE = "Find a contact", "Create a deal"
EVERY_RIGHT = (
    "view_integrationmode",
    "view_actiontoggle",
    "change_integrationmode",
    "change_actiontoggle",
    "change_featureflag",
)
FORMS = {
    "change_featureflag": {"switch": "flag:mcp_server", "to": "off", "confirmed": "1"},
    "change_integrationmode": {"switch": "mode:crm", "to": "off"},
    "change_actiontoggle": {"switch": "action:crm.find_contact", "to": "on"},
}


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def staff(*rights: str) -> User:
    user = User.objects.create_user("clerk@halo.example", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    return user


@pytest.fixture
def admin(grant: Grant) -> Client:  # noqa: ARG001  asked for: it opens the database
    return browser_of(User.objects.create_superuser("root@halo.example"))


@pytest.fixture
def board(admin: Client, grant: Grant) -> SwitchesPage:
    return SwitchesPage(admin, grant.organization.pk)


def test_every_action_of_every_integration_is_there_before_any_row_is(board: SwitchesPage) -> None:
    assert not IntegrationMode.objects.exists()
    found = board.switches(q="crm.")
    assert found == {FLAG: True, MODE: True, CREATE: False, FIND: False}
    assert "Not connected" in board.read(q="crm.").text


def test_a_destructive_action_is_shown_without_a_switch(board: SwitchesPage) -> None:
    row = next(
        one for one in board.read() if one.attributes.get("id") == "action-crm.delete_contact"
    )
    assert "Destructive: never allowed over MCP" in row.text
    assert row.all("form") == []


def test_one_click_each_lets_a_client_see_and_call_a_tool_and_takes_it_away(
    board: SwitchesPage, mcp: McpClient, grant: Grant
) -> None:
    IntegrationMode.objects.create(
        organization=grant.organization, integration="crm", connection=ConnectionState.CONNECTED
    )
    assert "crm.find_contact" not in mcp.tool_names()
    assert "Turned on: crm.find_contact" in board.press(FIND).text
    assert mcp.call("crm.find_contact").facts == {"contact": "c1"}
    for switch, reason in ((MODE, "integration_disabled"), (FLAG, "feature_disabled")):
        board.press(switch)
        assert mcp.call("crm.find_contact").error["data"]["reason"] == reason
        board.press(switch)
        assert "crm.find_contact" in mcp.tool_names()
    board.press(FIND)
    assert mcp.call("crm.find_contact").error["data"]["reason"] == "agent_disabled"


def test_connection_and_last_error_are_shown(board: SwitchesPage, grant: Grant) -> None:
    grant.connect("crm", connection=ConnectionState.FAILING)
    IntegrationMode.objects.update(last_error="The vendor <b>refused</b> the credential.")
    panel = board.read().one("section", id="mode-crm")
    assert "Failing" in panel.text
    assert "The vendor <b>refused</b> the credential." in panel.text


@pytest.mark.parametrize(
    "words", ["find", "FIND contact", "crm.find_contact", "a contact find", "fínd"]
)
def test_a_search_leaves_what_has_all_its_words(board: SwitchesPage, words: str) -> None:
    assert FIND in board.switches(q=words)
    assert CREATE not in board.switches(q=words)


def test_a_search_for_nothing_there_says_so(board: SwitchesPage) -> None:
    assert "No matching actions." in board.read(q="zzz\0<script>").text


def test_what_the_search_shows_is_turned_at_once_and_nothing_else(board: SwitchesPage) -> None:
    board.send(switch="shown:", to="on", q="contact", confirmed="1")
    assert board.switches(q="crm.") == {FLAG: True, MODE: True, CREATE: False, FIND: True}
    board.send(switch="shown:crm", to="on", q="crm.", confirmed="1")
    assert board.switches(q="crm.")[CREATE]
    board.send(switch="shown:", to="off", q="", confirmed="1")
    assert not ActionToggle.objects.filter(enabled=True).exists()
    assert not ActionToggle.objects.filter(action="delete_contact").exists()


def test_turning_all_of_one_integration_leaves_the_others(board: SwitchesPage) -> None:
    board.send(switch="shown:erp", to="on", confirmed="1")
    assert not ActionToggle.objects.exists()


def test_the_page_stays_where_it_was(board: SwitchesPage) -> None:
    reply = board.send(switch="action:crm.find_contact", to="on", q="contact")
    assert reply.headers["location"] == f"{board.path}?q=contact#action-crm.find_contact"


def test_a_form_that_was_left_open_turns_nothing_the_other_way(board: SwitchesPage) -> None:
    for _ in range(2):
        board.send(switch="action:crm.find_contact", to="on")
    assert board.switches(q="find")[FIND]
    assert ActionToggle.objects.count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"switch": "action:crm.find_contact"},
        {"switch": "action:crm.find_contact", "to": "maybe"},
        {"switch": "action:crm.delete_contact", "to": "on"},
        {"switch": "action:crm.no_such", "to": "on"},
        {"switch": "action:search_docs", "to": "on"},
        {"switch": "action:\0", "to": "on"},
        {"switch": "mode:no_such", "to": "off"},
        {"switch": "flag:no_such", "to": "off"},
        {"switch": "bogus:crm", "to": "off"},
    ],
    ids=str,
)
def test_a_form_that_names_no_switch_is_refused(
    board: SwitchesPage, fields: dict[str, str]
) -> None:
    assert board.send(**fields).status_code == 400
    assert not ActionToggle.objects.exists()
    assert not LogEntry.objects.exists()


def test_each_agent_has_its_own_switches_and_mcp_goes_by_ask_ai(
    board: SwitchesPage, grant: Grant
) -> None:
    other = grant.organization.agents.create(kind=AgentKind.INTERNAL, name="Night shift")
    board.press(FIND, agent=str(other.pk))
    assert board.switches(agent=str(other.pk))[FIND]
    assert not board.switches()[FIND]
    assert "MCP calls use the switches of the Ask AI agent" in board.read(agent=str(other.pk)).text


def test_an_agent_of_another_organization_is_not_found_here(board: SwitchesPage) -> None:
    theirs = make_grant().organization.agents.get()
    assert board.browser.get(f"{board.path}?agent={theirs.pk}").status_code == 404
    sent = {"switch": "action:crm.find_contact", "to": "on", "agent": str(theirs.pk)}
    assert board.send(**sent).status_code == 404
    assert not ActionToggle.objects.exists()


def test_an_organization_that_is_not_there_is_not_found(admin: Client) -> None:
    path = switches_page.path_of("00000000-0000-0000-0000-000000000000")
    assert admin.get(path).status_code == 404


def test_the_index_of_the_admin_leads_there_in_one_click(
    admin: Client, board: SwitchesPage
) -> None:
    link = markup.read(admin.get("/admin/").content).one("a", href=switches_page.INDEX)
    assert link.text == "Integrations and their switches"
    assert admin.get(switches_page.INDEX).headers["location"] == board.path


def test_several_organizations_are_a_list_to_choose_from(
    admin: Client, board: SwitchesPage
) -> None:
    make_grant()
    page = markup.read(admin.get(switches_page.INDEX).content)
    assert page.one("a", href=board.path)
    narrowed = markup.read(admin.get(switches_page.INDEX, {"q": "zzz\0"}).content)
    assert "No matching organizations." in narrowed.text


def test_the_page_of_an_organization_leads_to_its_switches(
    admin: Client, board: SwitchesPage
) -> None:
    page = admin.get(page_url("workspace_organization_change", board.organization_id))
    assert markup.read(page.content).one("a", href=board.path).text == "Switches"


@pytest.mark.parametrize("right", [pytest.param(right, id=f"S01-{right}") for right in FORMS])
def test_staff_turn_what_they_have_the_permission_for_and_nothing_else(
    grant: Grant, right: str
) -> None:
    rights = {*EVERY_RIGHT} - {right}
    board = SwitchesPage(browser_of(staff(*rights)), grant.organization.pk)
    turned = {name: board.send(**fields).status_code for name, fields in FORMS.items()}
    assert turned == {name: 403 if name == right else 302 for name in FORMS}
    assert SecurityEvent.objects.filter(kind="admin_refused").count() == 1


def test_staff_who_may_only_look_see_no_switch(grant: Grant) -> None:
    board = SwitchesPage(
        browser_of(staff("view_integrationmode", "view_actiontoggle")), grant.organization.pk
    )
    assert board.switches() == {}
    assert board.read().all("button", name="to") == []
    assert FIND in board.read().text


@pytest.mark.parametrize("path", ["board", "index", "why"])
def test_staff_without_the_permission_to_look_are_refused(grant: Grant, path: str) -> None:
    paths = {"board": switches_page.path_of(grant.organization.pk)}
    paths |= {"index": switches_page.INDEX, "why": switches_page.WHY}
    assert browser_of(staff()).get(paths[path]).status_code == 403


@pytest.mark.parametrize("fields", FORMS.values(), ids=lambda fields: f"S01-{fields['switch']}")
def test_a_member_who_is_no_staff_is_refused_and_that_is_on_record(
    grant: Grant, fields: dict[str, str]
) -> None:
    member = User.objects.create_user("member@halo.example")
    organizations.join(grant.organization, member, role="member")
    board = SwitchesPage(browser_of(member), grant.organization.pk)
    assert board.send(**fields).status_code == 403
    assert board.browser.get(board.path).status_code == 403
    # Two of them, where a minute begins in between.
    events = SecurityEvent.objects.filter(kind="admin_refused")
    assert {event.user_id for event in events} == {str(member.pk)}
    assert sum(event.count for event in events) == 2
    assert not FeatureFlag.objects.exists()


def test_a_stranger_is_asked_to_sign_in(grant: Grant) -> None:
    reply: Any = Client().post(
        switches_page.path_of(grant.organization.pk), FORMS["change_actiontoggle"]
    )
    assert (reply.status_code, reply.headers["location"].partition("?")[0]) == (
        302,
        "/admin/login/",
    )
    assert not ActionToggle.objects.exists()


def test_another_site_s_form_turns_nothing(grant: Grant) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root@halo.example"))
    reply = client.post(switches_page.path_of(grant.organization.pk), FORMS["change_actiontoggle"])
    assert reply.status_code == 403
    assert not ActionToggle.objects.exists()


def test_a_change_of_several_actions_is_confirmed_with_their_names_and_number(
    board: SwitchesPage,
) -> None:
    asked = markup.read(board.send(switch="shown:crm", to="on").content)
    assert asked.one("h1").text == "Turn on 2 actions?"
    assert {
        code.text for code in asked.one("ul", class_="module halo-panel halo-actions").all("code")
    } == {
        "crm.create_deal",
        "crm.find_contact",
    }
    assert not ActionToggle.objects.exists()
    done = board.confirm(asked)
    assert "Turned on 2 actions." in done.text
    assert ActionToggle.objects.filter(enabled=True).count() == 2


def test_what_is_set_already_is_not_confirmed(board: SwitchesPage) -> None:
    board.send(switch="shown:crm", to="on", confirmed="1")
    reply = board.send(switch="shown:crm", to="on")
    assert reply.status_code == 302
    assert "No change: already set." in board.read().text


def test_stopping_the_mcp_server_is_confirmed_and_starting_it_is_not(board: SwitchesPage) -> None:
    asked = markup.read(board.send(switch="flag:mcp_server", to="off").content)
    assert asked.one("h1").text == "Turn off the MCP server?"
    assert board.switches()[FLAG]
    board.confirm(asked)
    assert not board.switches()[FLAG]
    board.send(switch="flag:mcp_server", to="on")
    assert board.switches()[FLAG]


@pytest.mark.parametrize(
    "change",
    [
        {"switch": "shown:crm", "to": "on"},
        {"switch": "flag:mcp_server", "to": "off"},
        {"switch": "mode:crm", "to": "off"},
        {"switch": "action:crm.find_contact", "to": "on"},
    ],
    ids=lambda change: change["switch"],
)
def test_a_change_can_be_undone_from_the_next_page_once(
    board: SwitchesPage, change: dict[str, str]
) -> None:
    before = board.switches()
    board.send(**change, confirmed="1")
    page = board.read()
    assert board.switches() != before
    board.browser.post(board.path, switches_page.fields_of(page.one("form", class_="halo-undo")))
    assert board.read().all("form", class_="halo-undo") != []
    assert board.switches() == before
    assert board.read().all("form", class_="halo-undo") == []


def test_undo_changes_back_only_what_the_command_changed(board: SwitchesPage) -> None:
    board.press(FIND)
    board.send(switch="shown:crm", to="on", confirmed="1")
    undo = switches_page.fields_of(board.read().one("form", class_="halo-undo"))
    board.browser.post(board.path, undo)
    assert board.switches(q="crm.") == {FLAG: True, MODE: True, CREATE: False, FIND: True}


def test_undo_is_offered_for_the_organization_that_was_changed_only(
    board: SwitchesPage, admin: Client
) -> None:
    board.send(switch="mode:crm", to="off")
    assert (
        SwitchesPage(admin, make_grant().organization.pk).read().all("form", class_="halo-undo")
        == []
    )


def test_a_failing_connection_is_not_marked_as_good(board: SwitchesPage, grant: Grant) -> None:
    grant.connect("crm", connection=ConnectionState.FAILING)
    state = board.read().one("section", id="mode-crm").all("span", class_="halo-state halo-bad")
    assert [one.text for one in state] == ["Failing"]
