"""What is left of a leave year is carried over into the next, and follows what changes there.

The figures are computed by hand. The person of these tests has 28 days a year and is on record
since February 2026: 2026 is the first leave year of which anything is known. 1 January 2027 is a
Friday.
"""

from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.admin_urls import page_url
from people import balances, recounting, time_off
from people.balances import LeaveRecords
from people.employment_history import EmploymentHistory, EmploymentPeriod
from people.leave_years import LeaveYear
from people.models import (
    AbsenceStatus,
    EntryType,
    LeavePolicy,
    LedgerEntry,
    Person,
    TimeOff,
    TimeOffCategory,
)
from tests.drivers.shown_forms import save
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client
from workspace.models import Membership, Role, User

ON_RECORD = datetime(2026, 2, 1, tzinfo=UTC)
JANUARY, APRIL, DECEMBER = "2027-01-15T12:00:00Z", "2027-04-01T12:00:00Z", "2026-12-15T12:00:00Z"


@pytest.fixture(autouse=True)
def _today() -> Any:
    with time_machine.travel(JANUARY, tick=False):
        yield


@pytest.fixture
def person(office: Office) -> Person:
    """At most 5 days are carried over."""
    TimeOffCategory.objects.filter(pk=office.leave.pk).update(carry_over_days=5)
    office.leave.refresh_from_db()
    return add_person(office)


@pytest.fixture
def browser(office: Office) -> Client:
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    return browser


def add_person(office: Office, **values: Any) -> Person:
    known = {"start_date": date(2020, 1, 1), "created_at": ON_RECORD}
    return office.person(**known | values)


def take(office: Office, person: Person, first: str, last: str) -> TimeOff:
    return office.leave_of(person, date.fromisoformat(first), date.fromisoformat(last))


def enter(office: Office, person: Person, kind: EntryType, days: str, day: date) -> LedgerEntry:
    return LedgerEntry.objects.create(
        organization=office.organization,
        person=person,
        category=office.leave,
        entry_type=kind,
        amount_days=Decimal(days),
        effective_date=day,
    )


def add_policy(office: Office, **values: Any) -> LeavePolicy:
    first = {"name": "Policy", "allowance_days": Decimal(28), "valid_from": date(2026, 1, 1)}
    own = {"organization": office.organization, "category": office.leave}
    return LeavePolicy.objects.create(**own, **first | values)


def read(program: Program, person: Person, on: str = "2027-06-01") -> tuple[float, float, float]:
    """What is carried over, has expired and is left, as a program reads it."""
    # A key lives for a day, and tests travel further.
    program = Program(program.organization)
    found = program.get(f"people/{person.pk}/time-off-balance", on=on).data
    (balance,) = found["categories"]
    sums = balance["ledger"]
    assert found["totals"]["remaining"] == balance["remaining"]
    net = balance["allowance"] + sums["net"] - balance["approved"] - balance["pending"]
    assert balance["remaining"] == net
    return sums["carry_over"], sums["expired"], balance["remaining"]


def list_lines(answer: Any) -> list[tuple[str, str, float]]:
    (category,) = answer["categories"]
    assert category["remaining"] == sum(line["days"] for line in category["lines"])
    return [(one["kind"], one["last_day"], one["days"]) for one in category["lines"]]


def test_days_that_are_entered_late_for_the_closed_year_are_carried_no_more(
    office: Office, person: Person, program: Program
) -> None:
    """Of 28 days none is taken: 5 are carried over, 33 are there.

    Six weeks from 2 November to 11 December are entered in January: 28 - 30 = -2 in 2026, and
    28 - 2 = 26 in 2027.
    """
    assert read(program, person) == (5, 0, 33)
    body = {"person_id": person.pk, "category_id": office.leave.pk}
    body |= {"start_date": "2026-11-02", "end_date": "2026-12-11"}
    assert program.post("time-off", body).status == 201
    assert read(program, person, "2026-06-01") == (0, 0, -2)
    assert read(program, person) == (-2, 0, 26)


