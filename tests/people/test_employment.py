"""Employment changes on a day, and every earlier state is kept."""

from datetime import date, timedelta

import pytest
from django.utils import timezone

from people import employment
from people.changes import RefusedChange
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
    with pytest.raises(RefusedChange, match="future"):
        employment.change(person, timezone.localdate() + timedelta(days=1), job_title="Lead")
    for manager in (boss, person, below):
        with pytest.raises(RefusedChange, match="below them"):
            employment.change(boss, day, manager=manager)
    with pytest.raises(RefusedChange, match="another organization"):
        employment.change(person, day, manager=other_office.person())
    with pytest.raises(RefusedChange, match="from 1970-01-01 to 2999-12-31"):
        employment.change(person, date(1969, 12, 31), job_title="Lead")
    with pytest.raises(RefusedChange, match="from 1970-01-01 to 2999-12-31"):
        employment.change(person, day, end_date=date(9999, 12, 31))
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
