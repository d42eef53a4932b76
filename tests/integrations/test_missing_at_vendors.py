"""V1, V27 to V29: what a vendor does not have for the calls is listed, when saved and daily."""

import datetime as dt
import html
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from audit.models import SecurityEvent
from foundation.admin_urls import page_url
from integrations.linear import TOOLSET as LINEAR
from tests.drivers import billing
from tests.drivers.fake_vendors import contract
from tests.drivers.fake_vendors import linear as linear_site
from tests.drivers.fake_vendors import stripe as stripe_site
from tests.drivers.fake_vendors.connected import connect, connect_toolset
from tests.drivers.fake_vendors.contract import VendorReply
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.fake_vendors.linear import Linear
from tests.drivers.fake_vendors.site import saying
from tests.drivers.fake_vendors.slack import Slack
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.shown_forms import forms_of
from tools_registry import registry
from tools_registry.api import ToolFailure, VendorAccount
from tools_registry.models import ConnectionState, IntegrationMode
from tools_registry.tasks import check_connections
from tools_registry.vendors import connecting
from workspace.models import User

ACCOUNT = stripe_site.SAMPLES["account"]["id"]


@dataclass(frozen=True)
class ConnectedVendors:
    """An organization that is connected to all vendors, and its admin's browser."""

    grant: Grant
    browser: Client
    hubspot: HubSpot
    slack: Slack
    linear: Linear
    stripe: Stripe

    def url(self, integration: str) -> str:
        name = "tools_registry_integrationmode_connect"
        return page_url(name, self.grant.organization.pk, integration)

    def read(self, integration: str) -> str:
        return html.unescape(self.browser.get(self.url(integration)).content.decode())

    def act(self, integration: str, act: str, **filled: str) -> str:
        url = self.url(integration)
        form = next(one for one in forms_of(self.browser, url) if "act" in one.fields)
        sent = {name: values[0] for name, values in form.fields.items() if values}
        sent |= {name.replace("_", "-", 1): value for name, value in filled.items()}
        response = self.browser.post(url, {**sent, "act": act}, follow=True)
        assert response.status_code == 200
        return html.unescape(response.content.decode())

    def mode(self, integration: str) -> IntegrationMode:
        rows = IntegrationMode.objects.filter(organization=self.grant.organization)
        return rows.get(integration=integration)


class Accounts(dict[str, Any]):
    """The samples of Stripe, with another account for the second key that asks for its own."""

    asked = 0

    def __getitem__(self, name: str) -> Any:
        sample = super().__getitem__(name)
        if name != "account":
            return sample
        self.asked += 1
        return sample if self.asked == 1 else {**sample, "id": "acct_other"}


@pytest.fixture
def vendors(grant: Grant, settings: Any) -> Iterator[ConnectedVendors]:
    hubspot, slack = HubSpot(), Slack()
    user = User.objects.create_user("staff@acme.example", is_staff=True)
    names = ("change_integrationmode", "view_integrationmode")
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    with ExitStack() as stack:
        stack.enter_context(contract.serving(hubspot))
        stack.enter_context(contract.serving(slack))
        linear = stack.enter_context(linear_site.serving())
        stripe, stripe_url = stack.enter_context(stripe_site.serving())
        settings.HALO_VENDOR_URLS = {
            "hubspot": hubspot.url,
            "slack": slack.url,
            "linear": linear.url,
            "stripe": stripe_url,
        }
        connect(grant, "hubspot", hubspot, contact_properties="phone")
        connect(grant, "slack", slack, default_channel="general")
        connect_toolset(grant, LINEAR, linear_site.KEY, default_team="ENG", bug_label="Bug")
        billing.connect(grant)
        yield ConnectedVendors(grant, browser, hubspot, slack, linear, stripe)


def break_everything(vendors: ConnectedVendors) -> None:
    vendors.hubspot.lacking = {"crm.objects.contacts.read", "crm.objects.deals.read"}
    vendors.slack.joined.clear()
    vendors.linear.teams = [one for one in vendors.linear.teams if one["key"] != "ENG"]
    vendors.stripe.lacking = {"charge_read", "refund_read"}


MISSING = {
    "hubspot": "The credential lacks the scope crm.objects.deals.read.\n"
    "The credential lacks the scope crm.objects.contacts.read.",
    "slack": "The bot has to be invited to #general.",
    "linear": "The default team of the connection to Linear must be the key or the name of a team "
    "in Linear.",
    "stripe": "The key lacks the permission to read charges.\n"
    "The key lacks the permission to read refunds.",
}