def test_a_request_that_is_withdrawn_gives_its_days_to_the_next_year(
    office: Office, program: Program
) -> None:
    """26 days are pending, five weeks and a Monday: 2 are left. Without them 28 are, of which 5."""
    TimeOffCategory.objects.filter(pk=office.leave.pk).update(carry_over_days=5)
    person = add_person(office, manager=office.person())
    row = take(office, person, "2026-08-03", "2026-09-07")
    assert read(program, person) == (2, 0, 30)
    time_off.cancel(office.organization.pk, row.pk)
    assert read(program, person) == (5, 0, 33)


def test_what_was_taken_too_much_is_carried_over_unless_a_policy_says_otherwise(
    office: Office, person: Person, program: Program
) -> None:
    """Ten weeks are 50 days of 28: -22, and 28 - 22 = 6 in 2027, of which 5 go on to 2028."""
    take(office, person, "2026-03-02", "2026-05-08")
    assert read(program, person, "2026-06-01") == (0, 0, -22)
    assert read(program, person) == (-22, 0, 6)
    with time_machine.travel("2028-02-01", tick=False):
        assert read(program, person, "2028-06-01") == (5, 0, 33)
    add_policy(office, carries_debt=False)
    assert read(program, person) == (0, 0, 28)


def test_a_holiday_that_is_entered_late_for_the_closed_year_is_carried_over(
    office: Office, person: Person, program: Program, browser: Client
) -> None:
    """Five weeks and a day are 26 of 28 days: 2 are left; one of them was a holiday: 3 are."""
    calendar = office.calendar("Here", is_default=True)
    row = take(office, person, "2026-08-03", "2026-09-07")
    assert read(program, person) == (2, 0, 30)
    form = {"organization": office.organization.pk, "calendar": calendar.pk, "name": "Day"}
    address = page_url("people_publicholiday_add")
    save(browser, address, form | {"date": "2026-08-05"}, follow=True)
    assert recounting.run_waiting() == 1
    row.refresh_from_db()
    assert row.amount_days == 25
    assert read(program, person) == (3, 0, 31)


def test_an_allowance_that_is_changed_for_the_closed_year_changes_what_is_carried_over(
    office: Office, person: Person, program: Program
) -> None:
    """26 of 28 days are taken, 2 are left; of 30 days, 4 are, and 30 + 4 = 34."""
    take(office, person, "2026-08-03", "2026-09-07")
    assert read(program, person) == (2, 0, 30)
    add_policy(office, allowance_days=Decimal(30))
    assert read(program, person) == (4, 0, 34)


def test_days_are_carried_over_once_the_leave_year_has_begun(
    office: Office, person: Person, program: Program
) -> None:
    with time_machine.travel(DECEMBER, tick=False):
        assert read(program, person) == (0, 0, 28)
    with time_machine.travel("2027-01-01T00:00:00Z", tick=False):
        assert read(program, person) == (5, 0, 33)
        assert not LedgerEntry.objects.exists()
    # Nothing is known of the year before of people whose records were made in this one.
    late = add_person(office, created_at=datetime(2027, 1, 10, tzinfo=UTC))
    left = add_person(office, end_date=date(2026, 12, 31))
    joined = add_person(office, start_date=date(2027, 1, 1))
    assert [read(program, one)[0] for one in (late, left, joined)] == [0, 0, 0]


def test_carried_days_that_are_not_taken_until_their_day_expire(
    office: Office, person: Person, program: Program
) -> None:
    """5 days are carried over until 31 March 2027.

    Monday and Tuesday, 1 and 2 February, are taken, and Monday to Friday, 29 March to 2 April:
    three days until Wednesday, the 31st. All 5 are used, 28 + 5 - 7 = 26 are left. Without the
    first request 3 are, 2 expire, and 28 + 5 - 2 - 5 = 26 are left too.
    """
    TimeOffCategory.objects.update(carried_until_month=3, carried_until_day=31)
    first = take(office, person, "2027-02-01", "2027-02-02")
    take(office, person, "2027-03-29", "2027-04-02")
    with time_machine.travel(APRIL, tick=False):
        assert read(program, person) == (5, 0, 26)
    first.delete()
    with time_machine.travel("2027-03-31T12:00:00Z", tick=False):
        assert read(program, person) == (5, 0, 28)
    with time_machine.travel(APRIL, tick=False):
        assert read(program, person) == (5, -2, 26)
        # What HR has entered as expired is part of it.
        enter(office, person, EntryType.EXPIRED, "-1.5", date(2027, 3, 31))
        assert read(program, person) == (5, -2, 26)
    # Of the 26 days, 5 are carried over again; none of those of before come back.
    with time_machine.travel("2028-02-01", tick=False):
        assert read(program, person, "2028-06-01") == (5, 0, 33)


