"""Reading over the HR API: pages, filters, entity tags, and what each resource has."""

import base64
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from people import employment, seeding, time_off
from people.api.operations import ALL
from people.models import (
    CustomField,
    CustomFieldValue,
    Document,
    EmploymentRecord,
    LedgerEntry,
    OrgUnit,
    OrgUnitMembership,
    Person,
    PersonProfile,
    PersonRelationship,
    ReferenceItem,
    ReferenceKind,
    TimeOff,
    TimeOffSettings,
)
from tests.people.api.program import Program
from tests.people.conftest import Office
from workspace.models import Organization

MONDAY = date(2026, 6, 1)
FRIDAY = MONDAY + timedelta(days=4)


def ids(reply: Any) -> list[str]:
    return [one["id"] for one in reply.data]


def test_a_person_is_answered_with_names_of_what_they_refer_to(
    office: Office, program: Program
) -> None:
    own = {"organization": office.organization}
    unit = OrgUnit.objects.create(**own, type="department", name="Engines")
    place = ReferenceItem.objects.create(**own, kind=ReferenceKind.WORK_PLACE, label="Berlin")
    status = ReferenceItem.objects.create(**own, kind=ReferenceKind.PROFILE_STATUS, label="Active")
    boss = office.person(first_name="Grace", last_name="Hopper")
    person = office.person(
        last_name="Lovelace",
        work_email="ada@office.example",
        manager=boss,
        department=unit,
        work_place=place,
        status=status,
        contracted_weekly_minutes=1200,
        start_date=date(2025, 1, 1),
    )
    found = program.get(f"people/{person.pk}").data
    assert found["id"] == person.pk
    assert found["display_name"] == "Ada Lovelace"
    assert found["department"] == {"id": unit.pk, "name": "Engines"}
    assert found["manager"] == {"id": boss.pk, "display_name": "Grace Hopper"}
    assert found["work_place"] == {"id": place.pk, "label": "Berlin"}
    assert (found["status"], found["fte"]) == ("Active", 0.5)
    assert (found["preferred_name"], found["work_type"], found["end_date"]) == (None, None, None)
    assert found["start_date"] == "2025-01-01"
    employed = program.get(f"people/{person.pk}/employment").data
    assert employed["department"] == {"id": unit.pk, "label": "Engines"}
    assert employed["person_id"] == person.pk


def test_a_list_has_pages_that_hold_each_row_once(office: Office, program: Program) -> None:
    people = {office.person(last_name=f"Same{number % 2}").pk for number in range(7)}
    seen, cursor = [], None
    while True:
        query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = program.get("people", **query)
        seen += ids(page)
        cursor = page.body["pagination"]["next_cursor"]
        assert page.body["pagination"]["has_more"] is (cursor is not None)
        if cursor is None:
            break
        assert page.body["pagination"]["limit"] == len(page.data) == 3
    assert len(seen) == 7
    assert set(seen) == people


def test_what_changed_since_is_listed_the_last_changed_first(
    office: Office, program: Program
) -> None:
    old, new, newest = (office.person() for _number in range(3))
    for number, one in enumerate((old, new, newest)):
        moment = datetime(2026, 5, 1 + number, tzinfo=UTC)
        Person.objects.filter(pk=one.pk).update(updated_at=moment)
    query = {"updated_since": "2026-05-02T00:00:00Z", "sort": "updated_at_desc", "limit": 1}
    first = program.get("people", **query)
    assert ids(first) == [newest.pk]
    cursor = first.body["pagination"]["next_cursor"]
    assert ids(program.get("people", **query, cursor=cursor)) == [new.pk]
    # A cursor belongs to the order that it was made in.
    assert program.get("people", cursor=cursor).code == "400 invalid_request"


def test_a_cursor_belongs_to_its_list(office: Office, program: Program) -> None:
    for _number in range(2):
        office.leave_of(office.person(), date(2026, 3, 2), date(2026, 3, 2))
    days = {"from": "2026-03-01", "to": "2026-03-31"}
    lists: dict[str, dict[str, str]] = {
        "time-off/who-is-out": days,
        "time-off": {"sort": "start_date"},
        "people": {},
        "time-off/balances": {},
    }
    for path, query in lists.items():
        first = program.get(path, **query, limit=1)
        cursor = first.body["pagination"]["next_cursor"]
        for other, others in lists.items():
            answer = program.get(other, **others, cursor=cursor)
            assert (answer.status == 200) is (other == path), (path, other)


def test_people_are_searched_by_every_word(office: Office, program: Program) -> None:
    ada = office.person(first_name="Ada", last_name="Lovelace", work_email="ada@x.example")
    office.person(first_name="Ada", last_name="Byron")
    assert ids(program.get("people", search="LOVE ada")) == [ada.pk]
    assert ids(program.get("people", search="x.example")) == [ada.pk]
    assert ids(program.get("people", search="%%")) == []


