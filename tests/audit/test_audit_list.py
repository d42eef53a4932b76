"""The audit list in the admin: what each filter, search and page shows, and how it is found."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client

from audit import list_filters, listing
from audit.admin import ActionExecutionAdmin
from audit.models import ActionExecution
from foundation.admin_urls import row_url
from tests.audit import calls
from tests.drivers import query_plans
from tests.drivers.statements import Statement, record_statements
from workspace.models import Organization, User

LIST = "/admin/audit/actionexecution/"
NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)
MINE, THEIRS = "6f1d0a52-4c0e-4a57-9a53-0c8a1f6f2b11", "b3c7f9d4-21aa-4e0b-8a53-77e0d2a4c922"
CONNECTION = "2a9a7c10-9c55-4a44-8f1c-5b8f6f0e3d33"
# One value of each filter, and the columns of a row that has it.
FILTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "outcome": ("interrupted", {"outcome": "interrupted"}),
    "reason": ("scope_denied", {"outcome": "refused", "reason": "scope_denied"}),
    "integration": ("stripe", {"integration": "stripe"}),
    "tool": ("stripe.refund", {"tool": "stripe.refund"}),
    "surface": ("airlock", {"surface": "airlock"}),
    "organization": (MINE, {"organization_id": MINE}),
    "client": ("client-1", {"client_id": "client-1", "client_name": "Claude"}),
    "actor": ("person", {"actor_kind": "person"}),
    "period": ("2026-10", {}),
}
SEARCHED: dict[str, dict[str, Any]] = {
    "0194aaaa0000700080000000000000ff": {"request_id": "0194aaaa0000700080000000000000ff"},
    CONNECTION: {"authorization_id": CONNECTION},
    "https://client.example/metadata.json": {"client_id": "https://client.example/metadata.json"},
    "ada@acme.example": {"user_email": "ada@acme.example"},
}


@pytest.fixture
def root(client: Client, db: None) -> Client:  # noqa: ARG001  a fixture
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def shown_keys(http: Client, **query: str) -> list[str]:
    """The keys of the rows that the list shows, in its order."""
    page = http.get(LIST, query)
    # An unknown filter sends the browser back to the whole list.
    assert page.status_code == 200, page.headers.get("Location")
    return [str(one.pk) for one in page.context["cl"].result_list]


def test_the_filters_are_those_that_these_tests_know() -> None:
    offered = ActionExecutionAdmin.list_filter
    assert [getattr(one, "parameter_name", one) for one in offered] == list(FILTERS)


@pytest.mark.parametrize("name", FILTERS)
def test_a16_each_filter_narrows_the_list_to_what_it_names(root: Client, name: str) -> None:
    value, columns = FILTERS[name]
    at = datetime(2026, 10, 5, tzinfo=UTC) if name == "period" else NOW
    wanted = calls.put(at, **columns)
    calls.put(NOW, organization_id=THEIRS, client_id="other")
    calls.put(NOW, outcome="refused", reason="agent_disabled", integration="slack")

    assert shown_keys(root, **{name: value}) == [str(wanted.pk)]
    assert len(shown_keys(root)) == 3


@pytest.mark.parametrize(
    "name", ["reason", "integration", "tool", "surface", "organization", "client"]
)
def test_a_filter_offers_the_values_of_the_newest_rows(root: Client, name: str) -> None:
    value, columns = FILTERS[name]
    calls.put(NOW, **columns)

    assert f"?{name}={value}" in root.get(LIST).content.decode()


@pytest.mark.parametrize("name", FILTERS)
def test_a_value_that_no_row_has_shows_no_row(root: Client, name: str) -> None:
    calls.put(NOW)
    absent = "1999" if name == "period" else "absent"

    assert shown_keys(root, **{name: absent}) == []
    assert "No matching calls." in root.get(LIST, {name: absent}).content.decode()


@pytest.mark.parametrize("text", SEARCHED)
def test_a16_the_search_finds_exact_values_only(root: Client, text: str) -> None:
    wanted = calls.put(NOW, **SEARCHED[text])
    for columns in SEARCHED.values():
        if columns != SEARCHED[text]:
            calls.put(NOW, **columns)
    calls.put(NOW)

    assert shown_keys(root, q=text) == [str(wanted.pk)]
    assert shown_keys(root, q=f" {text} ") == [str(wanted.pk)]
    assert shown_keys(root, q=text[:-1]) == []


def test_an_id_is_found_with_hyphens_and_without(root: Client) -> None:
    key = uuid4()
    first = calls.put(NOW, request_id=key.hex)
    second = calls.put(NOW + timedelta(seconds=1), authorization_id=str(key))

    assert shown_keys(root, q=str(key)) == [str(second.pk), str(first.pk)]
    assert shown_keys(root, q=key.hex) == [str(second.pk), str(first.pk)]


def test_the_search_box_says_what_it_matches(root: Client) -> None:
    page = root.get(LIST).content.decode()
    for words in ("request id", "authorization id", "client id", "email address"):
        assert words in page.partition('id="searchbar_helptext"')[2].partition("</div>")[0]


def test_filters_search_and_period_narrow_together(root: Client) -> None:
    wanted = {"outcome": "refused", "tool": "stripe.refund", "user_email": "ada@acme.example"}
    match = calls.put(NOW, **wanted)
    for name in wanted:
        others = {key: value for key, value in wanted.items() if key != name}
        calls.put(NOW, **others)
    calls.put(NOW - timedelta(days=40), **wanted)

    found = shown_keys(
        root, outcome="refused", tool="stripe.refund", q="ada@acme.example", period="2026-11-22"
    )
    assert found == [str(match.pk)]


@pytest.mark.parametrize(
    ("period", "first", "beyond"),
    [
        ("2025", datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
        ("2024-12", datetime(2024, 12, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
    ],
)
def test_a_period_begins_and_ends_to_the_millisecond(
    root: Client, period: str, first: datetime, beyond: datetime
) -> None:
    inside = [calls.put(beyond - timedelta(milliseconds=1)), calls.put(first)]
    calls.put(first - timedelta(milliseconds=1))
    calls.put(beyond)

    assert shown_keys(root, period=period) == [str(one.pk) for one in inside]


def test_periods_are_offered_within_the_first_and_the_last_row(root: Client) -> None:
    calls.put(datetime(2025, 11, 30, tzinfo=UTC))
    calls.put(datetime(2026, 2, 1, tzinfo=UTC))

    def offered_periods(**query: str) -> list[str]:
        specs = root.get(LIST, query).context["cl"].filter_specs
        (period,) = [one for one in specs if one.parameter_name == "period"]
        return [value for value, _label in period.lookup_choices]

    assert offered_periods() == ["2025", "2026"]
    assert offered_periods(period="2026") == ["2026", "2026-01", "2026-02"]
    assert offered_periods(period="2026-02") == ["2026", "2026-02", "2026-02-01"]


@pytest.mark.parametrize("period", ["2026-13", "2026-02-30", "yesterday", "0000", "2026-1", "9999"])
def test_a_period_that_is_none_leads_back_to_the_list(root: Client, period: str) -> None:
    assert root.get(LIST, {"period": period}).status_code == 302


def test_older_calls_follow_page_by_page_without_gap_or_repeat(root: Client) -> None:
    rows = [calls.row(NOW + timedelta(seconds=number)) for number in range(120)]
    ActionExecution.objects.bulk_create(rows)
    seen: list[str] = []
    link, pages = LIST, 0
    while link:
        page = root.get(link).context["cl"]
        seen += [str(one.pk) for one in page.result_list]
        link = page.older and LIST + page.older
        pages += 1

    assert seen == [str(one.pk) for one in reversed(rows)]
    assert pages == 3


@pytest.mark.usefixtures("small_bounds")
def test_a_search_that_ends_at_its_bound_says_so_and_can_be_continued(root: Client) -> None:
    wanted = calls.put(NOW, tool="rare", outcome="success")
    later = [calls.row(NOW + timedelta(seconds=1 + number)) for number in range(250)]
    ActionExecution.objects.bulk_create(later)

    link, seen, steps = f"{LIST}?tool=rare&outcome=success", [], 0
    while link:
        response = root.get(link)
        page = response.context["cl"]
        seen += [one.pk for one in page.result_list]
        if page.older:
            assert "Continue with older calls" in response.content.decode()
        link = page.older and LIST + page.older
        steps += 1

    assert seen == [wanted.pk]
    assert steps == 5


def test_made_up_tool_names_do_not_fill_the_page_with_links(root: Client) -> None:
    for number in range(list_filters.MAX_VALUES + 20):
        calls.put(NOW, tool=f"made.up_{number:03}")

    page = root.get(LIST).content.decode()

    assert page.count("?tool=made.up_") == list_filters.MAX_VALUES
    assert len(shown_keys(root, tool="made.up_059")) == 1


def test_the_list_is_called_audit_log_and_shows_seconds_and_zone(root: Client) -> None:
    calls.put(NOW)
    page = root.get(LIST).content.decode()

    assert "<h1>Audit log</h1>" in page
    assert '<time datetime="2026-11-22T12:00:00+00:00"' in page
    assert "Nov 22, 2026, 12:00:00 UTC" in page
    assert "?o=" not in page
    assert "Show counts" not in page


def test_the_list_names_organizations(root: Client) -> None:
    place = Organization.objects.create(name="Acme", slug="acme", widget_key="acme")
    calls.put(NOW, organization_id=str(place.pk))

    page = root.get(LIST).content.decode()
    assert f'<td class="field-organization"><a href="{row_url(place)}">Acme</a></td>' in page
    assert f"?organization={place.pk}" in page


# How it is found. --------------------------------------------------------------------------------


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds in proportion to a table that a test can fill."""
    monkeypatch.setattr(listing, "LOOKED_AT", 60)
    monkeypatch.setattr(list_filters, "AMONG", 60)