def test_a_debt_does_not_expire(office: Office, person: Person, program: Program) -> None:
    TimeOffCategory.objects.update(carried_until_month=3, carried_until_day=31)
    take(office, person, "2026-03-02", "2026-05-08")
    with time_machine.travel(APRIL, tick=False):
        assert read(program, person) == (-22, 0, 6)


def test_each_rule_is_that_of_the_first_policy_which_has_it(
    office: Office, person: Person, program: Program
) -> None:
    """For everybody: 10 days, until 31 March. In Berlin 12 days; there, of Ada, until 30 June."""
    berlin = office.place("Berlin")
    there, ada = (add_person(office, work_place=berlin) for _ in range(2))
    add_policy(office, carry_over_days=Decimal(10), carried_until_month=3, carried_until_day=31)
    add_policy(office, carry_over_days=Decimal(12), work_place=berlin)
    add_policy(office, carried_until_month=6, carried_until_day=30, person=ada)
    with time_machine.travel(APRIL, tick=False):
        found = [read(program, one) for one in (person, there, ada)]
    assert found == [(10, -10, 28), (12, -12, 28), (12, 0, 40)]


def test_a_policy_holds_for_the_leave_years_that_begin_with_it(
    office: Office, person: Person, program: Program
) -> None:
    """5 days into 2027; from 2028 on 8: of 33 left in 2027, 8 are carried over."""
    add_policy(office, carry_over_days=Decimal(8), valid_from=date(2028, 1, 1))
    with time_machine.travel("2028-02-01", tick=False):
        assert read(program, person) == (5, 0, 33)
        assert read(program, person, "2028-06-01") == (8, 0, 36)


def test_programs_models_and_the_page_have_the_lines(
    office: Office, person: Person, browser: Client
) -> None:
    TimeOffCategory.objects.update(carried_until_month=3, carried_until_day=31)
    take(office, person, "2027-02-01", "2027-02-02")
    expected = [
        ("granted", "2027-12-31", 28),
        ("carried", "2027-01-01", 5),
        ("taken", "2027-02-02", -2),
        ("expired", "2027-03-31", -3),
    ]
    texts = [
        "Left from 2026-01-01 to 2026-12-31: 28, carried over at most: 5, taken until 2027-03-31",
        "Carried over, and not taken until 2027-03-31",
    ]
    with time_machine.travel(APRIL, tick=False):
        program = Program(office.organization)
        answer = program.get(f"people/{person.pk}/time-off-balance/lines").data
        args: dict[str, Any] = {"operation_id": "explainPersonTimeOffBalance"}
        args |= {"args": {"pathParams": {"person_id": person.pk}}}
        mcp = client(program)
        explained = mcp.call("call_api_operation", args).facts["answer"]["data"]
        browser.force_login(User.objects.get(email="admin@office.example"))
        page = browser.get(page_url("people_person_change", person.pk)).content.decode()
    assert list_lines(answer) == expected
    assert sorted(list_lines(explained)) == sorted(
        # The days of a single request would say which it is.
        [
            ("taken", "2027-12-31", -2) if kind == "taken" else (kind, *rest)
            for kind, *rest in expected
        ]
    )
    for text in texts:
        assert text in str(answer)
        assert text in str(explained)
        assert text in page
    assert "entry_id" in answer["categories"][0]["lines"][1]