def test_what_is_missing_is_listed_every_day_and_breaks_no_connection(
    vendors: ConnectedVendors,
) -> None:
    assert check_connections() == 4
    assert {name: vendors.mode(name).missing for name in MISSING} == dict.fromkeys(MISSING, "")
    break_everything(vendors)
    assert check_connections() == 4
    for name, missing in MISSING.items():
        mode = vendors.mode(name)
        assert (mode.missing, mode.connection, mode.last_error) == (missing, "connected", "")
        page = vendors.read(name)
        assert all(f"<li>{sentence}</li>" in page for sentence in missing.splitlines())
    assert not SecurityEvent.objects.filter(kind="credential_refused").exists()
    vendors.slack.joined.add("C0GENERAL1")
    check_connections()
    assert "invited" not in vendors.read("slack")


@pytest.mark.parametrize("integration", MISSING)
def test_what_is_missing_is_listed_when_the_connection_is_checked(
    vendors: ConnectedVendors, integration: str
) -> None:
    break_everything(vendors)
    said = vendors.act(integration, "check")
    assert f"Missing: {MISSING[integration].replace(chr(10), ' ')}" in said
    assert vendors.mode(integration).connection == ConnectionState.CONNECTED


def test_a_vendor_that_is_away_or_refuses_the_credential_keeps_no_other_unchecked(
    vendors: ConnectedVendors,
) -> None:
    vendors.hubspot.say(502, b"<html>")
    vendors.slack.token = "another"
    vendors.stripe.lacking = {"charge_read"}
    assert check_connections() == 3  # HubSpot is asked again after a 502
    assert vendors.mode("slack").connection == ConnectionState.FAILING
    assert vendors.mode("hubspot").connection == ConnectionState.CONNECTED
    assert "charges" in vendors.mode("stripe").missing


def test_a_token_that_may_not_post_any_more_is_failing_the_next_day(
    vendors: ConnectedVendors,
) -> None:
    vendors.slack.scopes = "channels:read"
    assert check_connections() == 3
    mode = vendors.mode("slack")
    assert (mode.connection, mode.last_error) == (
        ConnectionState.FAILING,
        "The token lacks the scope chat:write.",
    )