def test_time_off_is_filtered(office: Office, program: Program) -> None:
    boss = office.person()
    person = office.person(manager=boss)
    sick = office.category("Sick", is_sickness=True)
    waiting = office.leave_of(person, MONDAY, FRIDAY)
    approved = office.leave_of(boss, FRIDAY, FRIDAY, category=sick)

    def find_ids(**query: Any) -> list[str]:
        return ids(program.get("time-off", **query))

    assert find_ids() == [approved.pk, waiting.pk]
    assert find_ids(status="pending_approval") == [waiting.pk]
    assert find_ids(status="approved") == find_ids(person_id=boss.pk) == find_ids(type="Sick")
    assert find_ids(to="2026-06-04") == [waiting.pk]
    assert find_ids(from_="2026-06-06") == []
    out = program.get("time-off/who-is-out", from_="2026-06-05", to="2026-06-12")
    assert ids(out) == [approved.pk]
    (row,) = out.data
    assert (row["type"], row["balance_amount"], row["length"]) == ("Sick", 0.0, 1.0)
    assert (row["status_code"], row["status"]) == ("approved", "Approved")


@pytest.mark.parametrize("text", ["\0", "\udfff"])
def test_a_cursor_with_text_that_cannot_be_stored_is_refused(
    office: Office, program: Program, text: str
) -> None:
    office.person()
    office.person()
    cursor = program.get("people", limit=1).body["pagination"]["next_cursor"]
    packed = cursor.removeprefix("cursor_")
    column, value, _key = json.loads(base64.urlsafe_b64decode(packed + "=="))
    forged = base64.urlsafe_b64encode(json.dumps([column, value, text]).encode()).decode()
    reply = program.get("people", cursor=f"cursor_{forged.rstrip('=')}")
    assert (reply.code, reply.fields) == ("400 invalid_request", ["cursor"])


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("people", {"limit": "0"}, "limit"),
        ("people", {"limit": "101"}, "limit"),
        ("people", {"limit": "many"}, "limit"),
        ("people", {"search": "x"}, "search"),
        ("people", {"search": "x" * 121}, "search"),
        ("people", {"search": "a\0b"}, "search"),
        ("people", {"cursor": "cursor_????"}, "cursor"),
        ("people", {"cursor": "cursor_W10"}, "cursor"),
        ("people", {"updated_since": "yesterday"}, "updated_since"),
        ("people", {"sort": "name"}, "sort"),
        ("people", {"tenant": "other"}, "tenant"),
        ("time-off", {"status": "denied"}, "status"),
        ("time-off", {"from_": "1.6.2026"}, "from"),
        ("time-off", {"from_": "2026-06-02", "to": "2026-06-01"}, "to"),
        ("time-off", {"from_": "1969-12-31"}, "from"),
        ("time-off", {"to": "3000-01-01"}, "to"),
        ("time-off", {"updated_since": "0001-01-01T00:00:00Z"}, "updated_since"),
        ("time-off/who-is-out", {"from_": "9999-12-01", "to": "9999-12-31"}, "from to"),
        ("people/{person}/time-off-balance", {"on": "9999-12-31"}, "on"),
        ("people/{person}/time-off-balance", {"on": "0001-01-01"}, "on"),
        ("time-off/who-is-out", {"from_": "2026-06-01"}, "to"),
        ("time-off/who-is-out", {"from_": "2026-06-02", "to": "2026-06-01"}, "to"),
        ("time-off/who-is-out", {"from_": "2026-01-01", "to": "2026-04-03"}, "to"),
        ("time-off/public-holidays", {"year": "1969"}, "year"),
        ("me", {"limit": "1"}, "limit"),
    ],
)
def test_a_wrong_parameter_is_named(
    office: Office, program: Program, path: str, query: dict[str, str], field: str
) -> None:
    reply = program.get(path.format(person=office.person().pk), **query)
    assert reply.code == "400 invalid_request"
    assert reply.fields == field.split()


def test_the_first_and_the_last_day_of_the_records_have_answers(
    office: Office, program: Program
) -> None:
    path = f"people/{office.person().pk}/time-off-balance"
    for day in ("1970-01-01", "2999-12-31"):
        year = program.get(path, on=day).data["leave_year"]
        assert year["starts_on"] <= day <= year["ends_on"]
        assert program.get("time-off", from_=day, to=day).data == []


def test_a_repeated_parameter_is_refused(program: Program) -> None:
    reply = program.get("people?limit=1&limit=2")
    assert (reply.code, reply.fields) == ("400 invalid_request", ["limit"])