def test_an_entry_of_hr_is_in_place_of_what_is_calculated(
    office: Office, person: Person, program: Program
) -> None:
    """9 days by way of exception; 28 + 9 = 37. On another day they are added: 28 + 5 + 9 = 42."""
    entry = enter(office, person, EntryType.CARRY_OVER, "9", date(2027, 1, 1))
    assert read(program, person) == (9, 0, 37)
    assert [one["id"] for one in read_entries(program, person)] == [entry.pk]
    LedgerEntry.objects.update(effective_date=date(2027, 1, 2))
    assert read(program, person) == (14, 0, 42)


def read_entries(program: Program, person: Person) -> list[Any]:
    found: list[Any] = program.get(f"people/{person.pk}/leave-balance-ledger").data
    return found


def test_a_correction_of_the_closed_year_needs_a_reason_which_is_kept(
    office: Office, person: Person, program: Program, browser: Client
) -> None:
    """26 of 28 days are taken, 2 are left; one more by a correction: 3, and 28 + 3 = 31."""
    take(office, person, "2026-08-03", "2026-09-07")
    form = {"organization": office.organization.pk, "person": person.pk, "amount_days": "1"}
    form |= {"category": office.leave.pk, "entry_type": "correction"}
    form |= {"effective_date": "2026-12-31"}
    address = page_url("people_ledgerentry_add")
    refused = save(browser, address, form, follow=True).content.decode()
    assert "Enter why this is changed" in refused
    assert read(program, person) == (2, 0, 30)
    save(browser, address, form | {"reason": "Worked on a Sunday"}, follow=True)
    assert read(program, person) == (3, 0, 31)
    entry = LedgerEntry.objects.get()
    (made,) = LogEntry.objects.filter(object_id=entry.pk)
    assert "Worked on a Sunday" in made.change_message
    assert made.user.email == "admin@office.example"
    # An entry of the present year needs none.
    save(browser, address, form | {"effective_date": "2027-01-04"}, follow=True)
    assert read(program, person) == (3, 0, 32)


@pytest.mark.usefixtures("person")
def test_a_list_of_balances_agrees_and_takes_as_many_statements_for_many_people(
    office: Office,
) -> None:
    mcp = client(Program(office.organization))
    mcp.call("list_time_off_balances")

    def read_list() -> tuple[set[tuple[float, float]], int]:
        with CaptureQueriesContext(connection) as statements:
            found = mcp.call("list_time_off_balances").facts["data"]
        return {(one["adjustment"], one["remaining"]) for one in found}, len(statements)

    few = read_list()
    assert few[0] == {(5.0, 33.0)}
    for _number in range(3):
        take(office, add_person(office), "2026-08-03", "2026-09-07")
    many = read_list()
    assert many[0] == {(5.0, 33.0), (2.0, 30.0)}
    assert many[1] == few[1]


def test_the_leave_of_other_organizations_is_in_no_balance(
    office: Office, other_office: Office, person: Person, program: Program
) -> None:
    theirs = add_person(other_office)
    take(other_office, theirs, "2026-08-03", "2026-09-07")
    add_policy(other_office, carry_over_days=Decimal(20))
    assert read(program, person) == (5, 0, 33)
    assert read(Program(other_office.organization), theirs) == (2, 0, 30)
    assert office.organization != other_office.organization


def run_earlier_night(office: Office, year: int) -> None:
    """Writes what the earlier version wrote in the first night of a leave year."""
    for one in Person.objects.filter(organization=office.organization):
        (found,) = balances.balance(one, date(year - 1, 6, 1)).categories
        own = [line for line in found.lines if line.carried is None]
        remaining = sum((line.days for line in own), Decimal(0))
        amount = min(remaining, found.category.carry_over_days)
        if amount > 0:
            enter(office, one, EntryType.CARRY_OVER, str(amount), date(year, 1, 1))


def run_migration() -> None:
    module = import_module("people.migrations.0012_entries_that_are_calculated_instead")
    module.mark_entries(apps, None)


