"""The list of security events: by topic, subject and organization, and what it costs."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from agents.models import AgentDefinition
from audit import record
from audit.models import SecurityEvent
from foundation.admin_urls import page_url, row_url
from tests.drivers import full_tenants, query_plans
from tests.drivers.statements import record_statements
from workspace.models import Membership, Organization, User

EVENTS = "/admin/audit/securityevent/"
NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def root(client: Client, db: None) -> Client:  # noqa: ARG001  a fixture
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def put(kind: str, **columns: str) -> None:
    record.security_event(kind, address="192.0.2.1", **columns)


def rows_of(browser: Client, query: str) -> list[str]:
    """The details of the events that the list shows."""
    found = browser.get(f"{EVENTS}?{query}").context["cl"].result_list
    return sorted(row.detail for row in found)


def test_a_topic_has_the_events_of_its_kinds(root: Client) -> None:
    put("member_suspended", detail="suspended")
    put("role_changed", detail="regraded")
    put("policy_changed", detail="policy")
    put("action_toggled", detail="switch")
    assert rows_of(root, "topic=members") == ["regraded", "suspended"]
    assert rows_of(root, "topic=policies") == ["policy"]
    assert rows_of(root, "topic=switches") == ["switch"]
    assert rows_of(root, "topic=nonsense") == []


def test_a_subject_is_named_in_its_filter_and_has_its_own_events_only(root: Client) -> None:
    person = User.objects.create_user("ada@acme.example")
    put("member_suspended", subject=str(person.pk), detail="hers")
    put("member_suspended", subject=str(root.session["_auth_user_id"]), detail="of another")
    assert rows_of(root, f"subject={person.pk}") == ["hers"]
    assert "ada@acme.example" in root.get(f"{EVENTS}?subject={person.pk}").content.decode()


def test_members_agents_switches_and_organizations_lead_to_their_events(root: Client) -> None:
    tenant = full_tenants.tenant("Acme")
    place = tenant.organization
    membership = Membership.objects.filter(organization=place).first()
    agent = AgentDefinition.objects.filter(organization=place).first()
    assert membership is not None
    assert agent is not None
    of_place = f"organization={place.pk}"
    for page, query in (
        (row_url(membership), f"subject={membership.user_id}&topic=members&{of_place}"),
        (row_url(agent), f"subject={agent.pk}"),
        (row_url(place), of_place),
        (page_url("tools_registry_switchboard", place.pk), f"{of_place}&topic=switches"),
    ):
        shown = root.get(page, follow=True).content.decode().replace("&amp;", "&")
        assert f'href="{EVENTS}?{query}"' in shown, page


@pytest.fixture
def many(db: None) -> None:  # noqa: ARG001  opens the database
    """Events enough that reading them all is a cost."""
    query_plans.start_empty(SecurityEvent)
    Organization.objects.create(name="Mine", slug="mine", widget_key="mine")
    SecurityEvent.objects.bulk_create(
        SecurityEvent(
            kind=f"kind_{number % 40}" if number % 500 else "policy_changed",
            minute=NOW,
            address_prefix=f"192.0.{number}.0/24",
            subject=f"subject-{number % 300}",
            organization_id=f"organization-{number % 40}",
            last_at=NOW - timedelta(seconds=number),
        )
        for number in range(6_000)
    )
    query_plans.gather_statistics()


@pytest.mark.usefixtures("many")
def test_every_filter_of_events_reads_an_index(root: Client) -> None:
    for query in (
        *("", "kind=policy_changed", "topic=policies", "topic=members", "subject=subject-7"),
        *("organization=organization-7", "subject=subject-7&topic=policies"),
    ):
        with record_statements() as received:
            assert root.get(f"{EVENTS}?{query}").status_code == 200, query
        of_events = [one for one in received if '"security_events"' in one.sql]
        assert of_events
        for statement in of_events:
            if "WHERE" not in statement.sql:
                assert "LIMIT" in statement.sql  # the newest rows of the index by time
                continue
            whole = {*query_plans.whole_tables(statement)} - {"SCAN subquery"}
            assert not whole, (query, statement.sql)
            assert query_plans.index_conditions(statement), (query, statement.sql)


@pytest.mark.usefixtures("many")
def test_a_page_of_events_is_named_in_one_statement_for_each_model(root: Client) -> None:
    for number in range(30):
        person = User.objects.create_user(f"person-{number}@acme.example")
        put("member_suspended", subject=str(person.pk), user_id=str(person.pk))
    with record_statements() as received:
        page = root.get(f"{EVENTS}?topic=members").content.decode()
    assert "person-29@acme.example" in page
    assert sum('FROM "workspace_user"' in one.sql for one in received) <= 2
