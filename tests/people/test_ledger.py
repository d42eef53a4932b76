"""Every balance is the sum of lines that say where its days come from, in each answer alike."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.admin_urls import page_url
from people import balances, employment, ledger, time_off, working_time
from people.ledger import LineKind
from people.models import EntryType, LeavePolicy, LedgerEntry, Person
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client
from workspace.models import Membership, Role, User

JUNE = date(2026, 6, 15)


@pytest.fixture(autouse=True)
def _today() -> Any:
    with time_machine.travel("2026-06-15T12:00:00Z", tick=False):
        yield


@pytest.fixture
def person(office: Office) -> Person:
    """28 days until June, 30 by a policy from July on; full time, four days from October on.

    181 days of 28 are 13.88: 14 in half days. 92 days of 30 are 7.56, together 21.45: 21.5, so
    7.5 more. 92 days of 30 at four of five days are 6.05, together 27.50: 27.5, so 6 more.
    Carried over 2, corrected by -1, expired -0.5. Taken 5 days in May; of 28 December to 8 January
    the four days of December that are worked, from Monday to Thursday. Half a day is pending.
    27.5 + 2 - 1 - 0.5 - 5 - 4 - 0.5 = 18.5.
    """
    found = office.person(manager=office.person())
    employment.change(found, date(2020, 1, 1), start_date=date(2020, 1, 1))
    employment.change(found, date(2026, 10, 1), working_pattern=office.pattern())
    LeavePolicy.objects.create(
        organization=office.organization,
        category=office.leave,
        name="Thirty",
        allowance_days=Decimal(30),
        valid_from=date(2026, 7, 1),
    )
    for kind, days in (
        (EntryType.CARRY_OVER, "2"),
        (EntryType.CORRECTION, "-1"),
        (EntryType.EXPIRED, "-0.5"),
    ):
        LedgerEntry.objects.create(
            organization=office.organization,
            person=found,
            category=office.leave,
            entry_type=kind,
            amount_days=Decimal(days),
            effective_date=date(2026, 1, 1),
            note="A note of HR",
        )
    for first, last in (
        (date(2026, 5, 4), date(2026, 5, 8)),
        (date(2026, 12, 28), date(2027, 1, 8)),
    ):
        row = office.leave_of(found, first, last)
        time_off.approve(office.organization.pk, row.pk)
    office.leave_of(found, date(2026, 8, 3), date(2026, 8, 3), is_from_half_day=True)
    return Person.objects.get(pk=found.pk)


LINES = [
    ("granted", "2026-01-01", "2026-06-30", 14.0),
    ("granted", "2026-07-01", "2026-09-30", 7.5),
    ("granted", "2026-10-01", "2026-12-31", 6.0),
    ("carried", "2026-01-01", "2026-01-01", 2.0),
    ("corrected", "2026-01-01", "2026-01-01", -1.0),
    ("expired", "2026-01-01", "2026-01-01", -0.5),
    ("taken", "2026-05-04", "2026-05-08", -5.0),
    ("pending", "2026-08-03", "2026-08-03", -0.5),
    ("taken", "2026-12-28", "2026-12-31", -4.0),
]


def list_lines(category: dict[str, Any]) -> list[tuple[str, str, str, float]]:
    names = ("kind", "first_day", "last_day", "days")
    return [tuple(line[name] for name in names) for line in category["lines"]]


def test_a_program_reads_the_lines_of_a_balance(person: Person, program: Program) -> None:
    found = program.get(f"people/{person.pk}/time-off-balance/lines").data
    (category,) = found["categories"]
    # Entries of one day are in the order of their ids.
    assert sorted(list_lines(category)) == sorted(LINES)
    assert category["remaining"] == sum(line["days"] for line in category["lines"]) == 18.5
    (balance,) = program.get(f"people/{person.pk}/time-off-balance").data["categories"]
    assert (balance["allowance"], balance["ledger"]["net"]) == (27.5, 0.5)
    assert (balance["approved"], balance["pending"], balance["remaining"]) == (9.0, 0.5, 18.5)
    by_days = {line["first_day"]: line for line in category["lines"] if line["policy"]}
    assert by_days["2026-07-01"]["policy"] == "Thirty"
    last = by_days["2026-10-01"]["text"]
    assert last == "30 days a year, for 92 of 365 days, with 4 days a week of 5: 6.05"
    (pending,) = [line for line in category["lines"] if line["kind"] == "pending"]
    assert pending["time_off_id"] == person.time_off.get(status="pending").pk
    assert "A note of HR" not in str(found)
    next_year = program.get(f"people/{person.pk}/time-off-balance/lines", on="2027-06-01").data
    # 30 days at four of five days; 1 January is a Friday, so four days until Thursday 7 January.
    assert sorted(list_lines(next_year["categories"][0])) == [
        ("granted", "2027-01-01", "2027-12-31", 24.0),
        ("taken", "2027-01-01", "2027-01-08", -4.0),
    ]


def test_a_model_reads_which_absence_is_of_which_allowance_where_it_is_named(
    office: Office, person: Person, program: Program
) -> None:
    mcp = client(program)
    args = {"operation_id": "explainPersonTimeOffBalance"}
    args |= {"args": {"pathParams": {"person_id": person.pk}}}
    answer = mcp.call("call_api_operation", args).result["structuredContent"]["answer"]["data"]
    (category,) = answer["categories"]
    assert (category["name"], category["remaining"]) == ("Absence", 18.5)
    taken = [line for line in category["lines"] if line["kind"] == "taken"]
    assert [(line["days"], line["time_off_id"]) for line in taken] == [(-9.0, None)]
    # The days of a single request would say which absence it is.
    (pending,) = [line for line in list_lines(category) if line[0] == "pending"]
    assert pending == ("pending", "2026-01-01", "2026-12-31", -0.5)
    assert sum(line["days"] for line in category["lines"]) == 18.5
    assert "Thirty" not in str(answer)
    office.leave.is_named_to_ai = True
    office.leave.save()
    answer = mcp.call("call_api_operation", args).result["structuredContent"]["answer"]["data"]
    (category,) = answer["categories"]
    assert category["name"] == "Leave"
    assert sorted(list_lines(category)) == sorted(LINES)


def test_the_page_of_a_person_has_the_ledger_of_a_leave_year(
    office: Office, other_office: Office, person: Person
) -> None:
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    address = page_url("people_person_change", person.pk)
    shown = browser.get(address).content.decode()
    for text in ("Leave from 2026-01-01 to 2026-12-31", "18.5", "Carried over", "A note of HR"):
        assert text in shown
    shown = browser.get(address, {"leave_day": "2027-01-01"}).content.decode()
    assert "Leave from 2027-01-01 to 2027-12-31" in shown
    for wrong in ("x", "9999-12-31", "0001-01-01"):
        assert browser.get(address, {"leave_day": wrong}).status_code == 200
    theirs = page_url("people_person_change", other_office.person().pk)
    assert "Leave from" not in browser.get(theirs, follow=True).content.decode()


ENTRIES = st.tuples(
    st.sampled_from(EntryType.values), st.integers(-20, 20).map(lambda half: Decimal(half) / 2)
)


@settings(max_examples=50, deadline=None)
@given(st.lists(ENTRIES, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_entries_changes_no_figure(
    entered: list[tuple[str, Decimal]], random: Any
) -> None:
    entries = [
        LedgerEntry(id=f"tol_{number}", entry_type=kind, amount_days=days, effective_date=JUNE)
        for number, (kind, days) in enumerate(entered)
    ]

    def figures() -> tuple[Decimal, Decimal, dict[str, Decimal]]:
        lines = [ledger.build_entry_line(entry) for entry in entries]
        found = balances.CategoryBalance(None, Decimal(0), lines)  # type: ignore[arg-type]  # not read
        assert found.remaining == sum((days for _kind, days in entered), Decimal(0))
        assert found.remaining == found.allowance + found.adjustment - found.approved_days
        return found.remaining, found.adjustment, found.ledger

    first = figures()
    random.shuffle(entries)
    assert figures() == first


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 480), min_size=7, max_size=7).map(tuple),
    st.dictionaries(
        st.integers(0, 30).map(lambda number: JUNE + timedelta(days=number)),
        st.sampled_from([working_time.HALF, working_time.WHOLE]),
    ),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_splitting_a_request_keeps_its_length(
    week: tuple[int, ...], holidays: dict[date, Decimal], length: int, cut: int
) -> None:
    last = JUNE + timedelta(days=length)
    middle = min(JUNE + timedelta(days=cut), last)
    whole = working_time.amount(week, holidays, JUNE, last)
    first = working_time.amount(week, holidays, JUNE, middle)
    second = working_time.amount(week, holidays, middle + timedelta(days=1), last)
    assert whole.days == first.days + second.days
    assert whole.minutes == first.minutes + second.minutes


def test_every_entry_type_is_of_a_kind_of_line() -> None:
    assert set(ledger.KINDS_OF_ENTRIES) == set(EntryType.values)
    requests = {LineKind.TAKEN, LineKind.PENDING}
    assert set(ledger.KINDS_OF_ENTRIES.values()) | requests == set(LineKind)