@pytest.fixture
def earlier(office: Office) -> list[Person]:
    """People with leave of 2025 to 2027, and the entries that the earlier version wrote.

    Rested has 28 days each year: 5 are carried over twice. Tired took 26 days in 2025, so that 2
    are carried over into 2026, and 29 days in 2026: 28 + 2 - 29 = 1 is carried over into 2027. The
    third took 28 days in 2025 and nothing afterwards: nothing, then 5.
    """
    TimeOffCategory.objects.filter(pk=office.leave.pk).update(carry_over_days=5)
    made = {"created_at": datetime(2025, 1, 10, tzinfo=UTC)}
    rested, tired, third = (add_person(office, first_name=name, **made) for name in "abc")
    take(office, tired, "2025-03-03", "2025-04-07")
    take(office, tired, "2026-03-02", "2026-04-09")
    take(office, third, "2025-03-03", "2025-04-09")
    for year in (2026, 2027):
        run_earlier_night(office, year)
    return [rested, tired, third]


def list_remaining(people: list[Person]) -> list[list[float]]:
    """What is left of each year, from 2025 to 2027."""
    return [
        [
            float(balances.balance(one, date(year, 6, 1)).categories[0].remaining)
            for year in (2025, 2026, 2027)
        ]
        for one in Person.objects.filter(pk__in=[one.pk for one in people]).order_by("first_name")
    ]


def test_balances_of_existing_records_are_what_they_were(
    office: Office, earlier: list[Person]
) -> None:
    """As the earlier version calculated them: the sum of the lines that are on record."""
    before = [[28, 33, 33], [2, 1, 29], [0, 28, 33]]
    entered = list(LedgerEntry.objects.order_by("pk"))
    assert len(entered) == 5
    assert list_remaining(earlier) == before
    run_migration()
    run_migration()
    assert list_remaining(earlier) == before
    assert list(LedgerEntry.objects.order_by("pk")) == entered
    office.leave.refresh_from_db()
    assert office.leave.carried_from == date(2026, 1, 1)
    program = Program(office.organization)
    assert read_entries(program, earlier[0]) == []


def test_what_earlier_versions_carried_over_follows_corrections_after_the_migration(
    office: Office, earlier: list[Person], program: Program
) -> None:
    """Rested took six weeks of 2026, entered late: 33 - 30 = 3 are carried over in place of 5."""
    run_migration()
    take(office, earlier[0], "2026-11-02", "2026-12-11")
    assert list_remaining(earlier)[0] == [28, 3, 31]
    assert read(program, earlier[0]) == (3, 0, 31)


def test_entries_of_hr_and_of_another_limit_stay_after_the_migration(
    earlier: list[Person], browser: Client
) -> None:
    """The limit of 2026 was 7: of the entries of that day none is calculated.

    In 2027, HR has changed 5 days of the third person to 6, which the history names.
    """
    rested, tired, third = earlier
    first = LedgerEntry.objects.get(person=rested, effective_date=date(2026, 1, 1))
    LedgerEntry.objects.filter(pk=first.pk).update(amount_days=7)
    entry = LedgerEntry.objects.get(person=third, effective_date=date(2027, 1, 1))
    form = {"person": third.pk, "category": entry.category_id, "entry_type": "carry_over"}
    form |= {"amount_days": "6", "effective_date": "2027-01-01"}
    said = save(browser, page_url("people_ledgerentry_change", entry.pk), form, follow=True)
    assert "was changed successfully" in said.content.decode()
    run_migration()
    replaced = LedgerEntry.objects.filter(is_replaced=True)
    assert {(one.person_id, one.effective_date.year) for one in replaced} == {
        (rested.pk, 2027),
        (tired.pk, 2027),
    }
    assert list_remaining(earlier) == [[28, 35, 33], [2, 1, 29], [0, 28, 34]]


def test_years_before_the_first_entry_of_a_category_stay_as_they_were(office: Office) -> None:
    """Days are carried over since 2027: what was left of 2025 is not, nor is a debt."""
    made = {"created_at": datetime(2025, 1, 10, tzinfo=UTC)}
    rested, indebted = add_person(office, **made), add_person(office, first_name="Zoe", **made)
    take(office, indebted, "2025-03-03", "2025-05-09")
    TimeOffCategory.objects.filter(pk=office.leave.pk).update(carry_over_days=5)
    run_migration()
    office.leave.refresh_from_db()
    assert office.leave.carried_from == date(2027, 1, 1)
    assert list_remaining([rested, indebted]) == [[28, 28, 33], [-22, 28, 33]]
    # A category of which nothing is carried over begins with the next year.
    office.leave.carried_from, office.leave.carry_over_days = None, Decimal(0)
    office.leave.save()
    run_migration()
    office.leave.refresh_from_db()
    assert office.leave.carried_from == date(2027, 1, 15)
    assert list_remaining([rested, indebted]) == [[28, 28, 28], [-22, 28, 28]]


