"""What the consent page says of integrations: what the gate would let through, and no more."""

import pytest

from tests.console import markup
from tests.console.markup import Element
from tests.drivers.oauth_client import Browser, OAuthClient
from tools_registry.admin import switches
from tools_registry.admin.switches import Operator
from tools_registry.models import IntegrationMode
from workspace.models import Organization, User

pytestmark = pytest.mark.usefixtures("lab")

ALL, CREATE = "actions:crm:*", "actions:crm:create_deal"
ASKED = f"{ALL} {CREATE} actions:crm:delete_contact"
NOTHING = "No tools available yet"


@pytest.fixture
def operator(ada: User) -> Operator:
    return Operator(ada, "127.0.0.1")


@pytest.fixture
def crm_connection(lab: None, acme: Organization, operator: Operator) -> None:  # noqa: ARG001  its tools
    """CRM is connected, and one of its actions is on."""
    IntegrationMode.objects.create(organization=acme, integration="crm", connection="connected")
    switches.set_actions(acme.agents.get(), [("crm", "find_contact")], "on", operator=operator)


def choices(browser: Browser, client: OAuthClient) -> dict[str, Element]:
    """What the page says of each scope."""
    page = markup.read(browser.open(client.authorize_address(scope=ASKED)).content)
    rows = page.all("div", class_="choice")
    return {row.one("input").attributes["value"]: row for row in rows}


@pytest.mark.usefixtures("crm_connection")
def test_an_action_that_is_on_is_named_under_the_scope_that_unlocks_it(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    message = choices(browser, oauth_client)
    assert [code.text for code in message[ALL].one("ul").all("code")] == ["crm.find_contact"]
    assert "Find a contact" in message[ALL].text
    assert message[ALL].one("label").text.startswith("Act in CRM")
    assert NOTHING in message[CREATE].text


@pytest.mark.usefixtures("crm_connection")
def test_what_an_admin_turns_is_on_the_page_when_it_is_opened_next(
    browser: Browser, oauth_client: OAuthClient, acme: Organization, operator: Operator
) -> None:
    switches.set_actions(acme.agents.get(), [("crm", "create_deal")], "on", operator=operator)
    message = choices(browser, oauth_client)
    assert "crm.create_deal" in message[CREATE].text
    assert "crm.create_deal" in message[ALL].text
    switches.set_mode(acme, "crm", "off", operator=operator)
    assert all(NOTHING in row.text for row in choices(browser, oauth_client).values())


@pytest.mark.usefixtures("crm_connection")
def test_a_destructive_action_is_never_named(browser: Browser, oauth_client: OAuthClient) -> None:
    message = choices(browser, oauth_client)
    assert "Delete a contact" not in " ".join(row.text for row in message.values())
    assert "actions:crm:delete_contact" not in message


def test_what_is_not_connected_unlocks_nothing(
    browser: Browser, oauth_client: OAuthClient, acme: Organization, operator: Operator
) -> None:
    switches.set_actions(acme.agents.get(), [("crm", "find_contact")], "on", operator=operator)
    assert all(NOTHING in row.text for row in choices(browser, oauth_client).values())