def test_channels_that_could_not_be_read_keep_no_credential_from_being_saved(
    vendors: ConnectedVendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = VendorReply(200, {"ok": False, "error": "request_timeout"})
    monkeypatch.setattr(vendors.slack, "_list", lambda _query: failure)
    assert "Slack is connected" in vendors.act("slack", "connect", setting_default_channel="board")
    assert "were not checked" in vendors.mode("slack").missing


def test_channels_that_slack_refuses_to_list_keep_no_credential_from_being_saved(
    vendors: ConnectedVendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = VendorReply(200, {"ok": False, "error": "missing_scope", "needed": "groups:read"})
    monkeypatch.setattr(vendors.slack, "_list", lambda _query: refusal)
    assert "Slack is connected" in vendors.act("slack", "connect", setting_default_channel="board")
    assert "were not checked" in vendors.mode("slack").missing


def test_a_permission_that_a_check_lacks_breaks_no_connection(
    vendors: ConnectedVendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = saying(linear_site.refusal("no", "FORBIDDEN"), 403)
    monkeypatch.setattr(vendors.linear, "_execute", lambda _body: refusal)
    said = vendors.act("linear", "check")
    assert "the key may not do this" in said
    assert vendors.mode("linear").connection == ConnectionState.CONNECTED


@pytest.mark.parametrize("check", ["daily", "of a person"])
def test_a_check_of_a_credential_says_nothing_about_the_one_that_replaced_it(
    vendors: ConnectedVendors, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    run = connecting._run_check

    def replace_meanwhile(mode: IntegrationMode, *more: Any) -> VendorAccount:
        said = run(mode, *more)
        if mode.integration != "slack":
            return said
        connecting.keep(mode, "xoxb-new", mode.settings)
        raise ToolFailure("This credential is of another account.")

    monkeypatch.setattr(connecting, "_run_check", replace_meanwhile)
    if check == "daily":
        check_connections()
    else:
        vendors.act("slack", "check")
    mode = vendors.mode("slack")
    assert (mode.connection, mode.last_error) == (ConnectionState.CONNECTED, "")


SETTINGS = {
    "hubspot-unknown": (
        "hubspot",
        {"setting_contact_properties": "phone, nope"},
        "HubSpot has no contact property nope.",
    ),
    "hubspot-fixed": (
        "hubspot",
        {"setting_contact_properties": "createdate"},
        "The contact property createdate cannot be changed.",
    ),
    "slack-unknown": (
        "slack",
        {"setting_default_channel": "nosuchchannel"},
        "Slack has no channel #nosuchchannel, or the bot cannot see it.",
    ),
    "slack-archived": (
        "slack",
        {"setting_allowed_channels": "support"},
        "The channel #support is archived.",
    ),
    "linear-team": (
        "linear",
        {"setting_default_team": "ZZZ"},
        MISSING["linear"],
    ),
    "linear-label": (
        "linear",
        {"setting_bug_label": "nolabel"},
        "The label nolabel of the connection's settings does not exist in Linear.",
    ),
}


@pytest.mark.parametrize("case", SETTINGS.values(), ids=SETTINGS)
def test_a_setting_that_names_nothing_replaces_no_other(
    vendors: ConnectedVendors, case: Any
) -> None:
    integration, filled, message = case
    vendors.slack.archived = {"C0SUPPORT1"}
    before = vendors.mode(integration).settings
    said = vendors.act(integration, "connect", **filled)
    assert "was not changed" in said
    assert message in said
    assert vendors.mode(integration).settings == before


def test_a_channel_without_the_bot_can_be_set_and_is_listed(vendors: ConnectedVendors) -> None:
    said = vendors.act("slack", "connect", setting_default_channel="board")
    assert "Slack is connected" in said
    assert "The bot has to be invited to #board." in said
    assert vendors.mode("slack").settings["default_channel"] == "board"
    vendors.slack.scopes += ",chat:write.public"
    check_connections()
    assert vendors.mode("slack").missing == ""


@pytest.mark.parametrize(
    ("scopes", "listed"),
    [
        ("chat:write", "not checked: the scope channels:read is needed"),
        ("chat:write,channels:read", "#gone is no public channel"),
    ],
)
def test_channels_that_the_bot_may_not_list_are_not_called_wrong(
    vendors: ConnectedVendors, scopes: str, listed: str
) -> None:
    vendors.slack.scopes = scopes
    vendors.act("slack", "connect", setting_default_channel="gone")
    assert listed in vendors.mode("slack").missing
    assert vendors.mode("slack").settings["default_channel"] == "gone"


def test_a_connection_that_lacks_something_still_runs_what_it_can(
    vendors: ConnectedVendors, mcp: McpClient
) -> None:
    vendors.hubspot.lacking = {"crm.objects.deals.read"}
    check_connections()
    note = {"text": "Called.", "contact_id": "101"}
    assert mcp.call("hubspot.create_note", note).facts["contact_id"] == "101"
    refused = mcp.call("hubspot.create_deal", {"name": "Acme", "contact_id": "101"})
    assert refused.code == -32002
    assert vendors.mode("hubspot").connection == ConnectionState.CONNECTED


def test_stripe_s_account_is_named_also_by_a_key_that_may_not_read_it(
    vendors: ConnectedVendors,
) -> None:
    vendors.stripe.lacking = {"accounts_kyc_basic_read"}
    assert f"Stripe account {ACCOUNT}, test mode" in vendors.act("stripe", "check")
    assert f"Account: test mode/{ACCOUNT}" in vendors.read("stripe")


def test_another_stripe_account_of_the_same_mode_needs_a_confirmation(
    vendors: ConnectedVendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendors.act("stripe", "check")
    other = {**stripe_site.SAMPLES["account"], "id": "acct_other"}
    monkeypatch.setitem(stripe_site.SAMPLES, "account", other)
    said = vendors.act("stripe", "connect", credential=stripe_site.KEY)
    assert "This credential is of another account: Stripe account acct_other, test mode" in said
    assert vendors.mode("stripe").account == f"test mode/{ACCOUNT}"
    form = {"credential": stripe_site.KEY, "other_account": "on"}
    assert "is connected" in vendors.act("stripe", "connect", **form)
    assert vendors.mode("stripe").account == "test mode/acct_other"


def test_a_key_of_another_account_replaces_no_mode_that_an_earlier_release_has_stored(
    vendors: ConnectedVendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    IntegrationMode.objects.filter(integration="stripe").update(account="test mode")
    of_keys = Accounts(stripe_site.SAMPLES)
    monkeypatch.setattr(stripe_site, "SAMPLES", of_keys)
    said = vendors.act("stripe", "connect", credential=stripe_site.KEY)
    assert "This credential is of another account: Stripe account acct_other, test mode" in said
    assert vendors.mode("stripe").account == "test mode"


def test_the_mode_that_an_earlier_release_has_stored_is_completed_with_the_account(
    vendors: ConnectedVendors,
) -> None:
    IntegrationMode.objects.filter(integration="stripe").update(account="test mode")
    assert "is connected" in vendors.act("stripe", "check")
    assert vendors.mode("stripe").account == f"test mode/{ACCOUNT}"
    IntegrationMode.objects.filter(integration="stripe").update(account="live mode")
    assert "is of another account" in vendors.act("stripe", "check")


@pytest.mark.parametrize("integration", MISSING)
def test_help_says_as_of_when_it_holds(vendors: ConnectedVendors, integration: str) -> None:
    connection = registry.connection(integration)
    assert connection is not None
    assert connection.help_date is not None
    assert f"As of {connection.help_date.isoformat()}." in vendors.read(integration)
    # `./run verify` runs the tests with a clock that is ahead: help is as old as it really is.
    ahead = dt.timedelta(days=int(os.environ.get("HALO_TEST_DAYS_AHEAD", "0")))
    today = dt.datetime.now(dt.UTC).date() - ahead
    assert today - connection.help_date <= dt.timedelta(days=365), (
        f"Compare the help of {integration} with the vendor's pages, and renew its date."
    )