@pytest.fixture
def many(small_bounds: None, db: None) -> None:  # noqa: ARG001  fixtures
    """Rows enough that reading them all is a cost."""
    query_plans.start_empty(ActionExecution)
    rows = []
    for number in range(1_200):
        problem = {"outcome": "refused", "reason": "scope_denied"} if number % 10 == 0 else {}
        columns = {
            "organization_id": MINE if number % 3 else THEIRS,
            "client_id": f"client-{number % 5}",
            "user_email": f"person-{number % 7}@acme.example",
            "authorization_id": CONNECTION if number % 9 == 0 else str(uuid4()),
            "request_id": uuid4().hex,
            "integration": "stripe" if number % 4 == 0 else "",
            "tool": "stripe.refund" if number % 4 == 0 else "search_docs",
        }
        rows.append(calls.row(NOW - timedelta(seconds=number), **(columns | problem)))
    ActionExecution.objects.bulk_create(rows)
    query_plans.gather_statistics()


SINGLE = [
    "",
    "outcome=success",
    "outcome=refused",
    "outcome=interrupted",
    "reason=scope_denied",
    "integration=stripe",
    "integration=",
    "tool=stripe.refund",
    "tool=absent",
    f"organization={MINE}",
    "client=client-1",
    "actor=mcp_client",
    "actor=person",
    "period=2026",
    "period=2026-11",
    "period=2026-11-22",
]
COMBINED = [
    *[f"q={text}" for text in ("absent", CONNECTION, "client-1", "person-1@acme.example")],
    "outcome=refused&tool=stripe.refund",
    f"outcome=interrupted&organization={MINE}&period=2026-11",
    "q=client-1&reason=scope_denied&integration=stripe&period=2026-11-22",
    "outcome=success&before=01a1d000-0000-7000-8000-000000000000",
]


