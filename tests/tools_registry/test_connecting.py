"""An admin connects an integration on its page, and the connection says how it stands."""

import html
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.models import ActionExecution, SecurityEvent
from foundation import outbound, sealing
from foundation.admin_urls import page_url, row_url
from foundation.outbound import retry
from foundation.outbound.breaker import FAILURES
from tests.drivers.fake_vendors import help_desk, site
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.shown_forms import forms_of
from tools_registry.models import ConnectionState, Credential, IntegrationMode
from tools_registry.vendors import connecting, credentials
from workspace.models import User

READ, WRITE = "desk.get_ticket", "desk.comment"
KEY = "another-key-nobody-may-see"
REFUSED = "Help desk refused the organization's credential."
HELLO = site.saying({"desk": "of Acme"})


@pytest.fixture
def vendor(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.001)
    with help_desk.open_desk(settings) as opened:
        opened.usual = HELLO
        yield opened


def staff(*permissions: str, email: str = "staff@acme.example") -> Client:
    user = User.objects.create_user(email, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    return client


class Page:
    """The page of one organization's desk, in the browser of somebody on the staff."""

    def __init__(self, grant: Grant, browser: Client) -> None:
        self.grant = grant
        self.browser = browser
        page = "tools_registry_integrationmode_connect"
        self.url = page_url(page, grant.organization.pk, "desk")

    def read(self) -> str:
        response = self.browser.get(self.url)
        assert response.status_code == 200
        assert "no-store" in response["Cache-Control"]
        return html.unescape(response.content.decode())

    def act(self, act: str, **filled: str) -> str:
        """Press a button; returns the text of the page behind it."""
        form = next(one for one in forms_of(self.browser, self.url) if "act" in one.fields)
        sent = {one: form.fields[one][0] for one in ("csrfmiddlewaretoken", "shown_values")}
        sent |= {n.replace("_", "-", 1): value for n, value in {**filled, "act": act}.items()}
        response = self.browser.post(self.url, sent, follow=True)
        assert response.status_code == 200
        return html.unescape(response.content.decode())

    def connect(self, key: str = KEY, queue: str = "billing") -> str:
        return self.act("connect", credential=key, setting_queue=queue)

    @property
    def mode(self) -> IntegrationMode:
        return IntegrationMode.objects.get(organization=self.grant.organization, integration="desk")


@pytest.fixture
def page(grant: Grant, vendor: Site) -> Page:  # noqa: ARG001  its site has to be there
    return Page(grant, staff("change_integrationmode", "view_integrationmode"))


@pytest.fixture
def mcp(grant: Grant, vendor: Site) -> McpClient:  # noqa: ARG001  as above
    help_desk.connect(grant)
    return McpClient(grant.token())


def standing_of(page: Page) -> tuple[str, str]:
    return page.mode.connection, page.mode.last_error


def test_an_admin_connects_and_the_next_request_uses_it(page: Page, vendor: Site) -> None:
    page.grant.connect("desk", enabled=help_desk.ACTIONS, connection=ConnectionState.NOT_CONNECTED)
    mcp = McpClient(page.grant.token())
    assert READ not in mcp.tool_names()
    assert "Help desk is connected: the desk of Acme." in page.connect()
    assert READ in mcp.tool_names()
    assert mcp.call("desk.open_ticket").facts == {"desk": "of Acme"}
    assert vendor.seen[-1].headers["authorization"] == f"Bearer {KEY}"
    assert vendor.seen[-1].json == {"queue": "billing"}


def test_it_works_before_there_is_a_row(page: Page) -> None:
    assert not IntegrationMode.objects.exists()
    page.connect()
    assert (page.mode.connection, page.mode.actions_on) == ("connected", True)
    assert page.mode.connected_at is not None
    assert page.mode.settings == {"queue": "billing"}


def test_the_credential_never_comes_out_again(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    pages = [page.connect(), page.read(), page.connect(key="bad key", queue="billing")]
    pages += [page.connect(key="k" * 5000), page.connect(key="secret\x00key")]
    change = row_url(page.mode)
    pages += [page.browser.get(change).content.decode()]
    kept = [entry.change_message for entry in LogEntry.objects.all()]
    kept += [event.detail for event in SecurityEvent.objects.all()]
    for text in (*pages, *kept, caplog.text, repr(Credential.objects.get())):
        assert KEY not in text
        assert "bad key" not in text
        assert "kkkkk" not in text
    assert KEY.encode() not in bytes(Credential.objects.get().sealed)


def test_who_connected_and_who_ended_it_is_on_record(page: Page) -> None:
    page.connect()
    page.act("disconnect")
    said = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert said == ["Credential and settings set.", "Disconnected."]
    events = SecurityEvent.objects.filter(subject=str(page.mode.pk)).order_by("first_at")
    assert [event.kind for event in events] == ["integration_set_up", "integration_disconnected"]
    who = str(User.objects.get(email="staff@acme.example").pk)
    assert {(event.user_id, event.organization_id) for event in events} == {
        (who, str(page.grant.organization.pk))
    }


def test_a_disconnected_integration_is_refused_and_its_credential_gone(
    page: Page, mcp: McpClient
) -> None:
    assert "The credential was deleted." in page.act("disconnect")
    assert mcp.call(READ).error["data"]["reason"] == "not_connected"
    assert not Credential.objects.exists()
    assert standing_of(page) == ("not_connected", "")


def test_settings_change_without_the_credential_being_typed_again(page: Page, vendor: Site) -> None:
    page.connect()
    page.connect(key="", queue="support")
    assert page.mode.settings == {"queue": "support"}
    assert vendor.seen[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("key", "queue"),
    [
        ("", "billing"),
        ("two words", "billing"),
        ("schl\xfcssel", "billing"),
        ("k" * 4097, "billing"),
        (KEY, ""),
        (KEY, "UPPER"),
        (KEY, "x\ny"),
        (KEY, "billing\n!"),
        (KEY, "a" * 201),
    ],
)
def test_a_form_that_is_not_right_changes_nothing(
    page: Page, vendor: Site, key: str, queue: str
) -> None:
    assert "Correct the errors below." in page.connect(key, queue)
    assert not IntegrationMode.objects.exists()
    assert not vendor.seen


def test_a_first_credential_that_is_refused_connects_nothing(page: Page, vendor: Site) -> None:
    vendor.usual = site.saying({}, 401)
    assert REFUSED in page.connect()
    assert standing_of(page) == ("not_connected", REFUSED)
    vendor.usual = HELLO
    assert "is connected" in page.act("check")
    assert standing_of(page) == ("connected", "")


def test_a_new_credential_that_is_refused_leaves_the_one_that_works(
    page: Page, vendor: Site
) -> None:
    page.connect()
    page.grant.connect("desk", enabled=help_desk.ACTIONS)
    vendor.usual = accepting(KEY)
    said = page.connect(key="expired", queue="support")
    assert f"Help desk was not changed, because the check failed: {REFUSED}" in said
    assert standing_of(page) == ("connected", "")
    assert page.mode.settings == {"queue": "billing"}
    assert McpClient(page.grant.token()).call(READ).facts == {"desk": "of Acme"}
    assert LogEntry.objects.count() == 1
    assert not SecurityEvent.objects.filter(kind="credential_refused").exists()


def test_a_new_credential_that_is_accepted_shows_what_was_connected_before(
    page: Page, vendor: Site
) -> None:
    page.connect()
    vendor.script(HELLO, site.saying({"desk": "of Other"}))
    said = page.connect(key="new-key")
    assert "Help desk is connected: the desk of Other." in said
    assert "The credential before was connected to: the desk of Acme." in said
    assert [seen.headers["authorization"] for seen in vendor.seen[1:]] == [
        f"Bearer {KEY}",
        "Bearer new-key",
    ]
    assert LogEntry.objects.count() == 2


def test_a_new_credential_is_not_kept_after_the_connection_was_ended_meanwhile(
    page: Page, vendor: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.connect()
    fetch = outbound.fetch

    def disconnect_and_fetch(*args: Any, **more: Any) -> Any:
        connecting.disconnect(page.mode)
        return fetch(*args, **more)

    monkeypatch.setattr(outbound, "fetch", disconnect_and_fetch)
    assert "was not changed" in page.connect(key="new-key")
    assert not Credential.objects.exists()
    assert len(vendor.seen) > 0


def accepting(key: str) -> Any:
    """A vendor that takes one key."""

    def answer(handler: Any) -> None:
        is_known = handler.headers["Authorization"] == f"Bearer {key}"
        (HELLO if is_known else site.saying({}, 401))(handler)

    return answer


@pytest.mark.parametrize(
    ("integration", "given", "message"),
    [
        ("slack", "xoxp-1234", "This is a user token: messages would be posted in that person's"),
        ("slack", "xapp-1-A", "This is an app-level token"),
        ("slack", "https://hooks.slack.com/services/T0", "This is an incoming webhook."),
        ("linear", "lin_oauth_1", "This is a token of an OAuth application."),
        ("stripe", "pk_live_1", "This is a publishable key"),
        ("stripe", "sk_org_live_1", "This is a key of an organization, which names no account."),
    ],
)
def test_a_credential_of_another_kind_is_refused_by_name(
    page: Page, integration: str, given: str, message: str
) -> None:
    name = "tools_registry_integrationmode_connect"
    page.url = page_url(name, page.grant.organization.pk, integration)
    said = page.act("connect", credential=given)
    assert message in said
    assert given not in said
    assert not IntegrationMode.objects.exists()


@pytest.mark.parametrize("answer", ["garbage", "shape", "reset"])
def test_a_check_that_fails_says_why_and_keeps_an_old_connection_trying(
    page: Page, vendor: Site, answer: str
) -> None:
    page.connect()
    bad = {"garbage": site.GARBAGE, "shape": site.saying([1]), "reset": site.resetting}
    vendor.usual = bad[answer]
    text = page.act("check")
    assert "with this credential" in text
    state, error = standing_of(page)
    assert state == "failing"
    assert error in text


def test_a_check_goes_out_although_calls_have_given_the_vendor_up(
    page: Page, mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 503)
    for _ in range(FAILURES):
        mcp.call(WRITE)
    vendor.usual = HELLO
    assert "is connected" in page.act("check")
    assert mcp.call(READ).facts == {"desk": "of Acme"}


def test_a_check_without_a_credential_asks_nobody(page: Page, vendor: Site) -> None:
    assert "No credential is saved." in page.act("check")
    assert not vendor.seen


@pytest.mark.django_db(transaction=True)
def test_the_vendor_is_asked_behind_the_transaction(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    fetch = outbound.fetch

    def looking(*args: Any, **more: Any) -> Any:
        inside.append(connection.in_atomic_block)
        return fetch(*args, **more)

    monkeypatch.setattr(outbound, "fetch", looking)
    page.connect()
    assert inside == [False]


@pytest.mark.parametrize("method", ["get", "post"])
def test_only_who_may_change_the_mode_gets_the_page(page: Page, method: str) -> None:
    viewer = staff("view_integrationmode", email="viewer@acme.example")
    viewer.handler.enforce_csrf_checks = False
    assert getattr(viewer, method)(page.url, {"act": "check"}).status_code == 403
    event = SecurityEvent.objects.get(kind="admin_refused")
    assert event.detail == f"{method.upper()} {page.url}"
    member = Client()
    member.force_login(User.objects.create_user("member@acme.example"))
    assert getattr(member, method)(page.url, {"act": "check"}).status_code == 302
    assert not IntegrationMode.objects.exists()


def test_a_form_of_another_site_changes_nothing(page: Page, mcp: McpClient) -> None:
    assert page.browser.post(page.url, {"act": "disconnect"}).status_code == 403
    assert mcp.call(READ).facts == {"desk": "of Acme"}


@pytest.mark.parametrize("act", ["", "drop"])
def test_an_unknown_button_does_nothing(page: Page, act: str) -> None:
    page.browser.handler.enforce_csrf_checks = False
    assert page.browser.post(page.url, {"act": act}).status_code == 404
    assert page.browser.put(page.url).status_code == 405


def test_what_is_unknown_has_no_page(page: Page) -> None:
    known, other = page.url, str(page.grant.user.pk)
    assert page.browser.get(known.replace("/desk/", "/nothing/")).status_code == 404
    assert page.browser.get(known.replace("/desk/", "/crm/")).status_code == 404
    wrong = known.replace(str(page.grant.organization.pk), other)
    assert page.browser.get(wrong).status_code == 404


def test_the_mode_s_own_page_leads_there(page: Page, mcp: McpClient) -> None:  # noqa: ARG001  the row
    change = row_url(page.mode)
    assert f'href="{page.url}"' in page.browser.get(change).content.decode()


# --- How a connection stands --------------------------------------------------------------------


def test_a_refused_credential_shows_and_the_next_success_sets_it_right(
    page: Page, mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 401)
    reply = mcp.call(READ)
    assert (reply.code, reply.error["message"]) == (-32002, REFUSED)
    row = ActionExecution.objects.latest("id")
    assert (row.outcome, row.reason, row.upstream_status) == (
        "integration_error",
        "unauthorized",
        401,
    )
    assert standing_of(page) == ("failing", REFUSED)
    assert REFUSED in page.read()
    event = SecurityEvent.objects.get(kind="credential_refused")
    assert (event.subject, event.detail) == (str(page.mode.pk), f"Help desk: {REFUSED}")
    assert READ in mcp.tool_names()
    vendor.usual = HELLO
    assert mcp.call(READ).facts == {"desk": "of Acme"}
    assert standing_of(page) == ("connected", "")


def test_a_permission_that_is_missing_is_not_the_credential_s_end(
    page: Page, mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 403)
    mcp.call(READ)
    assert standing_of(page) == ("connected", "")


def test_an_answer_that_comes_late_connects_nothing(
    page: Page, mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 401)
    mcp.call(READ)

    fetch = outbound.fetch
    vendor.usual = HELLO

    def late(*args: Any, **more: Any) -> Any:
        IntegrationMode.objects.update(connection=ConnectionState.NOT_CONNECTED)
        return fetch(*args, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(outbound, "fetch", late)
        mcp.call(READ)
    assert page.mode.connection == "not_connected"


@pytest.mark.parametrize("status", [200, 401])
def test_a_check_connects_nothing_that_was_ended_meanwhile(
    page: Page, mcp: McpClient, vendor: Site, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    fetch = outbound.fetch
    vendor.usual = site.saying({"desk": "of Acme"}, status)

    def disconnect_and_fetch(*args: Any, **more: Any) -> Any:
        connecting.disconnect(page.mode)
        return fetch(*args, **more)

    monkeypatch.setattr(outbound, "fetch", disconnect_and_fetch)
    page.act("check")
    assert (standing_of(page), READ in mcp.tool_names()) == (("not_connected", ""), False)


def writes_to_modes(captured: CaptureQueriesContext) -> int:
    written = [one["sql"] for one in captured.captured_queries if one["sql"].startswith("UPDATE")]
    return sum("tools_registry_integrationmode" in sql for sql in written)


@pytest.mark.parametrize(("status", "writes"), [(200, 0), (404, 0), (503, 0), (401, 1)])
def test_the_row_is_written_when_something_changes_and_only_then(
    mcp: McpClient, vendor: Site, status: int, writes: int
) -> None:
    vendor.usual = site.saying({}, status)
    with CaptureQueriesContext(connection) as captured:
        mcp.call(WRITE)
    assert writes_to_modes(captured) == writes


def test_refusals_one_after_the_other_change_the_row_once(
    page: Page, mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 401)
    mcp.call(READ)
    first = page.mode.last_error_at
    mcp.call(READ)
    assert page.mode.last_error_at == first
    assert SecurityEvent.objects.get(kind="credential_refused").count == 1


def test_a_vendor_that_is_given_up_shows_why_until_it_answers(
    page: Page, mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 503)
    for _ in range(FAILURES - 1):
        mcp.call(WRITE)
    assert standing_of(page) == ("connected", "")
    mcp.call(WRITE)
    assert standing_of(page) == ("connected", "Help desk answered 503.")
    vendor.usual = HELLO
    page.act("check")
    assert standing_of(page) == ("connected", "")


def test_a_credential_that_no_key_opens_shows_as_failing(
    page: Page, mcp: McpClient, settings: Any
) -> None:
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    message = "The stored credential cannot be decrypted."
    shown = page.read()
    assert "Credential cannot be decrypted" in shown
    assert "A credential is saved" not in shown
    assert "Connected" not in shown
    assert mcp.call(READ).error["message"] == message
    assert standing_of(page) == ("failing", message)
    page.connect()
    assert mcp.call(READ).facts == {"desk": "of Acme"}


def test_a_credential_moved_to_another_row_does_not_open(grant: Grant, vendor: Site) -> None:  # noqa: ARG001  the registry
    mode = help_desk.connect(grant)
    sealed = Credential.objects.get().sealed
    credentials.store(mode, "x")
    Credential.objects.update(sealed=sealed)
    reply = McpClient(grant.token()).call(READ)
    assert reply.error["message"] == "The stored credential cannot be decrypted."