def test_a_version_that_the_caller_has_is_not_sent_again(office: Office, program: Program) -> None:
    person = office.person()
    first = program.get(f"people/{person.pk}")
    again = program.get(f"people/{person.pk}", {"If-None-Match": f'"other", W/{first.etag}'})
    assert (again.status, again.response.content, again.etag) == (304, b"", first.etag)
    employment.change(person, date(2026, 1, 1), job_title="Lead")
    changed = program.get(f"people/{person.pk}", {"If-None-Match": first.etag})
    assert changed.data["job_title"] == "Lead"
    assert changed.etag != first.etag


def test_history_units_profile_and_documents_of_a_person(office: Office, program: Program) -> None:
    own = {"organization": office.organization}
    person, friend = office.person(), office.person(first_name="Bob")
    employment.change(person, date(2025, 1, 1), job_title="Engineer")
    employment.change(person, date(2026, 1, 1), job_title="Lead")
    unit = OrgUnit.objects.create(**own, type="team", name="Engines")
    today = timezone.localdate()
    ended = {"effective_from": date(2020, 1, 1), "effective_to": today}
    OrgUnitMembership.objects.create(**own, person=person, unit=unit, **ended)
    OrgUnitMembership.objects.create(**own, person=person, unit=unit, effective_from=today)
    PersonRelationship.objects.create(
        **own, person=person, related_person=friend, type="hr_partner", effective_from=today
    )
    PersonProfile.objects.create(**own, person=person, city="Berlin", annual_salary=1, tax_id="T")
    field = CustomField.objects.create(**own, key="size", label="Size")
    CustomFieldValue.objects.create(person=person, field=field, value="M")
    document = Document.objects.create(
        **own, person=person, name="contract.pdf", url="https://files.example/x"
    )

    path = f"people/{person.pk}"
    history = program.get(f"{path}/employment/history")
    assert [one["job_title"] for one in history.data] == ["Lead", "Engineer"]
    record = EmploymentRecord.objects.get(job_title="Engineer")
    one = program.get(f"{path}/employment/history/{record.pk}").data
    assert (one["id"], one["effective_from"]) == (record.pk, "2025-01-01")
    of_another = f"people/{friend.pk}/employment/history/{record.pk}"
    assert program.get(of_another).code == "404 not_found"

    links = program.get(f"{path}/org-links").data
    assert [one["is_current"] for one in links["memberships"]] == [False, True]
    assert links["memberships"][0]["org_unit"]["name"] == "Engines"
    (relationship,) = links["relationships"]
    assert relationship["related_person"] == {"id": friend.pk, "display_name": "Bob"}

    profile = program.get(f"{path}/personal-profile").data
    assert profile["home_address"]["city"] == "Berlin"
    assert not {"annual_salary", "tax_id", "bank_account", "notes"} & set(profile)
    assert program.get(f"people/{friend.pk}/personal-profile").data["date_of_birth"] is None
    assert program.get(f"{path}/custom-fields").data[0]["value"] == "M"
    found = program.get(f"documents/{document.pk}").data
    assert found["name"] == "contract.pdf"
    assert "url" not in found
    assert ids(program.get("documents", person_id=friend.pk)) == []


def test_a_balance_and_its_ledger(office: Office, program: Program) -> None:
    TimeOffSettings.objects.create(organization=office.organization, reset_month=4)
    sick = office.category("Sick", is_sickness=True)
    person = office.person()
    office.leave_of(person, MONDAY, FRIDAY)
    office.leave_of(person, date(2026, 6, 8), date(2026, 6, 9), category=sick)
    found = program.get(f"people/{person.pk}/time-off-balance", on="2026-06-15").data
    assert found["leave_year"] == {
        "starts_on": "2026-04-01",
        "ends_on": "2027-03-31",
        "resets_on": "2027-04-01",
    }
    assert (found["totals"]["approved"], found["totals"]["remaining"]) == (5.0, 23.0)
    assert (found["sick_days_taken"], found["other_leave_taken"]) == (2.0, 0.0)
    (category,) = found["categories"]
    assert (category["name"], category["ledger"]["net"]) == ("Leave", 0.0)
    assert program.get(f"people/{person.pk}/leave-balance-ledger").data == []
    assert program.get("time-off/settings").data["reset_month"] == 3


@pytest.fixture
def seeded_program(db: None) -> Program:  # noqa: ARG001  opens the database
    organization = Organization.objects.create(name="Seeded", slug="seeded", widget_key="seeded")
    seeding.seed(organization, timezone.localdate())
    return Program(organization)