@pytest.mark.usefixtures("many")
def test_every_filter_and_search_walks_indexes_only(root: Client) -> None:
    for query in (*SINGLE, *COMBINED):
        with record_statements() as received:
            assert root.get(f"{LIST}?{query}").status_code == 200, query

        ours = [one for one in received if "FROM action_executions WHERE" in one.sql]
        # The ends of the time, the values to filter by, how far to look, and the rows of the page.
        assert 3 <= len(ours) <= 4, query
        # Four of them are the names of people, clients, organizations and projects.
        assert len(received) <= 11, query
        assert {one.sql: whole for one in ours if (whole := _walked_whole(one))} == {}, query


@pytest.mark.usefixtures("many")
def test_a_list_of_some_organizations_walks_indexes_only() -> None:
    scoped = ActionExecution.objects.filter(organization_id__in=[MINE, THEIRS])
    for query in ("", "outcome=refused", "tool=absent", "q=client-1"):
        rows = scoped
        for name, value in QueryDict(query).items():
            rows = rows.filter(**{"client_id" if name == "q" else name: value})
        with record_statements() as received:
            found = listing.newest(rows, 50)
            listing.recent_values(scoped, list_filters.RECENT, 100)
            listing.span(scoped)

        expected = list(rows.order_by("-pk").values_list("pk", flat=True)[:50])
        assert list(found.keys) == expected[: len(found.keys)], query
        assert {one.sql: whole for one in received if (whole := _walked_whole(one))} == {}, query


def _walked_whole(statement: Statement) -> list[str]:
    """The walks of a statement that read more of an index than they have to."""
    walks = statement.sql.count("FROM action_executions WHERE")
    if connection.vendor == "postgresql":
        return query_plans.whole_tables(statement)
    steps = query_plans.sqlite_steps(statement)
    searches = [step for step in steps if step.startswith("SEARCH action_executions USING")]
    # What is left over are the walks' own results, under the names of subqueries.
    return [] if len(searches) == walks else steps
