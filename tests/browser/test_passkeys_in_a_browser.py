"""A passkey in real Chromium, on a device of its own that its developer tools play."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import accessibility, chromium
from tests.browser.chromium import Visitor
from tests.console.second_factors import SECURITY, code
from tests.drivers.server import PASSWORD, Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]
# On `new_server`, which has a name: browsers keep no passkeys for an address of digits.

PHONE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def person(browser: Browser, new_server: Server) -> Iterator[Visitor]:
    """Somebody whose browser has a device with a fingerprint reader."""
    with chromium.visiting(browser, new_server.url) as visitor:
        attach(visitor)
        yield visitor
        assert visitor.problems == []


def attach(visitor: Visitor, **changes: bool) -> None:
    tools = visitor.page.context.new_cdp_session(visitor.page)
    tools.send("WebAuthn.enable")
    tools.send("WebAuthn.addVirtualAuthenticator", {"options": PHONE | changes})


def press(visitor: Visitor, name: str) -> None:
    visitor.page.get_by_role("button", name=name, exact=True).click()


def follow_and_confirm(visitor: Visitor, link: str) -> None:
    """Follow a link of the security page, and say again that it is you where that is asked."""
    visitor.open(SECURITY)
    visitor.page.get_by_role("link", name=link).click()
    # Where it leads is known once it has come there, which a click does not wait for.
    expect(visitor.page).not_to_have_url(visitor.url + SECURITY)
    if "/signin/confirm" in visitor.page.url:
        visitor.page.get_by_label("Password", exact=True).fill(PASSWORD)
        press(visitor, "Confirm")


def add_passkey(visitor: Visitor) -> None:
    follow_and_confirm(visitor, "Add a passkey")
    visitor.page.get_by_label("Name").fill("Phone")
    press(visitor, "Add a passkey")
    expect(visitor.page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Copy codes")).to_be_visible()
    visitor.page.get_by_role("link", name="I saved my codes").click()
    expect(visitor.page.locator("bdi")).to_have_text("Phone")


def remove_passkey(visitor: Visitor) -> None:
    follow_and_confirm(visitor, "Remove Phone")
    press(visitor, "Remove")
    expect(visitor.page.get_by_text("Passkey removed.")).to_be_visible()


def test_a_passkey_is_added_signs_in_and_leads_to_the_consent_page(
    person: Visitor, new_server: Server
) -> None:
    add_passkey(person.open_and_sign_in())
    look(person)
    press(person, "Sign out")

    person.open(BareClient(new_server).authorize_url)
    look(person)
    press(person, "Sign in with a passkey")
    expect(person.page.get_by_role("button", name="Approve")).to_be_visible()

    press(person, "Not you? Sign out")
    person.sign_in()
    expect(person.page.get_by_role("heading", name="Two-step verification")).to_be_visible()
    look(person)
    press(person, "Use your passkey")
    expect(person.page.get_by_role("button", name="Approve")).to_be_visible()

    remove_passkey(person)


def test_a_device_that_does_not_recognise_its_owner_gets_a_message(
    browser: Browser, new_server: Server
) -> None:
    with chromium.visiting(browser, new_server.url) as visitor:
        attach(visitor, isUserVerified=False)
        visitor.open_and_sign_in()
        follow_and_confirm(visitor, "Add a passkey")
        look(visitor)
        press(visitor, "Add a passkey")
        expect(visitor.page.get_by_role("alert")).to_contain_text("No passkey was created")
        visitor.open("/")
        press(visitor, "Sign out")
        visitor.open("/signin")
        press(visitor, "Sign in with a passkey")
        expect(visitor.page.get_by_role("alert")).to_contain_text("No passkey was used")
        assert visitor.problems == []


def test_without_script_everything_but_passkeys_works(browser: Browser, new_server: Server) -> None:
    """From adding an app to signing in with it, and every page of it on the way looked at."""
    given = {"viewport": chromium.PHONE, "java_script_enabled": False}
    with chromium.visiting(browser, new_server.url, **given) as visitor:
        visitor.open_and_sign_in()
        follow_and_confirm(visitor, "Add an app")
        assert accessibility.hard_to_use(visitor) == []
        secret = visitor.page.locator("pre code").inner_text()
        visitor.page.get_by_label("Code", exact=True).fill(code(secret))
        press(visitor, "Turn on")
        assert accessibility.hard_to_use(visitor) == []
        recovery = visitor.page.locator("pre code").inner_text().split("\n")[0]
        visitor.page.get_by_role("link", name="I saved my codes").click()
        assert accessibility.hard_to_use(visitor) == []
        press(visitor, "Sign out")

        visitor.open("/signin")
        expect(visitor.page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
        visitor.sign_in()
        assert accessibility.hard_to_use(visitor) == []
        visitor.page.get_by_label("Code", exact=True).fill(recovery)
        press(visitor, "Sign in")
        follow_and_confirm(visitor, "Remove the app")
        assert accessibility.hard_to_use(visitor) == []
        press(visitor, "Remove")
        expect(visitor.page.get_by_text("Authenticator app removed.")).to_be_visible()


def look(visitor: Visitor) -> None:
    assert accessibility.findings(visitor) == []
