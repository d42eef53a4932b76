"""Spec 5: clients that an admin registers, on the admin page and with manage.py create_client."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.test import Client as Http
from django.urls import reverse

from audit.models import SecurityEvent
from foundation import ids
from foundation.admin_urls import row_url
from oauth.models import Client
from tests.console.markup import read as markup
from tests.drivers.oauth_client import CALLBACK, Browser, OAuthClient, assert_refused, tokens_of
from tests.drivers.shown_forms import save
from workspace.models import User

ADD = "/admin/oauth/client/add/"
TYPES = ["none", "client_secret_basic", "client_secret_post"]


@pytest.fixture
def root(db: None) -> Http:  # noqa: ARG001  asked for: it opens the database
    client = Http()
    client.force_login(User.objects.create_superuser("root@halo.example"))
    return client


def form_fields(**changes: object) -> dict[str, Any]:
    form = {"name": "Acme portal", "redirect_uris": CALLBACK, "auth_method": "client_secret_basic"}
    return form | changes


def rotate_page(row: Client) -> str:
    return row_url(row, "rotate_secret")


def shown_code(page: Any, element: str) -> str:
    """The text of the element with this id."""
    return str(markup(page.content).one("code", id=element).text)


def add_client(root: Http, **changes: object) -> tuple[Client, OAuthClient]:
    """A client added on the admin page, and one that is configured with what the page shows."""
    page = root.post(ADD, form_fields(**changes))
    assert page.status_code == 200, page.context["adminform"].form.errors
    row = Client.objects.get()
    client = OAuthClient(client_id=shown_code(page, "client-id"), auth_method=row.auth_method)
    if row.auth_method != "none":
        client.secret = shown_code(page, "client-secret")
    return row, client


@pytest.mark.parametrize("auth_method", TYPES)
def test_spec5_a_client_added_by_an_admin_goes_the_whole_way(
    auth_method: str, root: Http, browser: Browser
) -> None:
    row, client = add_client(root, auth_method=auth_method)
    assert client.client_id == row.client_id
    consent = browser.open(client.authorize_address()).content.decode()
    assert "Registered by an administrator." in consent
    assert "Don't ask again" in consent.replace("&#x27;", "'")
    tokens = client.connect(browser)
    assert client.ping(tokens.access) == 200
    renewed = tokens_of(client.refresh(tokens.refresh))
    assert client.ping(renewed.access) == 200


def test_spec5_a_wrong_secret_is_refused(root: Http, browser: Browser) -> None:
    _, client = add_client(root)
    tokens = client.connect(browser)
    client.secret = "halo_cs_wrong"
    assert assert_refused(client.refresh(tokens.refresh)) == (401, "invalid_client")


def test_spec5_the_secret_is_shown_once_and_only_its_hash_is_stored(root: Http) -> None:
    page = root.post(ADD, form_fields())
    secret, row = shown_code(page, "client-secret"), Client.objects.get()
    assert "no-store" in page["Cache-Control"]
    assert row.secret_sha256 == ids.sha256_hex(secret)
    assert row.registration_source == Client.RegistrationSource.MANUAL
    assert secret not in json.dumps(dict(root.session.items()))
    for address in (row_url(row), reverse("admin:oauth_client_changelist"), ADD):
        later = root.get(address).content.decode()
        assert secret not in later
        assert row.secret_sha256 not in later
    stored = [*LogEntry.objects.values_list("change_message"), *SecurityEvent.objects.values_list()]
    assert secret not in str(stored)
    assert 'data-copy="#client-secret"' in page.content.decode()


@pytest.mark.parametrize(
    ("uris", "message"),
    [
        ("https://example.com/*", "wildcard"),
        ("http://evil.example/cb", "http is allowed for localhost"),
        ("javascript:alert(1)", "not allowed"),
        ("\n".join(f"https://a.example/{number}" for number in range(11)), "at most 10"),
        ("com.example.app:/cb", "reverse domain name"),
        ("", "required"),
    ],
)
def test_spec5_redirect_uris_follow_the_rules_of_registration(
    uris: str, message: str, root: Http
) -> None:
    page = root.post(ADD, form_fields(redirect_uris=uris))
    assert message in str(page.context["adminform"].form.errors["redirect_uris"])
    assert not Client.objects.exists()


def test_spec5_a_native_client_may_have_a_scheme_of_its_own(root: Http) -> None:
    row, _ = add_client(
        root, redirect_uris="com.example.app:/cb", is_native="on", auth_method="none"
    )
    assert (row.redirect_uris, row.is_native) == (["com.example.app:/cb"], True)


def test_spec5_an_edit_holds_from_the_next_request_on(root: Http, browser: Browser) -> None:
    row, client = add_client(root)
    uris = f"{CALLBACK}\nhttps://app.example/second"
    saved = save(root, row_url(row), {"name": "Renamed", "redirect_uris": uris})
    assert saved.status_code == 302
    row.refresh_from_db()
    assert (row.name, row.redirect_uris) == ("Renamed", uris.split())
    assert row.auth_method == "client_secret_basic"
    client.redirect_uri = "https://app.example/second"
    assert "Renamed" in browser.open(client.authorize_address()).content.decode()
    # The secret is still the one that was shown.
    client.redirect_uri = CALLBACK
    assert client.connect(browser).scope


def test_spec5_rotating_the_secret_ends_the_former_one(root: Http, browser: Browser) -> None:
    row, client = add_client(root)
    tokens = client.connect(browser)
    assert "Rotate secret" in root.get(row_url(row)).content.decode()
    assert root.get(rotate_page(row)).status_code == 200
    assert tokens_of(client.refresh(tokens.refresh))
    page = root.post(rotate_page(row))
    assert "no-store" in page["Cache-Control"]
    fresh = OAuthClient(row.client_id, shown_code(page, "client-secret"), "client_secret_basic")
    tokens = fresh.connect(browser)
    assert assert_refused(client.refresh(tokens.refresh)) == (401, "invalid_client")
    assert tokens_of(fresh.refresh(tokens.refresh))


def test_spec5_everything_is_recorded(root: Http) -> None:
    row, _ = add_client(root)
    save(root, row_url(row), {"name": "Renamed", "redirect_uris": CALLBACK})
    root.post(rotate_page(row))
    action = {"action": "disable", "_selected_action": [str(row.pk)]}
    root.post(reverse("admin:oauth_client_changelist"), action)
    events = SecurityEvent.objects.filter(client_id=row.client_id)
    kinds = {"client_created", "client_changed", "client_secret_rotated", "client_disabled"}
    assert set(events.values_list("kind", flat=True)) == kinds
    assert LogEntry.objects.filter(object_id=str(row.pk)).count() == 4
    assert {entry.user.email for entry in LogEntry.objects.all()} == {"root@halo.example"}


def test_spec5_a_client_that_registered_itself_is_read_only(
    root: Http, confidential: OAuthClient
) -> None:
    row = Client.objects.get()
    page = root.get(row_url(row)).content.decode()
    assert "Rotate secret" not in page
    assert 'name="redirect_uris"' not in page
    assert root.post(row_url(row), form_fields()).status_code == 403
    assert root.post(rotate_page(row)).status_code == 403
    assert assert_refused(confidential.refresh("x")) == (400, "invalid_grant")


def test_spec5_a_public_client_has_no_secret_to_rotate(root: Http) -> None:
    row, _ = add_client(root, auth_method="none")
    assert "Rotate secret" not in root.get(row_url(row)).content.decode()
    assert root.post(rotate_page(row)).status_code == 403


def test_spec5_staff_without_the_permission_can_neither_add_nor_rotate(root: Http) -> None:
    row, _ = add_client(root)
    staff = Http()
    staff.force_login(User.objects.create_user("staff@halo.example", is_staff=True))
    for address in (ADD, row_url(row), rotate_page(row)):
        assert staff.post(address, form_fields()).status_code == 403


def create_client(*options: str) -> str:
    out = StringIO()
    call_command("create_client", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.usefixtures("acme")
def test_spec5_the_command_prints_credentials_that_work(browser: Browser) -> None:
    text = create_client("--name", "Portal", "--redirect-uri", CALLBACK, "--json")
    printed = json.loads(text)
    client = OAuthClient(printed["client_id"], printed["client_secret"], "client_secret_basic")
    assert tokens_of(client.refresh(client.connect(browser).refresh))
    assert SecurityEvent.objects.filter(kind="client_created").count() == 1


@pytest.mark.usefixtures("db")
def test_spec5_the_command_registers_public_clients_and_prints_text() -> None:
    text = create_client("--name", "CLI", "--redirect-uri", "http://127.0.0.1/cb", "--public")
    assert text == f"Client ID: {Client.objects.get().client_id}\n"
    both = create_client(
        "--name", "Two", "--redirect-uri", CALLBACK, "--redirect-uri", f"{CALLBACK}2"
    )
    assert len(both.splitlines()) == 2
    assert len(Client.objects.get(name="Two").redirect_uris) == 2


@pytest.mark.usefixtures("db")
def test_spec5_the_command_refuses_what_registration_refuses() -> None:
    with pytest.raises(CommandError, match="wildcard"):
        create_client("--name", "X", "--redirect-uri", "https://example.com/*")
    assert not Client.objects.exists()


@pytest.mark.usefixtures("db")
def test_spec5_inherited_commands_work_or_name_the_one_to_use() -> None:
    with pytest.raises(CommandError, match="create_client"):
        call_command("createapplication")
    for name in ("cleartokens", "clearcimdapplications"):
        out = StringIO()
        call_command(name, "--dry-run", stdout=out)
        assert "unused clients: 0 due" in out.getvalue()