YEARS = [LeaveYear(date(year, 1, 1), date(year, 12, 31)) for year in (2024, 2025, 2026)]
HALVES = st.integers(-30, 60).map(lambda half: Decimal(half) / 2)
ROWS = st.lists(
    st.tuples(st.sampled_from(YEARS), HALVES, st.integers(0, 11).map(lambda month: month + 1)),
    max_size=8,
)


def build_records(
    category: TimeOffCategory, entered: list[Any], taken: list[Any], years: list[LeaveYear]
) -> LeaveRecords:
    """The records of one person, known since 2024 and employed since 2020, as of 2026."""
    person = Person(pk="ada", start_date=date(2020, 1, 1))
    history = EmploymentHistory(person, [(date.min, person)], [EmploymentPeriod(date(2020, 1, 1))])
    entries = [
        LedgerEntry(
            category=category,
            entry_type=EntryType.CORRECTION,
            amount_days=days,
            effective_date=year.starts_on.replace(month=month),
        )
        for year, days, month in entered
    ]
    requests = [
        TimeOff(
            category=category,
            person=person,
            start_date=year.starts_on.replace(month=month),
            end_date=year.starts_on.replace(month=month),
            amount_days=abs(days),
            status=AbsenceStatus.APPROVED,
        )
        for year, days, month in taken
    ]
    of_person = {"ada": history}
    known, end = {"ada": date(2024, 1, 1)}, date(2026, 12, 31)
    return LeaveRecords(
        *(end, years, known, of_person, {category.pk: []}),
        *({"ada": entries}, {"ada": requests}, {"ada": {}}),
    )


@settings(max_examples=60, deadline=None)
@given(
    ROWS,
    ROWS,
    st.tuples(st.integers(0, 20).map(Decimal), st.booleans(), st.integers(0, 11)),
    st.randoms(use_true_random=False),
)
def test_the_ledger_adds_up_in_any_order_and_what_is_carried_over_follows(
    entered: list[Any],
    taken: list[Any],
    rules: tuple[Decimal, bool, int],
    random: Any,
) -> None:
    """Compared with sums of the rows.

    Of each year, what is left is 28, what is carried over and what is entered, less what is taken,
    and less what of the carried days was not taken until the 28th of a month, if there is one.
    """
    most, carries_debt, month = rules
    category = TimeOffCategory(
        pk="toc",
        allowance_days=Decimal(28),
        carry_over_days=most,
        carries_debt=carries_debt,
        carried_until_month=month or None,
        carried_until_day=28 if month else None,
    )
    remaining = Decimal(0)
    for number, year in enumerate(YEARS):
        carried = min(remaining, most) if remaining > 0 or carries_debt else Decimal(0)
        carried = carried if number else Decimal(0)
        used = [(day, abs(days)) for own, days, day in taken if own == year]
        until = [days for day, days in used if day <= month]
        expired = max(carried - sum(until), Decimal(0)) if month else Decimal(0)
        remaining = Decimal(28) + carried - expired - sum(days for _day, days in used)
        remaining += sum(days for own, days, _month in entered if own == year)
        random.shuffle(entered)
        random.shuffle(taken)
        records = build_records(category, entered, taken, YEARS[: number + 1])
        found = records.build_balance("ada", category)
        assert found.remaining == remaining
        assert found.remaining == sum((line.days for line in found.lines), Decimal(0))
        assert found.ledger[EntryType.CARRY_OVER] == carried
        assert found.ledger[EntryType.EXPIRED] == -expired


