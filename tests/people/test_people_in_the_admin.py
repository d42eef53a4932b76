"""HR records in Django admin: an admin keeps those of their organization, by the same rules."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from audit.models import SecurityEvent
from foundation.admin_urls import page_url
from people import employment
from people.models import (
    AbsenceStatus,
    CustomField,
    EmploymentRecord,
    HolidayCalendar,
    LeavePolicy,
    OrgUnit,
    Person,
    PersonProfile,
    PublicHoliday,
    TimeOff,
    TimeOffCategory,
    TimeOffSettings,
)
from people.models.reference import WEEKDAYS
from tests.drivers.shown_forms import save
from tests.people.conftest import Office
from workspace.models import Membership, Organization, Role, User

MONDAY = date(2026, 6, 1)
NO_ROWS = {"TOTAL_FORMS": "0", "INITIAL_FORMS": "0"}
INLINES = ("unit_memberships", "relationships", "custom_values", "documents")


@pytest.fixture
def browser(office: Office) -> Client:
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    return browser


def page(model: str, name: str, *args: object) -> str:
    return page_url(f"people_{model}_{name}", *args)


def inlines(**rows: dict[str, object]) -> dict[str, object]:
    """The forms of the rows below a person, empty where none is given."""
    return {
        f"{prefix}-{key}": value
        for prefix in INLINES
        for key, value in (rows.get(prefix) or NO_ROWS).items()
    }


def send(browser: Client, address: str, form: dict[str, Any]) -> str:
    """Sends a form; returns what the page says, or what the page after it does."""
    answer = save(browser, address, form, follow=True)
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def act(browser: Client, action: str, *rows: TimeOff) -> list[str]:
    """Runs an action of the list of requests; returns what the list says then."""
    form = {"action": action, "_selected_action": [row.pk for row in rows]}
    answer = browser.post(page("timeoff", "changelist"), form, follow=True)
    return [str(message) for message in answer.context["messages"]]


def test_a_person_is_added_and_changed(browser: Client, office: Office) -> None:
    form = {"organization": office.organization.pk, "first_name": "Ada", "last_name": "Lovelace"}
    send(browser, page("person", "add"), form | inlines())
    person = Person.objects.get()
    assert (person.display_name, person.version) == ("Ada Lovelace", 1)
    unit = OrgUnit.objects.create(organization=office.organization, type="team", name="Engines")
    field = CustomField.objects.create(organization=office.organization, key="size", label="Size")
    rows = {
        "unit_memberships": {
            "TOTAL_FORMS": "1",
            "INITIAL_FORMS": "0",
            "0-unit": unit.pk,
            "0-role": "member",
            "0-effective_from": "2026-01-01",
            "0-person": person.pk,
        },
        "custom_values": {
            "TOTAL_FORMS": "1",
            "INITIAL_FORMS": "0",
            "0-field": field.pk,
            "0-value": "M",
            "0-person": person.pk,
        },
    }
    send(browser, page("person", "change", person.pk), form | {"staff_id": "S1"} | inlines(**rows))
    person.refresh_from_db()
    assert (person.staff_id, person.version) == ("S1", 2)
    assert person.unit_memberships.get().organization == office.organization
    assert person.custom_values.get().value == "M"


def test_a_second_person_with_the_same_address_is_refused(browser: Client, office: Office) -> None:
    office.person(work_email="ada@office.example")
    form = {"organization": office.organization.pk, "work_email": "ada@office.example"}
    assert "Another person has this work email." in send(
        browser, page("person", "add"), form | inlines()
    )
    assert Person.objects.count() == 1


def test_a_row_cannot_be_changed_to_what_another_row_has(browser: Client, office: Office) -> None:
    office.person(work_email="ada@office.example")
    person, place = office.person(), office.place("Lisbon")
    office.place("Berlin")
    form = {"work_email": "ada@office.example"} | inlines()
    said = send(browser, page("person", "change", person.pk), form)
    assert "Another person has this work email." in said
    form = {"kind": "wp", "label": "Berlin", "position": "0"}
    said = send(browser, page("referenceitem", "change", place.pk), form)
    assert "already exists" in said
    place.refresh_from_db()
    assert place.label == "Lisbon"


def test_employment_changes_by_a_record(browser: Client, office: Office) -> None:
    boss, person = office.person(), office.person(job_title="Engineer")
    address = page("employmentrecord", "add")
    assert (
        f"{address}?person={person.pk}"
        in browser.get(page("person", "change", person.pk)).content.decode()
    )
    shown = browser.get(address, {"person": person.pk}).content.decode()
    assert 'value="Engineer"' in shown
    assert person.pk in shown
    form = {"person": person.pk, "effective_from": "2026-02-01", "job_title": "Lead"}
    send(browser, address, form | {"manager": boss.pk})
    person.refresh_from_db()
    assert (person.job_title, person.manager) == ("Lead", boss)
    record = EmploymentRecord.objects.get()
    assert record.job_title == "Lead"
    said = send(browser, address, form | {"person": boss.pk, "manager": person.pk})
    assert "managed by somebody below them" in said
    assert EmploymentRecord.objects.get() == record
    # What is entered ahead is not the present employment.
    tomorrow = timezone.localdate() + timedelta(days=2)
    later = {"effective_from": tomorrow.isoformat(), "job_title": "Head"}
    send(browser, address, form | later)
    person.refresh_from_db()
    assert (person.job_title, EmploymentRecord.objects.count()) == ("Lead", 2)


def test_an_employment_record_is_corrected_with_a_reason(browser: Client, office: Office) -> None:
    person = office.person()
    record = employment.add(person, date(2026, 2, 1), job_title="Ledad")
    address = page("employmentrecord", "change", record.pk)
    said = send(browser, address, {"job_title": "Lead"})
    assert "Enter why this is changed for days that have passed." in said
    send(browser, address, {"job_title": "Lead", "reason": "A typing error"})
    person.refresh_from_db()
    assert person.job_title == "Lead"
    history = browser.get(page("employmentrecord", "history", record.pk)).content.decode()
    assert "Job title: Ledad becomes Lead. Reason: A typing error" in history
    said = send(browser, address, {"end_date": "2026-02-28", "start_date": "2026-03-01"})
    assert EmploymentRecord.objects.get().end_date is None
    # The only record of a person is not deleted; another one is, on its day too.
    delete = page("employmentrecord", "delete", record.pk)
    assert browser.post(delete, {"post": "yes"}).status_code == 403
    employment.add(person, date(2026, 3, 1), job_title="Wrong")
    assert browser.post(delete, {"post": "yes"}).status_code == 302
    assert EmploymentRecord.objects.get().job_title == "Wrong"


def test_a_leave_policy_that_holds_changes_with_a_reason_only(
    browser: Client, office: Office
) -> None:
    form = {"organization": office.organization.pk, "category": office.leave.pk}
    form |= {"name": "Thirty", "allowance_days": "30", "years_of_service": "0"}
    form |= {"overdraft": "warned", "approval_steps": "1"}
    form |= {"cancellation": "admins", "cancellation_days": "1"}
    add = page("leavepolicy", "add")
    ahead = (timezone.localdate() + timedelta(days=400)).isoformat()
    send(browser, add, form | {"valid_from": ahead})
    policy = LeavePolicy.objects.get()
    assert "is for the same people from the same day on" in send(
        browser, add, form | {"valid_from": ahead, "name": "Again"}
    )
    said = send(browser, add, form | {"valid_from": "2026-01-01", "name": "Before"})
    assert "Enter why this is changed for days that have passed." in said
    address = page("leavepolicy", "change", policy.pk)
    form |= {"allowance_days": "31", "valid_from": ahead}
    send(browser, address, form)
    form["valid_from"] = "2026-01-01"
    said = send(browser, address, form)
    assert "Enter why this is changed for days that have passed." in said
    send(browser, address, form | {"reason": "Agreed with the council"})
    history = browser.get(page("leavepolicy", "history", policy.pk)).content.decode()
    assert "Days a year: 30.0 becomes 31" in history
    assert f"From: {ahead} becomes 2026-01-01. Reason: Agreed with the council" in history
    delete = page("leavepolicy", "delete", policy.pk)
    assert browser.post(delete, {"post": "yes"}).status_code == 403
    said = send(browser, address, form | {"valid_to": "2025-12-31", "reason": "x"})
    assert "The last day is before the first day." in said


def test_what_employment_is_counted_by_neither_changes_nor_is_deleted(
    browser: Client, office: Office
) -> None:
    used, unused, place = office.pattern(), office.pattern("Unused"), office.place("Berlin")
    unit = OrgUnit.objects.create(organization=office.organization, type="team", name="Engines")
    person = office.person()
    values = {"working_pattern": used, "work_place": place, "department": unit}
    employment.change(person, date(2026, 1, 1), **values)
    # The person has left all of these, but the history has them.
    employment.change(person, date(2026, 2, 1), **dict.fromkeys(values))
    for pattern, tuesday in ((used, 480), (unused, 0)):
        address = page("workingpattern", "change", pattern.pk)
        form = dict.fromkeys(WEEKDAYS, "480") | {"tuesday": "0"}
        send(browser, address, form | {"label": f"New {pattern.label}"})
        pattern.refresh_from_db()
        assert (pattern.label[:3], pattern.tuesday) == ("New", tuesday)
    rows = (("workingpattern", used), ("referenceitem", place), ("orgunit", unit))
    for model, row in rows:
        browser.post(page(model, "delete", row.pk), {"post": "yes"})
        assert type(row).objects.filter(pk=row.pk).exists()
    browser.post(page("workingpattern", "delete", unused.pk), {"post": "yes"})
    assert not type(unused).objects.filter(pk=unused.pk).exists()


def test_the_days_of_a_category_in_use_change_by_a_policy(browser: Client, office: Office) -> None:
    office.leave_of(office.person(), MONDAY, MONDAY)
    address = page("timeoffcategory", "change", office.leave.pk)
    form = {"name": "Holiday", "allowance_days": "30", "carry_over_days": "0", "position": "0"}
    form |= {"public_holidays": "exclude", "consumes_balance": "on"}
    send(browser, address, form)
    office.leave.refresh_from_db()
    assert (office.leave.name, office.leave.allowance_days) == ("Holiday", 28)


def test_a_second_employment_record_of_a_day_is_refused(browser: Client, office: Office) -> None:
    person = office.person()
    address = page("employmentrecord", "add")
    form = {"person": person.pk, "effective_from": "2026-02-01", "job_title": "Lead"}
    send(browser, address, form)
    said = send(browser, address, form | {"job_title": "Led"})
    assert "has an employment record from 2026-02-01 on already: Lead." in said
    assert "already exists" not in said
    assert EmploymentRecord.objects.get().job_title == "Lead"
    person.refresh_from_db()
    assert person.job_title == "Lead"


def test_a_change_before_later_records_names_them(browser: Client, office: Office) -> None:
    berlin, lisbon = office.place("Berlin"), office.place("Lisbon")
    person = office.person(work_place=berlin)
    address = page("employmentrecord", "add")
    warning = "This holds until the next record. Later records are unchanged: "

    def change(day: str, **form: Any) -> str:
        return send(browser, address, {"person": person.pk, "effective_from": day} | form)

    assert warning not in change("2025-01-01", work_place=berlin.pk)
    assert warning not in change("2026-03-01", work_place=berlin.pk, job_title="Lead")
    assert f"{warning}2026-03-01." in change("2026-02-01", work_place=lisbon.pk)
    person.refresh_from_db()
    assert person.work_place == berlin
    assert f"{warning}2026-02-01, 2026-03-01." in change("2026-01-01", work_place=lisbon.pk)
    # A record of a day after them holds from then on.
    assert warning not in change("2026-03-02", work_place=lisbon.pk, job_title="Lead")
    person.refresh_from_db()
    assert person.work_place == lisbon


@pytest.mark.parametrize(("old", "new"), [("Pacific/Auckland", "UTC"), ("UTC", "Pacific/Auckland")])
@time_machine.travel(datetime(2026, 11, 27, 16, 25, tzinfo=UTC), tick=False)
def test_who_moves_may_begin_on_the_present_day_of_either_place(
    office: Office, browser: Client, old: str, new: str
) -> None:
    """It is 28 November in Auckland, 27 November in UTC; the form proposes the day of the old."""
    before, after = office.place("Old", time_zone=old), office.place("New", time_zone=new)
    address = page("employmentrecord", "add")
    mover = office.person(work_place=before)
    shown = browser.get(address, {"person": mover.pk}).content.decode()
    proposed = "2026-11-28" if old == "Pacific/Auckland" else "2026-11-27"
    assert f'value="{proposed}"' in shown
    later = office.person(work_place=before)
    for person, day, place in ((mover, "2026-11-28", after), (later, "2026-11-29", before)):
        form = {"person": person.pk, "work_place": after.pk, "effective_from": day}
        send(browser, address, form)
        person.refresh_from_db()
        assert person.work_place == place


def test_requests_are_added_and_decided(browser: Client, office: Office) -> None:
    person = office.person(manager=office.person())
    days = [MONDAY + timedelta(weeks=number) for number in range(4)]
    for day in days:
        form = {"person": person.pk, "category": office.leave.pk}
        form |= {"start_date": day.isoformat(), "end_date": day.isoformat()}
        send(browser, page("timeoff", "add"), form)
    one, two, three, four = TimeOff.objects.order_by("start_date")
    assert act(browser, "approve", one) == ["1 request was changed."]
    assert act(browser, "decline", two) == ["1 request was changed."]
    refused, done = act(browser, "cancel", two, three)
    assert "Only a pending request can be changed. This one is rejected." in refused
    assert done == "1 request was changed."
    statuses = TimeOff.objects.order_by("start_date").values_list("status", flat=True)
    assert list(statuses) == [
        *(
            AbsenceStatus.APPROVED,
            AbsenceStatus.REJECTED,
            AbsenceStatus.CANCELLED,
            AbsenceStatus.PENDING,
        ),
    ]
    shown = browser.get(page("timeoff", "change", four.pk))
    assert shown.status_code == 200
    assert browser.post(page("timeoff", "change", four.pk), {"note": "x"}).status_code == 403


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"end_date": "2026-05-29"}, "The last day is before the first day."),
        ({"start_date": "2026-06-06", "end_date": "2026-06-07"}, "does not work on these days"),
        ({"start_date": "2026-06-30", "end_date": "2026-07-01"}, "Another request has some"),
        ({"category": ""}, "This field is required."),
    ],
)
def test_a_request_that_cannot_be_is_refused(
    browser: Client, office: Office, form: dict[str, str], reason: str
) -> None:
    person = office.person()
    office.leave_of(person, date(2026, 7, 1), date(2026, 7, 3))
    usual = {"person": person.pk, "category": office.leave.pk}
    usual |= {"start_date": MONDAY.isoformat(), "end_date": MONDAY.isoformat()}
    assert reason in send(browser, page("timeoff", "add"), usual | form)
    assert TimeOff.objects.count() == 1


def test_rows_of_another_organization_are_no_choice(
    browser: Client, office: Office, other_office: Office
) -> None:
    theirs, ours = other_office.person(first_name="Zweite"), office.person()
    when = {"start_date": MONDAY.isoformat(), "end_date": MONDAY.isoformat()}
    sent: list[tuple[str, dict[str, Any]]] = [
        ("person", {"organization": other_office.organization.pk, "first_name": "x"} | inlines()),
        ("employmentrecord", {"person": theirs.pk, "effective_from": "2026-01-01"}),
        (
            "employmentrecord",
            {"person": ours.pk, "effective_from": "2026-01-01", "manager": theirs.pk},
        ),
        ("timeoff", {"person": theirs.pk, "category": office.leave.pk} | when),
        ("timeoff", {"person": ours.pk, "category": other_office.leave.pk} | when),
        ("personprofile", {"person": theirs.pk, "city": "Berlin"}),
    ]
    for model, form in sent:
        said = send(browser, page(model, "add"), form)
        assert "Select a valid choice" in said
        assert "Zweite" not in said
    shown = browser.get(page("employmentrecord", "add"), {"person": theirs.pk})
    assert "Zweite" not in shown.content.decode()
    assert not EmploymentRecord.objects.exists()
    assert not TimeOff.objects.exists()
    assert not PersonProfile.objects.exists()


def test_staff_cannot_mix_organizations_in_one_row(office: Office, other_office: Office) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("staff@halo.example", "long enough 1"))
    ours, theirs = office.person(), other_office.person()
    form = {"person": ours.pk, "effective_from": "2026-01-01", "manager": theirs.pk}
    said = send(staff, page("employmentrecord", "add"), form)
    assert "This belongs to another organization." in said
    form = {"person": ours.pk, "category": other_office.leave.pk}
    form |= {"start_date": MONDAY.isoformat(), "end_date": MONDAY.isoformat()}
    said = send(staff, page("timeoff", "add"), form)
    assert "This belongs to another organization." in said
    assert not TimeOff.objects.exists()


def test_the_leave_year_is_set_for_an_organization(browser: Client, office: Office) -> None:
    form = {"organization": office.organization.pk, "full_time_weekly_minutes": "2400"}
    wrong = form | {"reset_month": "2", "reset_day": "30"}
    said = send(browser, page("timeoffsettings", "add"), wrong)
    assert "The month does not have this day every year." in said
    send(browser, page("timeoffsettings", "add"), form | {"reset_month": "4", "reset_day": "1"})
    assert TimeOffSettings.objects.get().reset_month == 4


def test_a_day_out_of_bounds_is_refused_in_every_form(browser: Client, office: Office) -> None:
    of_all = {"organization": office.organization.pk}
    forms: list[tuple[str, dict[str, Any]]] = [
        ("publicholiday", of_all | {"date": "9999-12-31", "name": "Last day"}),
        ("orgunit", of_all | {"type": "team", "name": "Old", "active_from": "0001-01-01"}),
        ("employmentrecord", {"person": office.person().pk, "effective_from": "1969-12-31"}),
    ]
    for model, form in forms:
        said = send(browser, page(model, "add"), form)
        assert "The day must be from 1970-01-01 to 2999-12-31." in said


def test_opening_a_private_profile_is_on_record_with_who_and_whose(
    browser: Client, office: Office
) -> None:
    person = office.person()
    send(browser, page("personprofile", "add"), {"person": person.pk, "city": "Berlin"})
    assert not SecurityEvent.objects.filter(kind="private_profile_opened").exists()
    assert (
        "Berlin"
        in browser.get(
            page("personprofile", "change", PersonProfile.objects.get().pk)
        ).content.decode()
    )
    event = SecurityEvent.objects.get(kind="private_profile_opened")
    reader = User.objects.get(email="admin@office.example")
    assert (event.subject, event.user_id) == (str(person.pk), str(reader.pk))
    assert event.organization_id == str(office.organization.pk)
    listed = browser.get("/admin/audit/securityevent/").content.decode()
    assert "admin@office.example" in listed
    assert str(person) in listed


def test_a_date_of_birth_is_from_1900_to_today(browser: Client, office: Office) -> None:
    """People who were born before 1970 are saved, and edited afterwards."""
    person = office.person()
    form = {"person": person.pk, "date_of_birth": "1962-05-17"}
    send(browser, page("personprofile", "add"), form)
    profile = PersonProfile.objects.get()
    assert profile.date_of_birth == date(1962, 5, 17)
    address = page("personprofile", "change", profile.pk)
    send(browser, address, {"date_of_birth": "1900-01-01", "city": "Berlin"})
    profile.refresh_from_db()
    assert (profile.date_of_birth, profile.city) == (date(1900, 1, 1), "Berlin")
    tomorrow = timezone.localdate() + timedelta(days=1)
    for day, message in (
        ("1899-12-31", "The day must be from 1900-01-01 on."),
        (tomorrow.isoformat(), "The day is in the future."),
    ):
        assert message in send(browser, address, {"date_of_birth": day})
    profile.refresh_from_db()
    assert profile.date_of_birth == date(1900, 1, 1)


def test_a_category_of_sickness_cannot_be_named_to_ai_clients(
    browser: Client, office: Office
) -> None:
    form = {"organization": office.organization.pk, "name": "Sick", "is_named_to_ai": "on"}
    form |= {"allowance_days": "0", "carry_over_days": "0", "position": "0"}
    form |= {"public_holidays": "exclude"}
    said = send(browser, page("timeoffcategory", "add"), form | {"is_sickness": "on"})
    assert "A category of sickness is not named to AI clients." in said
    send(browser, page("timeoffcategory", "add"), form)
    assert TimeOffCategory.objects.get(name="Sick").is_named_to_ai is True


def test_a_category_in_use_is_not_deleted(browser: Client, office: Office) -> None:
    unused = office.category("Moving")
    office.leave_of(office.person(), MONDAY, MONDAY)
    for category, status in ((office.leave, 403), (unused, 302)):
        address = page("timeoffcategory", "delete", category.pk)
        assert browser.post(address, {"post": "yes"}).status_code == status
    assert TimeOff.objects.get().category == office.leave


def test_the_first_calendar_is_the_default_until_another_is_made_it(
    office: Office, other_office: Office, browser: Client
) -> None:
    other_office.calendar("Theirs", is_default=True)
    for name in ("Berlin", "Lisbon"):
        form = {"organization": office.organization.pk, "name": name, "country_code": "DE"}
        send(browser, page("holidaycalendar", "add"), form)
    berlin, lisbon = HolidayCalendar.objects.filter(organization=office.organization).order_by(
        "name"
    )
    assert (berlin.is_default, lisbon.is_default) == (True, False)
    chosen = {"action": "make_default", "_selected_action": [lisbon.pk]}
    answer = browser.post(page("holidaycalendar", "changelist"), chosen, follow=True)
    assert "Lisbon is the default now." in answer.content.decode()
    history = browser.get(page("holidaycalendar", "history", lisbon.pk)).content.decode()
    assert "Lisbon is the default now." in history
    berlin.refresh_from_db()
    assert berlin.is_default is False
    for calendar, status in ((lisbon, 403), (berlin, 302)):
        address = page("holidaycalendar", "delete", calendar.pk)
        assert browser.post(address, {"post": "yes"}).status_code == status


@pytest.fixture
def lisbon(office: Office) -> HolidayCalendar:
    return office.calendar("Lisbon", country_code="PT", region="11")


def fill(browser: Client, calendar: HolidayCalendar, **form: Any) -> str:
    """Runs the action that fills a calendar; returns what the page says."""
    chosen = {"action": "fill", "_selected_action": [calendar.pk]}
    answer = browser.post(page("holidaycalendar", "changelist"), chosen | form, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_calendar_is_filled_with_the_days_that_the_admin_selects(
    office: Office, browser: Client, lisbon: HolidayCalendar
) -> None:
    office.holiday(date(2027, 1, 1), lisbon)
    years = {"first_year": "2027", "last_year": "2027"}
    shown = fill(browser, lisbon, **years)
    # Corpus Christi is 60 days after Easter, which is 28 March in 2027. 13 June is Lisbon's own.
    for day in ("2027-04-25", "2027-05-27", "2027-06-10", "2027-06-13"):
        assert f'value="{day}"' in shown
    # The calendar has this day already, under the name that the office gave it.
    assert 'value="2027-01-01"' not in shown
    assert lisbon.holidays.count() == 1
    # 26 June is in no list: it is not added.
    days = ["2027-06-10", "2027-06-26", "2027-12-25", "2027-01-01", "x"]
    assert "2 holidays were added." in fill(browser, lisbon, **years, add="Add", day=days)
    found = lisbon.holidays.order_by("date").values_list("date", "name")
    assert [(str(day), name) for day, name in found] == [
        ("2027-01-01", "Holiday"),
        ("2027-06-10", "Day of Portugal, Camões, and the Portuguese Communities"),
        ("2027-12-25", "Christmas Day"),
    ]
    assert 'value="2027-12-25"' not in fill(browser, lisbon, **years)
    # Corrections: a day that is renamed, and one that is taken out.
    row = lisbon.holidays.get(date=date(2027, 12, 25))
    form = {"calendar": lisbon.pk, "date": "2027-12-25", "name": "Natal", "is_half_day": "on"}
    send(browser, page("publicholiday", "change", row.pk), form)
    row.refresh_from_db()
    assert (row.name, row.is_half_day, row.version) == ("Natal", True, 2)
    browser.post(page("publicholiday", "delete", row.pk), {"post": "yes"})
    assert lisbon.holidays.count() == 2


def test_a_calendar_that_cannot_be_filled_says_why(
    office: Office, other_office: Office, browser: Client, lisbon: HolidayCalendar
) -> None:
    assert "No holidays are known for the country" in fill(browser, office.calendar("Nowhere"))
    turned = fill(browser, lisbon, first_year="2027", last_year="2026", add="Add", day="2027-12-25")
    assert "Enter the first year or a later one, at most 10 years." in turned
    assert "every holiday of these years" not in turned
    theirs = other_office.calendar("Theirs", country_code="PT")
    said = fill(browser, theirs, first_year="2027", last_year="2027", add="Add", day="2027-12-25")
    assert "2027-12-25" not in said
    assert not PublicHoliday.objects.exists()
    form = {"organization": office.organization.pk, "name": "Bavaria", "country_code": "DE"}
    said = send(browser, page("holidaycalendar", "add"), form | {"region": "Bayern"})
    assert "Use one of: BB, BE," in said
    send(browser, page("holidaycalendar", "add"), form | {"region": "BY"})
    assert HolidayCalendar.objects.get(name="Bavaria").region == "BY"


def test_what_is_not_known_of_the_years_of_a_calendar_is_said(
    office: Office, browser: Client
) -> None:
    # The table of Sri Lanka ends with 2026; that of India has its Hindu holidays until 2035.
    lanka = office.calendar("Colombo", country_code="LK")
    india = office.calendar("Delhi", country_code="IN")
    shown = fill(browser, lanka, first_year="2027", last_year="2028")
    assert "No holidays are known for 2027." in shown
    assert "No holidays are known for 2028." in shown
    assert "There are no days to add." in shown
    assert "every holiday of these years" not in shown
    shown = fill(browser, lanka, first_year="2026", last_year="2027")
    assert "No holidays are known for 2026." not in shown
    assert "No holidays are known for 2027." in shown
    assert 'value="2026-02-04"' in shown  # Independence Day
    warning = "Requested Holidays are available only from 2001 to 2035."
    shown = fill(browser, india, first_year="2036", last_year="2036")
    assert shown.count(warning) == 1
    assert 'value="2036-08-15"' in shown
    assert warning not in fill(browser, india, first_year="2035", last_year="2035")
    shown = fill(browser, india, first_year="2100", last_year="2101")
    assert "less than or equal to 2100" in shown


def test_only_who_may_add_holidays_is_offered_to_fill_a_calendar(lisbon: HolidayCalendar) -> None:
    staff = Client()
    user = User.objects.create_user("staff@halo.example", name="Staff", is_staff=True)
    staff.force_login(user)

    def grant(codename: str) -> None:
        user.user_permissions.add(Permission.objects.get(codename=codename))

    for codename in ("view_holidaycalendar", "change_holidaycalendar"):
        grant(codename)
    address = page("holidaycalendar", "changelist")
    shown = staff.get(address).content.decode()
    assert 'value="make_default"' in shown
    assert 'value="fill"' not in shown
    years = {"first_year": "2027", "last_year": "2027"}
    assert "2027-12-25" not in fill(staff, lisbon, **years)
    # An admin of one organization who may change the calendars of all.
    mine = Organization.objects.create(name="Mine", slug="mine", widget_key="mine")
    Membership.objects.create(user=user, organization=mine, role=Role.ADMIN)
    assert "You may not add holidays to this calendar." in fill(staff, lisbon, **years)
    grant("add_publicholiday")
    assert 'value="fill"' in staff.get(address).content.decode()
    assert 'value="2027-12-25"' in fill(staff, lisbon, **years)


def test_a_calendar_of_another_organization_is_no_choice(
    office: Office, other_office: Office, browser: Client
) -> None:
    theirs = other_office.calendar("Theirs", is_default=True)
    own = {"organization": office.organization.pk}
    for model, form in (
        ("publicholiday", {"calendar": theirs.pk, "date": "2026-06-01", "name": "Day"}),
        ("referenceitem", {"holiday_calendar": theirs.pk, "kind": "wp", "label": "Berlin"}),
    ):
        said = send(browser, page(model, "add"), own | form)
        assert "Select a valid choice" in said
        assert "Theirs" not in said


def test_an_admin_enters_half_a_public_holiday_which_counts_half(
    office: Office, browser: Client
) -> None:
    of_office = {"organization": str(office.organization.pk)}
    send(browser, page("holidaycalendar", "add"), of_office | {"name": "Berlin"})
    calendar = HolidayCalendar.objects.get(is_default=True)
    form = {"date": MONDAY.isoformat(), "name": "Founding day", "is_half_day": "on"}
    form |= of_office | {"calendar": calendar.pk, "description": ""}
    assert "Founding day" in send(browser, page("publicholiday", "add"), form)
    said = send(browser, page("publicholiday", "add"), form | {"name": "Again"})
    assert "The calendar has a holiday on this day." in said
    row = office.leave_of(office.person(), MONDAY, MONDAY + timedelta(days=1))
    assert (float(row.amount_days), row.amount_minutes) == (1.5, 720)
