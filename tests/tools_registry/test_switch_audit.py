"""Who turned which switch and when: one entry and one event a change, whichever page it was on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import Error, connection
from django.test import Client, TestCase
from django.urls import reverse

from audit import record
from audit.models import SecurityEvent
from foundation.admin_urls import model_url, row_url
from tests.drivers.grants import Grant, make_grant
from tests.drivers.shown_forms import save
from tests.drivers.switches_page import SwitchesPage
from tools_registry.models import ActionToggle, IntegrationMode
from workspace import changes
from workspace.models import FeatureFlag, Organization, User

pytestmark = pytest.mark.usefixtures("lab")

FIND = "action crm.find_contact for ask_ai"
MODE = "Actions mode of crm"
Events = list[tuple[str, str]]


@pytest.fixture
def root(grant: Grant) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_superuser("root@halo.example")


@pytest.fixture
def browser(root: User) -> Client:
    client = Client(REMOTE_ADDR="203.0.113.7")
    client.force_login(root)
    return client


@pytest.fixture
def board(browser: Client, grant: Grant) -> SwitchesPage:
    return SwitchesPage(browser, grant.organization.pk)


@pytest.fixture
def message(grant: Grant, root: User) -> Callable[[Callable[[], object]], Events]:
    """What an act leaves on record of the organization, once history and events agree on it."""

    def acting(act: Callable[[], object]) -> Events:
        entries = history(grant.organization)
        seen = set(entries.values_list("pk", flat=True))
        act()
        fresh = [entry for entry in entries.all() if entry.pk not in seen]
        found = []
        for entry in fresh:
            event = SecurityEvent.objects.get(subject=f"history:{entry.pk}")
            assert (event.user_id, event.count) == (str(root.pk), 1)
            assert event.organization_id == str(grant.organization.pk)
            assert event.address_prefix == "203.0.113.0/24"
            assert event.detail == f"{entry.change_message} by {root}"
            assert entry.user == root
            found.append((event.kind, entry.change_message))
        return found

    return acting


def history(organization: Organization) -> Any:
    """Entries about switches: Django's own of the same page are a list in JSON."""
    of_organizations = ContentType.objects.get_for_model(Organization)
    entries = LogEntry.objects.filter(content_type=of_organizations, object_id=str(organization.pk))
    return entries.exclude(change_message__startswith="[").order_by("pk")


def make_save(browser: Client, address: str, fields: dict[str, Any]) -> Callable[[], None]:
    def act() -> None:
        reply = save(browser, address, fields)
        assert reply.status_code == 302, reply.content.decode()

    return act


def test_each_switch_of_the_switchboard(board: SwitchesPage, message: Any) -> None:
    def press_twice(label: str) -> Events:
        found: Events = [*message(lambda: board.press(label)), *message(lambda: board.press(label))]
        return found

    flag, mode = "flag mcp_server", "integration_mode_changed"
    assert press_twice("MCP server") == [
        ("flag_changed", f"{flag}: on -> off"),
        ("flag_changed", f"{flag}: off -> on"),
    ]
    assert press_twice("Actions mode of CRM") == [
        (mode, f"{MODE}: on -> off"),
        (mode, f"{MODE}: off -> on"),
    ]
    assert press_twice("Find a contact") == [
        ("action_toggled", f"{FIND}: off -> on"),
        ("action_toggled", f"{FIND}: on -> off"),
    ]
    assert board.read().one("section", **{"aria-labelledby": "halo-recent"}).text.count("->") == 6


def test_a_click_that_changes_nothing_leaves_nothing(board: SwitchesPage, message: Any) -> None:
    for switch, to in (("flag:mcp_server", "on"), ("mode:crm", "on"), ("shown:", "off")):
        assert message(make_save(board.browser, board.path, {"switch": switch, "to": to})) == []
    rows = (LogEntry, SecurityEvent, FeatureFlag, IntegrationMode, ActionToggle)
    assert [model.__name__ for model in rows if model.objects.exists()] == []


def test_many_at_once_are_as_many_on_record(board: SwitchesPage, message: Any) -> None:
    fields = {"switch": "shown:crm", "to": "on", "confirmed": "1"}
    assert message(make_save(board.browser, board.path, fields)) == [
        ("action_toggled", "action crm.create_deal for ask_ai: off -> on"),
        ("action_toggled", f"{FIND}: off -> on"),
    ]
    assert {toggle.updated_by_id for toggle in ActionToggle.objects.all()} == {
        LogEntry.objects.latest("pk").user_id
    }


def test_the_page_of_a_mode_turns_actions_and_connects_nothing(
    browser: Client, grant: Grant, message: Any
) -> None:
    fields: dict[str, Any] = {"organization": grant.organization.pk, "integration": "crm"}
    by_hand = {"connection": "connected", "settings": '{"portal": "1"}'}
    add = reverse("admin:tools_registry_integrationmode_add")
    off = ("integration_mode_changed", f"{MODE}: on -> off")
    assert message(make_save(browser, add, fields | by_hand)) == [off]
    row = IntegrationMode.objects.get()
    assert (row.connection, row.settings) == ("not_connected", {})
    assert message(make_save(browser, row_url(row), fields | by_hand)) == []
    assert not LogEntry.objects.filter(object_id=str(row.pk), change_message="[]").exists()
    on = ("integration_mode_changed", f"{MODE}: off -> on")
    assert message(make_save(browser, row_url(row), fields | {"actions_on": "on"})) == [on]