def test_every_read_has_a_bounded_number_of_statements(seeded_program: Program) -> None:
    """As many for a page of a hundred as for one of ten: nothing is read for each row."""
    person = Person.objects.exclude(manager=None).order_by("pk")[0]
    known = {"person_id": person.pk}
    days = {"from_": "2026-01-01", "to": "2026-03-01"}
    for operation in ALL:
        if not operation.is_read or "{" in operation.path.replace("{person_id}", ""):
            continue
        path = operation.path.format(**known)
        query = days if operation.id == "listWhoIsOut" else {}
        counts = set()
        for limit in (10, 100) if operation.pages else (None,):
            limited = query | ({"limit": limit} if limit else {})
            with CaptureQueriesContext(connection) as statements:
                assert seeded_program.get(path, **limited).status == 200, path
            counts.add(len(statements))
        assert len(counts) == 1, (path, counts)
        assert max(counts) <= 12, (path, counts)


def test_every_list_and_record_of_the_seed_is_answered(seeded_program: Program) -> None:
    person = Person.objects.exclude(manager=None).exclude(person_reports=None).order_by("pk")[0]
    row = TimeOff.objects.order_by("pk")[0]
    known = {"person_id": person.pk, "time_off_id": row.pk, "category_id": row.category_id}
    LedgerEntry.objects.update(person=person)
    known |= {"history_id": person.employment_history.order_by("pk")[0].pk}
    known |= {"org_unit_id": person.department_id, "document_id": person.documents.all()[0].pk}
    known |= {"working_pattern_id": person.working_pattern_id}
    for operation in ALL:
        if operation.is_read and operation.id != "listWhoIsOut":
            reply = seeded_program.get(operation.path.format(**known))
            assert reply.data, operation.id
            first = reply.data[0] if operation.lists else reply.data
            assert set(first) == set(operation.example), operation.id


def test_a_public_holiday_says_whether_it_is_half_a_day(office: Office, program: Program) -> None:
    office.holiday(MONDAY, is_half_day=True)
    office.holiday(FRIDAY)
    found = program.get("time-off/public-holidays", year="2026").data
    assert [(one["date"], one["is_half_day"]) for one in found] == [
        ("2026-06-01", True),
        ("2026-06-05", False),
    ]


def test_time_off_is_filtered_by_every_status_and_listed_from_the_next_on(
    office: Office, program: Program
) -> None:
    person = office.person(manager=office.person())
    rows = {}
    for number, end in enumerate((None, time_off.approve, time_off.decline, time_off.cancel)):
        day = date(2026, 6, 1) + timedelta(days=number)
        row = office.leave_of(person, day, day)
        if end is not None:
            end(office.organization.pk, row.pk)
        row.refresh_from_db()
        rows[row.status] = row.pk

    def list_ids(**query: str) -> list[str]:
        return [one["id"] for one in program.get("time-off", **query).data]

    for status in ("pending", "approved", "rejected", "cancelled"):
        assert list_ids(status=status) == [rows[status]]
    assert list_ids(status="declined") == [rows["rejected"]]
    assert list_ids(status="pending_or_approved") == [rows["approved"], rows["pending"]]
    assert list_ids(sort="start_date") == list(rows.values())
    first = program.get("time-off", sort="start_date", limit="3").body["pagination"]["next_cursor"]
    assert list_ids(sort="start_date", cursor=first) == [rows["cancelled"]]
    # The latest first is another order of the same days.
    other = program.get("time-off", limit="1").body["pagination"]["next_cursor"]
    for query in ({"cursor": first}, {"cursor": other, "sort": "start_date"}):
        assert program.get("time-off", **query).fields == ["cursor"]
    wrong = program.get("time-off", status="denied")
    assert (wrong.code, wrong.fields) == ("400 invalid_request", ["status"])
    assert "declined, pending_approval" in wrong.error["details"][0]["issue"]
    unknown = program.get("time-off", person_id="2b7v0c9x4k1m")
    assert (unknown.code, unknown.fields) == ("400 invalid_request", ["person_id"])
    said = unknown.error["details"][0]["issue"]
    assert said == 'There is no person with the id "2b7v0c9x4k1m".'


def test_the_hr_api_has_every_absence(office: Office, program: Program) -> None:
    """Its callers may read categories: the limits of AI clients are not theirs."""
    person, sick = office.person(), office.category("Sick", is_sickness=True)
    row = office.leave_of(person, date(2026, 6, 1), date(2026, 6, 1), category=sick)
    days = {"from_": "2026-06-01", "to": "2026-06-01"}
    for path, query in (("time-off", {}), ("time-off/who-is-out", days)):
        assert [one["id"] for one in program.get(path, **query).data] == [row.pk]
    assert program.get(f"time-off/{row.pk}").data["type"] == "Sick"
