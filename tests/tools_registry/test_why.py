"""“Why can't this token see that tool?”, asked on the page and on the command line."""

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.test import Client

from audit.models import ActionExecution
from foundation.admin_urls import row_url
from oauth.models import AccessToken
from tests.console import markup
from tests.console.markup import Element
from tests.drivers import switches_page
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.switches_page import WHY
from tools_registry.models import ConnectionState
from tools_registry.pipeline import gate
from workspace.models import User

pytestmark = pytest.mark.usefixtures("lab")

TOOL = "crm.find_contact"
OPEN = ("find_contact", "delete_contact")


@pytest.fixture
def admin(grant: Grant) -> Client:  # noqa: ARG001  asked for: it opens the database
    client = Client()
    client.force_login(User.objects.create_superuser("root@halo.example"))
    return client


def open_all(grant: Grant) -> None:
    grant.connect("crm", enabled=OPEN)


def disconnect(grant: Grant) -> None:
    grant.connect("crm", enabled=OPEN, connection=ConnectionState.NOT_CONNECTED)


CLOSED: dict[str, Callable[[Grant], None]] = {
    "flag": lambda grant: grant.switch_off("mcp_server"),
    "connection": disconnect,
    "integration": lambda grant: grant.connect("crm", enabled=OPEN, actions_on=False),
    "agent": lambda grant: grant.connect("crm"),
    "scope": lambda grant: grant.narrow("docs:read"),
}
REMEDIES = {
    "flag": "#flag-mcp_server",
    "connection": "#mode-crm",
    "integration": "#mode-crm",
    "agent": f"#action-{TOOL}",
}


def ask_why(admin: Client, token: str, tool: str = TOOL, **more: str) -> Element:
    reply = admin.get(WHY, {"token": token, "tool": tool, **more})
    assert reply.status_code == 200
    return markup.read(reply.content)


def lines(page: Element) -> dict[str, tuple[str, str]]:
    """By layer: Yes or No, and the address of the remedy."""
    found = {}
    for row in page.one("ol").all("li"):
        links = [link.attributes["href"] for link in row.all("a")]
        answer = row.all("span")[-1].text
        found[row.one("strong").text] = (answer, links[0] if links else "")
    return found


def message(token: str, tool: str = TOOL) -> str:
    out = StringIO()
    call_command("why", token, tool, stdout=out)
    return out.getvalue()


def newest_token() -> str:
    return str(AccessToken.objects.latest("pk").pk)


def test_where_everything_is_open_every_layer_says_yes(admin: Client, grant: Grant) -> None:
    open_all(grant)
    grant.token()
    page = ask_why(admin, newest_token())
    assert {answer for answer, _ in lines(page).values()} == {"Yes"}
    assert list(lines(page))[-6:] == [*gate.DEFAULT_LAYERS]
    assert page.one("h2", id="halo-verdict").text == f"{TOOL}: allowed"


@pytest.mark.parametrize("layer", CLOSED)
def test_the_layer_that_is_closed_says_no_and_where_to_open_it(
    admin: Client, grant: Grant, layer: str
) -> None:
    open_all(grant)
    CLOSED[layer](grant)
    McpClient(grant.token()).call(TOOL)
    row = ActionExecution.objects.latest("id")
    page = ask_why(admin, row.token_id)
    said = lines(page)
    assert [name for name, (answer, _) in said.items() if answer == "No"] == [layer]
    assert next(iter(said)) == layer  # what refuses is the first line
    board = switches_page.path_of(grant.organization.pk)
    expected = f"{board}{REMEDIES[layer]}" if layer in REMEDIES else ""
    assert said[layer][1] == expected
    assert f"calls are refused: {row.reason}." in page.text
    assert row.layer == layer
    assert row.reason in message(row.token_id)
    if expected:
        assert expected in message(row.token_id)
        assert markup.read(admin.get(board).content).text
        anchors = [one.attributes.get("id") for one in markup.read(admin.get(board).content)]
        assert expected.partition("#")[2] in anchors


def test_every_layer_answers_for_itself(admin: Client, grant: Grant) -> None:
    grant.switch_off("mcp_server")
    grant.narrow("docs:read")
    grant.token()
    said = lines(ask_why(admin, newest_token(), "crm.delete_contact"))
    closed = {name for name, (answer, _) in said.items() if answer == "No"}
    assert closed == {"flag", "destructive", "connection", "agent", "scope"}
    assert "feature_disabled" in message(newest_token(), "crm.delete_contact")