def test_the_page_of_an_action(browser: Client, grant: Grant, message: Any) -> None:
    agent = grant.organization.agents.get()
    fields = {"agent": agent.pk, "integration": "crm", "action": "find_contact", "enabled": "on"}
    add = reverse("admin:tools_registry_actiontoggle_add")
    assert message(make_save(browser, add, fields)) == [("action_toggled", f"{FIND}: off -> on")]
    row = ActionToggle.objects.get()
    del fields["enabled"]
    assert message(make_save(browser, row_url(row), fields)) == [
        ("action_toggled", f"{FIND}: on -> off")
    ]
    assert message(make_save(browser, row_url(row), fields)) == []


@pytest.mark.parametrize("way", ["one", "chosen"])
def test_rows_that_are_deleted(browser: Client, grant: Grant, message: Any, way: str) -> None:
    grant.connect("crm", enabled=("find_contact",), actions_on=False)

    def remove(row: Any) -> Events:
        chosen = {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"}
        if way == "one":
            found: Events = message(make_save(browser, row_url(row, "delete"), {"post": "yes"}))
        else:
            found = message(make_save(browser, model_url(type(row)), chosen))
        return found

    assert remove(ActionToggle.objects.get()) == [("action_toggled", f"{FIND}: on -> off")]
    assert remove(IntegrationMode.objects.get()) == [
        ("integration_mode_changed", f"{MODE}: off -> on"),
        ("integration_connection_changed", "connection of crm: connected -> not_connected"),
    ]


def test_a_row_that_is_given_to_another_organization_is_on_record_in_both(
    browser: Client, grant: Grant, message: Any
) -> None:
    other = make_grant().organization
    grant.connect("crm", enabled=("find_contact",))
    fields: dict[str, Any] = {
        "agent": other.agents.get().pk,
        "integration": "crm",
        "action": "find_contact",
    }
    here = message(
        make_save(browser, row_url(ActionToggle.objects.get()), fields | {"enabled": "on"})
    )
    assert here == [("action_toggled", f"{FIND}: on -> off")]
    assert f"{FIND}: off -> on" in history(other).values_list("change_message", flat=True)


def test_a_mode_is_given_to_no_other_organization_and_no_other_vendor(
    browser: Client, grant: Grant, message: Any
) -> None:
    other = make_grant().organization
    grant.connect("crm")
    row = IntegrationMode.objects.get()
    fields: dict[str, Any] = {"organization": other.pk, "integration": "desk", "actions_on": "on"}
    assert message(make_save(browser, row_url(row), fields)) == []
    row.refresh_from_db()
    assert (row.organization_id, row.integration) == (grant.organization.pk, "crm")


def test_a_flag_on_the_page_of_its_organization(
    browser: Client, grant: Grant, message: Any
) -> None:
    organization = grant.organization
    agent = organization.agents.get()

    def form(**flag: Any) -> dict[str, Any]:
        fields = {"name": organization.name, "slug": organization.slug}
        fields |= {"time_zone": "UTC", "currency": "USD"}
        fields |= {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
        fields |= {"agents-TOTAL_FORMS": 1, "agents-INITIAL_FORMS": 1, "agents-0-id": agent.pk}
        # Renamed meanwhile: no switch is another one for that.
        fields |= {"agents-0-name": f"{agent.name} 2", "flags-TOTAL_FORMS": 1}
        initial = {"flags-INITIAL_FORMS": int("id" in flag), "flags-0-name": "mcp_server"}
        given = {f"flags-0-{name}": value for name, value in flag.items()}
        return fields | initial | {"flags-0-organization": organization.pk} | given

    off, on = ("flag_changed", "flag mcp_server: on -> off"), "flag mcp_server: off -> on"
    grant.connect("crm", enabled=("find_contact",))
    assert message(make_save(browser, row_url(organization), form())) == [off]
    row = FeatureFlag.objects.get()
    gone = form(id=row.pk, DELETE="on")
    assert message(make_save(browser, row_url(organization), gone)) == [("flag_changed", on)]
    assert not FeatureFlag.objects.exists()


def test_what_cannot_be_put_on_record_does_not_happen(
    board: SwitchesPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object, **_facts: object) -> None:
        raise Error("the disk is full")

    monkeypatch.setattr(record, "security_event", full)
    with pytest.raises(Error):
        board.send(switch="mode:crm", to="off")
    assert not connection.needs_rollback
    assert not IntegrationMode.objects.exists()
    assert not LogEntry.objects.exists()


def test_a_change_is_published_to_those_who_listen_and_a_click_without_one_is_not(
    board: SwitchesPage, settings: Any, tmp_path: Path
) -> None:
    settings.HALO_NOTICES = str(tmp_path / "notices")
    for to, is_published in (("off", True), ("off", False), ("on", True)):
        Path(settings.HALO_NOTICES).unlink(missing_ok=True)
        with TestCase.captureOnCommitCallbacks(execute=True):
            board.send(switch="mode:crm", to=to)
        assert Path(settings.HALO_NOTICES).exists() == is_published
    assert changes.topic(board.organization_id) in Path(settings.HALO_NOTICES).read_text()
