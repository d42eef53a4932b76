"""V30: the ids of customers are used in the account at the vendor that they came from alone."""

import html

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from foundation.admin_urls import page_url
from tests.drivers.bound_calls import bind_id
from tests.drivers.fake_vendors.connected import connect
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.shown_forms import forms_of
from tools_registry.models import Credential, IntegrationMode
from workspace.models import Customer, User

ASKS = "This credential is of another account: HubSpot account 999 (STANDARD)"


class ConnectionPage:
    """The page of an organization's connection to HubSpot, in the browser of its admin."""

    def __init__(self, grant: Grant) -> None:
        self.url = page_url(
            "tools_registry_integrationmode_connect", grant.organization.pk, "hubspot"
        )
        user = User.objects.create_user("staff@acme.example", is_staff=True)
        names = ("change_integrationmode", "view_integrationmode")
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        self.browser = Client(enforce_csrf_checks=True)
        self.browser.force_login(user)

    def read(self) -> str:
        return html.unescape(self.browser.get(self.url).content.decode())

    def act(self, act: str, **filled: str) -> str:
        form = next(one for one in forms_of(self.browser, self.url) if "act" in one.fields)
        sent = {one: form.fields[one][0] for one in ("csrfmiddlewaretoken", "shown_values")}
        sent |= {name.replace("_", "-"): value for name, value in filled.items()}
        response = self.browser.post(self.url, {**sent, "act": act}, follow=True)
        assert response.status_code == 200
        return html.unescape(response.content.decode())

    def connect(self, credential: str, *, confirms: bool = False) -> str:
        confirmed = {"other_account": "on"} if confirms else {}
        return self.act("connect", credential=credential, **confirmed)


@pytest.fixture
def page(grant: Grant, hubspot: HubSpot) -> ConnectionPage:
    """Of a connection to the account 12345, which a check has found."""
    shown = ConnectionPage(grant)
    assert "HubSpot is connected: HubSpot account 12345" in shown.connect(hubspot.token)
    return shown


@pytest.fixture
def ada(grant: Grant) -> Customer:
    """A customer whose stored id is not the one that HubSpot has for the email."""
    return grant.customer(email="ada@example.com", vendor_ids={"hubspot": "102"})


def move_to(hubspot: HubSpot, portal: int, token: str) -> str:
    """The fake answers for another account from now on; returns the credential of it."""
    hubspot.portal, hubspot.token = portal, token
    return token


def contact_of_a_note(mcp: McpClient, customer: Customer) -> str:
    reply = mcp.call("hubspot.create_note", {"text": "Called."}, meta=bind_id(customer))
    return str(reply.facts["contact_id"])


def test_an_id_of_the_account_before_is_not_used_until_that_account_is_back(
    page: ConnectionPage, ada: Customer, hubspot: HubSpot, mcp: McpClient
) -> None:
    before = hubspot.token
    assert contact_of_a_note(mcp, ada) == "102"
    assert "is connected" in page.connect(move_to(hubspot, 999, "other"), confirms=True)
    assert contact_of_a_note(mcp, ada) == "101"
    page.connect(move_to(hubspot, 12345, before), confirms=True)
    assert contact_of_a_note(mcp, ada) == "102"


def test_ids_of_another_organization_stay_in_use(page: ConnectionPage, hubspot: HubSpot) -> None:
    theirs = make_grant()
    connect(theirs, "hubspot", hubspot)
    bob = theirs.customer(email="ada@example.com", vendor_ids={"hubspot": "102"})
    page.connect(move_to(hubspot, 999, "other"), confirms=True)
    bob.refresh_from_db()
    assert bob.vendor_ids == {"hubspot": "102"}


def test_another_account_is_shown_and_changes_nothing_before_it_is_confirmed(
    page: ConnectionPage, ada: Customer, hubspot: HubSpot
) -> None:
    stored = Credential.objects.get()
    said = page.connect(move_to(hubspot, 999, "other"))
    assert ASKS in said
    assert "The account before: 12345." in said
    assert "HubSpot was not changed" in said
    assert Credential.objects.get().sealed == stored.sealed
    assert "Account: 12345" in page.read()
    ada.refresh_from_db()
    assert ada.vendor_ids == {"hubspot": "102"}


def test_another_credential_of_the_same_account_needs_no_confirmation(
    page: ConnectionPage, ada: Customer, hubspot: HubSpot, mcp: McpClient
) -> None:
    assert "is connected" in page.connect(move_to(hubspot, 12345, "rotated"))
    assert contact_of_a_note(mcp, ada) == "102"


def test_after_disconnecting_another_account_needs_a_confirmation_too(
    page: ConnectionPage, ada: Customer, hubspot: HubSpot, mcp: McpClient
) -> None:
    page.act("disconnect")
    assert "Account before: 12345" in page.read()
    assert ASKS in page.connect(move_to(hubspot, 999, "other"))
    reply = mcp.call("hubspot.create_note", {"text": "x"}, meta=bind_id(ada))
    assert reply.error["data"]["reason"] == "not_connected"
    assert ASKS in page.act("check")
    assert "is connected" in page.connect("", confirms=True)
    assert contact_of_a_note(mcp, ada) == "101"


def test_where_the_account_before_is_not_known_a_confirmation_is_needed(
    page: ConnectionPage, ada: Customer, hubspot: HubSpot, mcp: McpClient
) -> None:
    IntegrationMode.objects.update(account="")  # as a release before this one has left it
    assert ASKS in page.connect(move_to(hubspot, 999, "other"))
    page.connect("other", confirms=True)
    assert contact_of_a_note(mcp, ada) == "101"