def test_a_tool_without_an_integration_needs_none_of_its_switches(grant: Grant) -> None:
    grant.token()
    said = message(newest_token(), "search_docs")
    for layer in ("connection", "integration", "agent"):
        assert not re.search(rf"^\W*{layer}\b", said, re.MULTILINE)
    assert "calls run" in said


def test_a_token_that_is_not_let_in_comes_to_401_whatever_the_gate_says(
    admin: Client, grant: Grant
) -> None:
    open_all(grant)
    token = grant.token()
    grant.revoke()
    page = ask_why(admin, newest_token())
    assert "refused as unauthorized (401)" in page.text
    assert lines(page)["authorization"][0] == "No"
    assert McpClient(token).call(TOOL).status == 401


def test_a_row_of_the_audit_log_leads_to_its_answer(admin: Client, grant: Grant) -> None:
    McpClient(grant.token()).call(TOOL)
    row = ActionExecution.objects.latest("id")
    page = markup.read(admin.get(row_url(row)).content)
    (link,) = (one for one in page.all("a") if one.text == "Why?")
    answer = markup.read(admin.get(link.attributes["href"].replace("&amp;", "&")).content)
    assert "calls are refused: not_connected." in answer.text


def test_where_the_token_of_a_row_is_gone_its_authorization_is_asked(
    admin: Client, grant: Grant
) -> None:
    page = ask_why(admin, "0" * 32, authorization=str(grant.authorization.pk))
    assert lines(page)["token"][0] == "No"
    assert lines(page)["scope"][0] == "Yes"


def test_who_knows_no_id_chooses_an_authorization(admin: Client, grant: Grant) -> None:
    make_grant()
    page = markup.read(admin.get(WHY, {"token": grant.user.email, "tool": TOOL}).content)
    (link,) = (one for one in page.all("a") if "token=" in one.attributes.get("href", ""))
    chosen = markup.read(admin.get(WHY + link.attributes["href"].replace("&amp;", "&")).content)
    assert lines(chosen)["connection"][0] == "No"


def test_a_token_itself_is_neither_taken_nor_shown(admin: Client, grant: Grant) -> None:
    token = grant.token()
    page = admin.get(WHY, {"token": token}).content.decode()
    assert token not in page
    assert "This looks like a token." in page
    with pytest.raises(CommandError) as refused:
        message(token)
    assert token not in str(refused.value)


@pytest.mark.parametrize("tool", ["crm.nothing", "search_doc", "<b>", "x" * 500])
def test_a_tool_that_is_not_there_is_said_to_be_missing(
    admin: Client, grant: Grant, tool: str
) -> None:
    grant.token()
    assert "has no tool" in ask_why(admin, newest_token(), tool).text
    with pytest.raises(CommandError, match="has no tool"):
        message(newest_token(), tool)


def test_staff_need_to_be_allowed_to_see_tokens(grant: Grant) -> None:  # noqa: ARG001  opens the database
    clerk = User.objects.create_user("clerk@halo.example", is_staff=True)
    rights = ("view_integrationmode", "view_actiontoggle", "view_authorization")
    clerk.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = Client()
    client.force_login(clerk)
    assert client.get(WHY).status_code == 403
    clerk.user_permissions.add(Permission.objects.get(codename="view_accesstoken"))
    assert client.get(WHY).status_code == 200


def test_spec12_the_command_names_the_setting_that_differs_from_the_server(
    grant: Grant, settings: Any
) -> None:
    open_all(grant)
    token = str(grant.authorization.pk)
    server = settings.HALO_PUBLIC_URL
    settings.HALO_PUBLIC_URL = "http://127.0.0.1:9999"
    with pytest.raises(CommandError) as refused:
        call_command("why", token, TOOL)
    assert str(refused.value) == (
        f"This token was issued for {server}; this command runs with "
        f"HALO_PUBLIC_URL=http://127.0.0.1:9999. Set HALO_PUBLIC_URL={server}."
    )
    settings.HALO_PUBLIC_URL = server
    out = StringIO()
    call_command("why", token, TOOL, stdout=out)
    assert TOOL in out.getvalue()
