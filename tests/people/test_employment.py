"""Employment changes on a day, and every earlier state is kept."""

from datetime import UTC, date, datetime

import pytest
import time_machine

from people import employment
from people.changes import RefusedChange
from people.employment_history import find_history
from people.models import EmploymentRecord, Person
from tests.people.conftest import Office


def test_a_change_is_a_record_that_repeats_what_it_leaves(office: Office) -> None:
    boss, person = office.person(), office.person(job_title="Engineer")
    employment.change(person, date(2025, 1, 1), manager=boss)
    employment.change(person, date(2026, 1, 1), job_title="Lead")
    assert (person.job_title, person.manager) == ("Lead", boss)
    states = person.employment_history.order_by("effective_from")
    assert [(row.job_title, row.manager_id) for row in states] == [
        ("Engineer", boss.pk),
        ("Lead", boss.pk),
    ]
    # An earlier day changes the history and not the present.
    employment.change(person, date(2025, 6, 1), job_title="Senior engineer")
    employment.change(person, date(2025, 1, 1), job_title="Junior engineer")
    assert person.job_title == "Lead"
    titles = states.values_list("job_title", flat=True)
    assert list(titles) == ["Junior engineer", "Senior engineer", "Lead"]


def test_a_change_that_cannot_be_is_refused(office: Office, other_office: Office) -> None:
    boss = office.person()
    person = office.person(manager=boss, start_date=date(2025, 1, 1))
    below = office.person(manager=person)
    day = date(2026, 1, 1)
    for manager in (boss, person, below):
        with pytest.raises(RefusedChange, match="below them"):
            employment.change(boss, day, manager=manager)
    with pytest.raises(RefusedChange, match="another organization"):
        employment.change(person, day, manager=other_office.person())
    with pytest.raises(RefusedChange, match="from 1970-01-01 to 2999-12-31"):
        employment.change(person, date(1969, 12, 31), job_title="Lead")
    with pytest.raises(RefusedChange, match="from 1970-01-01 to 2999-12-31"):
        employment.change(person, day, end_date=date(9999, 12, 31))
    with pytest.raises(RefusedChange, match="from 1970-01-01 to 2999-12-31"):
        employment.change(person, date(9999, 12, 31), job_title="Lead")
    with pytest.raises(RefusedChange, match="before the start"):
        employment.change(person, day, end_date=date(2024, 12, 31))
    assert not person.employment_history.exists()


def test_a_second_record_of_a_day_is_not_added(office: Office) -> None:
    """Two admins enter one at once: the check of the second form saw none."""
    person, day = office.person(), date(2026, 2, 1)
    employment.add(person, day, job_title="Lead")
    with pytest.raises(RefusedChange, match="from 2026-02-01 on already: Lead") as refused:
        employment.add(person, day, job_title="Led")
    assert refused.value.field == "effective_from"
    assert person.employment_history.get().job_title == person.job_title == "Lead"


def test_a_change_that_is_entered_ahead_holds_from_its_day(office: Office) -> None:
    boss = office.person()
    with time_machine.travel("2026-06-01T12:00:00Z", tick=False):
        person = office.person(job_title="Engineer")
        joiner = office.person()
        employment.change(person, date(2026, 7, 1), job_title="Lead", manager=boss)
        employment.change(joiner, date(2026, 7, 1), start_date=date(2026, 7, 1), job_title="Clerk")
        assert employment.apply_due(datetime.now(UTC)) == 0
    assert (person.job_title, person.manager) == ("Engineer", None)
    # What holds until then is a record of its own: the first one also covers every earlier day.
    records = person.employment_history.order_by("effective_from")
    assert [(str(row.effective_from), row.job_title) for row in records] == [
        ("2026-06-01", "Engineer"),
        ("2026-07-01", "Lead"),
    ]
    # Nothing was known of the joiner: they have what is entered, and have not started.
    assert (joiner.job_title, joiner.start_date) == ("Clerk", date(2026, 7, 1))
    with time_machine.travel("2026-07-01T00:30:00Z", tick=False):
        assert employment.apply_due(datetime.now(UTC)) == 1
        assert employment.apply_due(datetime.now(UTC)) == 0
    person.refresh_from_db()
    assert (person.job_title, person.manager) == ("Lead", boss)
    assert not EmploymentRecord.objects.filter(is_ahead=True).exists()


def test_a_wrong_record_is_corrected_or_deleted_on_its_day(office: Office) -> None:
    person = office.person()
    employment.add(person, date(2026, 1, 1), start_date=date(2026, 1, 1), job_title="Clerk")
    wrong = employment.add(person, date(2026, 2, 1), job_title="Ledad")
    employment.correct(wrong, job_title="Lead", end_date=date(2026, 12, 31))
    person.refresh_from_db()
    assert (person.job_title, person.end_date) == ("Lead", date(2026, 12, 31))
    with pytest.raises(RefusedChange, match="before the start"):
        employment.correct(wrong, end_date=date(2025, 12, 31))
    employment.remove(wrong)
    person.refresh_from_db()
    assert (person.job_title, person.end_date) == ("Clerk", None)
    with pytest.raises(RefusedChange, match="only record"):
        employment.remove(person.employment_history.get())


def list_periods(person: Person) -> list[tuple[str, str]]:
    periods = find_history(person).periods
    return [(str(one.joined), str(one.left)) for one in periods]


def test_somebody_who_comes_back_has_two_employments(office: Office) -> None:
    person = office.person()
    employment.change(person, date(2020, 1, 1), start_date=date(2020, 1, 1))
    employment.change(person, date(2026, 3, 1), end_date=date(2026, 3, 31))
    # The end date was wrong: it is corrected by a later record, which begins no other employment.
    employment.change(person, date(2026, 4, 1), end_date=date(2026, 4, 15))
    assert list_periods(person) == [("2020-01-01", "2026-04-15")]
    back = {"start_date": date(2026, 10, 1), "end_date": None}
    record = employment.change(person, date(2026, 10, 1), **back)
    assert list_periods(person) == [("2020-01-01", "2026-04-15"), ("2026-10-01", "None")]
    employment.correct(record, start_date=date(2026, 4, 10))
    assert list_periods(person) == [("2026-04-10", "None")]