def test_categories_say_until_when_carried_days_are_taken_and_what_becomes_of_debts(
    office: Office, program: Program
) -> None:
    rules = {"carry_over": 5.0, "carried_until": "03-31", "carries_debt": False}
    TimeOffCategory.objects.update(
        carry_over_days=5, carried_until_month=3, carried_until_day=31, carries_debt=False
    )
    office.category("Sickness", is_sickness=True)
    mcp = client(Program(office.organization))
    listed = mcp.call("list_reference", {"kind": "time_off_categories"}).facts["data"]
    for leave, sickness in (program.get("reference/time-off-categories").data, listed):
        assert leave.items() >= rules.items()
        assert (sickness["carried_until"], sickness["carries_debt"]) == (None, True)


def book(program: Program, person: Person, first: str, last: str) -> Any:
    (category,) = program.get("reference/time-off-categories").data
    body = {"person_id": person.pk, "category_id": category["id"]}
    return program.post("time-off", body | {"start_date": first, "end_date": last})


def test_days_that_will_have_expired_are_not_there_for_a_later_request(
    office: Office, person: Person, program: Program
) -> None:
    """28 + 5 carried over, which expire on 31 March. 33 days are requested from 3 May to 16 June.

    None is taken until 31 March, so that 5 are too many, which the balance shows in April only.
    """
    TimeOffCategory.objects.update(carried_until_month=3, carried_until_day=31)
    booked = book(program, person, "2027-05-03", "2027-06-16")
    assert (booked.data["length"], read(program, person)) == (33, (5, 0, 0))
    (warning,) = booked.body["warnings"]
    assert warning.endswith("from 2027-01-01 to 2027-12-31. Days too many: 5.")
    with time_machine.travel(APRIL, tick=False):
        assert read(program, person) == (5, -5, -5)
    add_policy(office, overdraft="refused")
    refused = book(program, person, "2027-03-01", "2027-03-01")
    assert refused.code == "400 invalid_request"


def test_carried_days_are_there_for_a_request_until_they_expire(
    office: Office, person: Person, program: Program
) -> None:
    """30 March to 2 April are 4 days, 2 of them until 31 March; 30 from 3 May to 11 June.

    2 of the 5 days carried over are taken in time, 3 expire: 28 + 5 - 3 - 4 - 30 = -4. With 26
    days from 3 May to 7 June it is 0.
    """
    TimeOffCategory.objects.update(carried_until_month=3, carried_until_day=31)
    add_policy(office, overdraft="refused")
    assert book(program, person, "2027-03-30", "2027-04-02").data["length"] == 4
    refused = book(program, person, "2027-05-03", "2027-06-11")
    assert refused.error["message"].endswith("Days too many: 4.")
    assert book(program, person, "2027-05-03", "2027-06-07").data["length"] == 26
    with time_machine.travel(APRIL, tick=False):
        assert read(program, person) == (5, -3, 0)


def test_days_of_the_closed_year_are_too_many_if_the_present_one_has_taken_them(
    office: Office, person: Person, program: Program
) -> None:
    """28 + 5 carried over are all taken in 2027. 23 days of 2026 leave 5, which are carried over.

    Another 2 leave 3 of 2026, and 2027 has 28 + 3 - 33 = -2.
    """
    add_policy(office, overdraft="refused")
    assert book(program, person, "2027-05-03", "2027-06-16").data["length"] == 33
    assert book(program, person, "2026-02-02", "2026-03-04").data["length"] == 23
    assert read(program, person) == (5, 0, 0)
    refused = book(program, person, "2026-03-05", "2026-03-06")
    assert refused.error["message"] == (
        "This is more than is left of the allowance from 2027-01-01 to 2027-12-31. Days too many: "
        "2."
    )
    assert read(program, person) == (5, 0, 0)


def test_days_of_the_closed_year_that_are_not_carried_over_are_not_too_many(
    office: Office, person: Person, program: Program
) -> None:
    """2027 has taken 33 and a correction of -1: -1. 2 days of 2026 still leave 26, of which 5."""
    assert book(program, person, "2027-05-03", "2027-06-16").data["length"] == 33
    enter(office, person, EntryType.CORRECTION, "-1", date(2027, 2, 1))
    add_policy(office, overdraft="refused")
    assert book(program, person, "2026-03-05", "2026-03-06").body["warnings"] == []
    assert read(program, person) == (5, 0, -1)
