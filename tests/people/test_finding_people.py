"""Finding people over the HR API: by words in any spelling, and by what they are."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from customers import bulk_writes
from people import employment, search_backfill, seeding
from people.models import (
    OrgUnit,
    OrgUnitMembership,
    Person,
    PersonWord,
    ReferenceItem,
    ReferenceKind,
    TimeOff,
    UnitType,
)
from people.tasks import fill_search_texts
from tests.people.api.program import Program
from tests.people.conftest import Office

TODAY = date(2026, 11, 28)
# What is searched, and the name of each person who is found; a person is found by no other.
SPELLINGS = [
    ("özlem", "Özlem Çelik"),
    ("ozlem", "Özlem Çelik"),
    ("OEZLEM", "Özlem Çelik"),
    ("celik", "Özlem Çelik"),
    ("MÜLLER", "Jürgen Müller"),
    ("Muller", "Jürgen Müller"),
    ("Mueller", "Jürgen Müller"),
    ("juergen", "Jürgen Müller"),
    ("Schröder", "Anna Schroeder"),
    ("schroed", "Anna Schroeder"),
    ("WEISS", "Eva Weiß"),
    ("weiß", "Eva Weiß"),
    ("Jose", "José Díaz"),
    ("JOSÉ", "José Díaz"),
    ("Jose\u0301 diaz", "José Díaz"),
    ("Beranger", "Luc Be\u0301ranger"),
    ("Béranger", "Luc Be\u0301ranger"),
    ("O'Brien", "Nora O\u2019Brien"),
    ("o\u2019brien", "Nora O\u2019Brien"),
    ("OBrien", "Nora O\u2019Brien"),
    ("isik", "Can I\u015f\u0131k"),
    ("IŞIK", "Can I\u015f\u0131k"),
    ("Adler, Quinn", "Quinn Adler"),
    ("quinn adler", "Quinn Adler"),
    ("  adl   QUI  ", "Quinn Adler"),
    ("quinn.adler@office.example", "Quinn Adler"),
    ("office.example", "Quinn Adler"),
    ("controller", "Quinn Adler"),
    ("finance", "Quinn Adler"),
    ("finance quinn", "Quinn Adler"),
    ("李", "小龙 李"),
    ("龙", "小龙 李"),
    ("李小龙", "小龙 李"),
    ("小龙", "小龙 李"),
    ("Smith-Jones", "Al Smith-Jones"),
    ("jones", "Al Smith-Jones"),
    ("김", "지수 김"),
    ("Søren", "Søren Łuk"),
    ("soren luk", "Søren Łuk"),
]


@pytest.fixture
def people(office: Office) -> dict[str, Person]:
    """The people of SPELLINGS, and others, by their names."""
    finance = OrgUnit.objects.create(
        organization=office.organization, type=UnitType.DEPARTMENT, name="Finance"
    )
    found = {}
    for name in {*(name for _search, name in SPELLINGS), "Zoe Zimmer"}:
        first, last = name.split()
        more: dict[str, Any] = {}
        if name == "Quinn Adler":
            more = {"work_email": "quinn.adler@office.example", "job_title": "Controller"}
            more["department"] = finance
        found[name] = office.person(first_name=first, last_name=last, **more)
    return found


def names(reply: Any) -> list[str]:
    return [f"{one['first_name']} {one['last_name']}" for one in reply.data]


@pytest.mark.parametrize(("search", "name"), SPELLINGS)
@pytest.mark.usefixtures("people")
def test_people_are_found_in_any_spelling(program: Program, search: str, name: str) -> None:
    assert names(program.get("people", search=search)) == [name]


@pytest.mark.parametrize("search", ["adler zimmer", "%%", "--", "d_ler", "lace", "mulle r"])
@pytest.mark.usefixtures("people")
def test_people_are_not_found_by_other_words(program: Program, search: str) -> None:
    assert program.get("people", search=search).data == []


def test_words_of_other_organizations_find_nobody(
    office: Office, other_office: Office, program: Program
) -> None:
    own, _theirs = (each.person(first_name="Özlem") for each in (office, other_office))
    assert [one["id"] for one in program.get("people", search="ozlem").data] == [own.pk]


@pytest.mark.parametrize("search", ["x", "!", " x ", "a b c d e f g h i j k"])
def test_a_search_of_one_letter_or_of_too_many_words_is_refused(
    program: Program, search: str
) -> None:
    reply = program.get("people", search=search)
    assert (reply.code, reply.fields) == ("400 invalid_request", ["search"])


def test_a_repeated_word_is_one_word(office: Office, program: Program) -> None:
    office.person(first_name="Anna", last_name="")
    assert names(program.get("people", search="a " * 59)) == ["Anna None"]


def test_a_person_is_found_by_what_they_are_after_each_change(
    office: Office, program: Program
) -> None:
    person, day = office.person(first_name="Ada", last_name="Adler"), timezone.localdate()

    def is_found(search: str) -> bool:
        return bool(program.get("people", search=search).data)

    employment.change(person, day, job_title="Grüne Energie")
    assert (is_found("ada gruene"), is_found("grune energie")) == (True, True)
    employment.change(person, day, job_title="Lawyer")
    assert (is_found("gruene"), is_found("lawyer")) == (False, True)
    unit = OrgUnit.objects.create(
        organization=office.organization, type=UnitType.DEPARTMENT, name="Größen"
    )
    employment.change(person, day, department=unit)
    assert (is_found("ada groessen"), is_found("GRÖSSEN")) == (True, True)
    OrgUnit.objects.filter(pk=unit.pk).update(name="Sizes")
    assert (is_found("groessen"), is_found("sizes")) == (False, True)
    person.refresh_from_db()
    # The words are the same, and still those of the person.
    person.first_name = "ADA"
    person.save()
    person.refresh_from_db()
    assert (person.search_text is None, is_found("ada")) == (False, True)
    person.delete()
    assert not PersonWord.objects.filter(person_id=person.pk).exists()


def test_what_an_earlier_version_writes_is_found_until_its_words_are_computed(
    office: Office, program: Program
) -> None:
    person = office.person(first_name="Özlem", last_name="Adler")
    # Updates of columns alone, as processes of earlier versions make them.
    Person.objects.filter(pk=person.pk).update(last_name="Quist")
    assert not PersonWord.objects.filter(person=person).exists()
    assert names(program.get("people", search="quis")) == ["Özlem Quist"]
    assert program.get("people", search="adler").data == []
    assert fill_search_texts() == 1
    assert names(program.get("people", search="OZLEM quist")) == ["Özlem Quist"]
    assert fill_search_texts() == 0
    # And what they insert.
    Person.objects.filter(pk=person.pk).update(search_text=None)
    assert names(program.get("people", search="Quist")) == ["Özlem Quist"]
    assert search_backfill.fill_search_texts() == 1


def test_words_are_computed_for_a_limited_time_at_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _number in range(3):
        office.person()
    Person.objects.update(search_text=None)
    monkeypatch.setattr(bulk_writes, "BATCH", 1)
    monkeypatch.setattr(bulk_writes, "RUN_SECONDS", 0.0)
    assert fill_search_texts() == 1
    monkeypatch.setattr(bulk_writes, "RUN_SECONDS", 30.0)
    assert fill_search_texts() == 2


def test_a_name_with_signs_of_other_languages_is_stored_as_words(
    office: Office, program: Program
) -> None:
    person = office.person(first_name='"x\\yy|zz"]', last_name="'; DROP \u202etable --")
    found = PersonWord.objects.filter(person=person).values_list("word", flat=True)
    assert set(found) == {"x", "yy", "zz", "drop", "table"}
    assert len(program.get("people", search='yy"] table').data) == 1


def test_words_are_written_with_the_person_or_not_at_all(office: Office) -> None:
    office.person(work_email="ada@office.example")
    words = PersonWord.objects.count()
    with pytest.raises(IntegrityError), transaction.atomic():
        office.person(first_name="Ben", work_email="ada@office.example")
    assert PersonWord.objects.count() == words


def test_made_up_people_are_found_by_their_words(office: Office, program: Program) -> None:
    office.leave.delete()
    seeding.seed(office.organization, timezone.localdate())
    one = Person.objects.filter(organization=office.organization).order_by("pk")[0]
    found = program.get("people", search=one.work_email).data
    assert one.pk in {each["id"] for each in found}
    # The beginnings of words are compared, so 3 in the address of a namesake may also find 31.
    names = f"{one.first_name}.{one.last_name}.".lower()
    assert all(each["work_email"].startswith(names) for each in found)


@pytest.fixture
def staff(office: Office, monkeypatch: pytest.MonkeyPatch) -> dict[str, Person]:
    """A chief, two heads with two reports each, one who left, and one who will join."""
    monkeypatch.setattr("people.days.today", lambda *_: TODAY)
    own = {"organization": office.organization}
    units = {
        name: OrgUnit.objects.create(**own, type=UnitType.DEPARTMENT, name=name)
        for name in ("Engineering", "Sales")
    }
    team = OrgUnit.objects.create(**own, type=UnitType.TEAM, name="Platform")
    places = {name: office.place(name) for name in ("Berlin", "Lisbon")}
    active = ReferenceItem.objects.create(
        **own, kind=ReferenceKind.PROFILE_STATUS, label="On leave"
    )
    chief = office.person(first_name="Chief", last_name="A")
    found = {"Chief": chief}
    for head, unit, place, reports in (
        ("Eve", "Engineering", "Berlin", ("Ben", "Cleo", "Left", "Next")),
        ("Sam", "Sales", "Lisbon", ("Sid", "Sue")),
    ):
        work = {"department": units[unit], "work_place": places[place]}
        found[head] = office.person(first_name=head, last_name="B", manager=chief, **work)
        for name in reports:
            found[name] = office.person(first_name=name, last_name="C", manager=found[head], **work)
    found["Left"].end_date = TODAY - timedelta(days=1)
    found["Left"].start_date = date(2020, 1, 1)
    found["Next"].start_date = TODAY + timedelta(days=1)
    found["Ben"].start_date, found["Ben"].end_date = date(2026, 10, 1), TODAY
    found["Cleo"].status = active
    found["Sue"].work_place = places["Berlin"]
    for person in found.values():
        person.save()
    for name in ("Cleo", "Sue"):
        OrgUnitMembership.objects.create(
            **own, person=found[name], unit=team, effective_from=date(2026, 1, 1)
        )
    OrgUnitMembership.objects.create(
        **own,
        person=found["Ben"],
        unit=team,
        effective_from=date(2026, 1, 1),
        effective_to=TODAY,
    )
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"department": "engineering"}, "Eve Ben Cleo Left Next"),
        ({"department": "engineering", "employment": "employed"}, "Eve Ben Cleo"),
        ({"employment": "left"}, "Left"),
        ({"employment": "not_started"}, "Next"),
        ({"employment": "all", "work_place": "Lisbon"}, "Sam Sid"),
        ({"employed_on": "2026-11-29", "department": "Engineering"}, "Eve Cleo Next"),
        ({"employed_on": "2026-11-27", "department": "Engineering"}, "Eve Ben Cleo Left"),
        ({"employed_on": "2026-11-29", "employment": "left"}, "Ben Left"),
        ({"status": "on leave"}, "Cleo"),
        ({"team": "platform"}, "Cleo Sue"),
        ({"work_place": "berlin", "department": "Sales"}, "Sue"),
        ({"joined_from": "2026-10-01", "joined_to": "2026-12-31"}, "Ben Next"),
        ({"left_from": "2026-11-01", "left_to": "2026-11-27"}, "Left"),
        ({"search": "sales b"}, "Sam"),
    ],
)
def test_people_are_filtered_by_what_they_are(
    staff: dict[str, Person], program: Program, query: dict[str, Any], expected: str
) -> None:
    found = {one["first_name"] for one in program.get("people", **query).data}
    assert found == set(expected.split())
    assert len(staff) == 9


@pytest.mark.parametrize(
    ("manager", "reports", "expected"),
    [
        ("Chief", "direct", "Eve Sam"),
        ("Chief", None, "Eve Sam"),
        ("Chief", "all", "Eve Sam Ben Cleo Left Next Sid Sue"),
        ("Sam", "all", "Sid Sue"),
        ("Sid", "all", ""),
    ],
)
def test_people_below_a_manager_are_listed(
    staff: dict[str, Person], program: Program, manager: str, reports: str | None, expected: str
) -> None:
    query = {"manager_id": staff[manager].pk} | ({"reports": reports} if reports else {})
    found = {one["first_name"] for one in program.get("people", **query).data}
    assert found == set(expected.split())


def test_people_who_manage_each_other_are_listed_once(
    staff: dict[str, Person], program: Program
) -> None:
    # No form allows it; two changes at once do.
    Person.objects.filter(pk=staff["Chief"].pk).update(manager=staff["Sid"])
    found = program.get("people", manager_id=staff["Sid"].pk, reports="all", limit=100).data
    assert len({one["id"] for one in found}) == len(found) == 9


def test_each_person_says_whether_they_are_employed(
    staff: dict[str, Person], program: Program
) -> None:
    states = {name: program.get(f"people/{one.pk}").data for name, one in staff.items()}
    assert {name: one["employment_status"] for name, one in states.items()} == dict.fromkeys(
        staff, "employed"
    ) | {"Left": "left", "Next": "not_started"}


def test_people_are_counted_without_rows(staff: dict[str, Person], program: Program) -> None:
    # Nine people: Left has left, Next has not started, the other seven are employed.
    found = program.get("people/count").data
    assert found == {
        "day": "2026-11-28",
        "employed": 7,
        "left": 1,
        "not_started": 1,
        "groups": [],
        "more_groups": 0,
    }
    engineers = program.get("people/count", department="Engineering", work_place="Berlin").data
    assert (engineers["employed"], engineers["left"], engineers["not_started"]) == (3, 1, 1)
    groups = program.get("people/count", group_by="department").data["groups"]
    assert [(one["name"], one["employed"], one["left"]) for one in groups] == [
        ("Engineering", 3, 1),
        ("Sales", 3, 0),
        (None, 1, 0),
    ]
    tomorrow = program.get("people/count", employed_on="2026-11-29").data
    # Ben's last day is today, and Next begins tomorrow.
    assert (tomorrow["employed"], tomorrow["left"], tomorrow["not_started"]) == (7, 2, 0)
    assert staff["Left"].pk not in str(found)


def test_the_tree_below_a_manager_is_rows_with_their_managers(
    staff: dict[str, Person], program: Program
) -> None:
    reply = program.get(f"people/{staff['Chief'].pk}/reports")
    tree = {one["display_name"]: (one["manager_id"], one["direct_reports"]) for one in reply.data}
    eve, sam = staff["Eve"].pk, staff["Sam"].pk
    # Left and Next are not employed today, and nobody's reports then.
    assert tree == {
        "Eve B": (staff["Chief"].pk, 2),
        "Sam B": (staff["Chief"].pk, 2),
        "Ben C": (eve, 0),
        "Cleo C": (eve, 0),
        "Sid C": (sam, 0),
        "Sue C": (sam, 0),
    }
    assert reply.body["totals"] == {"direct_reports": 2, "all_levels": 6}
    direct = program.get(f"people/{staff['Chief'].pk}/reports", levels=1)
    assert {one["display_name"] for one in direct.data} == {"Eve B", "Sam B"}
    assert direct.body["totals"] == reply.body["totals"]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("people", {"department": "Nowhere"}),
        ("people", {"team": "Engineering"}),
        ("people", {"work_place": "Atlantis"}),
        ("people", {"status": "Aktive"}),
        ("people", {"department_id": "{theirs}"}),
        ("people", {"manager_id": "{theirs}"}),
        ("people", {"manager_id": "Ada Adler"}),
        ("people", {"reports": "all"}),
        ("people", {"employment": "fired"}),
        ("people", {"employed_on": "9999-12-31"}),
        ("people", {"joined_to": "2026-01-01", "joined_from": "2026-01-02"}),
        ("people/count", {"group_by": "salary"}),
        ("people/count", {"manager_id": "{theirs}"}),
        ("people/{person}/reports", {"levels": "0"}),
        ("time-off", {"person_id": "{theirs}"}),
        ("time-off", {"manager_id": "{theirs}"}),
        ("time-off", {"work_place": "Atlantis"}),
        ("time-off/balances", {"person_id": "{theirs}"}),
        ("time-off/balances", {"category_id": "{theirs}"}),
        ("time-off/balances", {"taken_below": "many"}),
        ("time-off/balances", {"taken_below": "nan"}),
        ("documents", {"person_id": "{theirs}"}),
    ],
)
@pytest.mark.usefixtures("staff")
def test_what_nothing_has_is_an_error_and_not_an_empty_list(
    office: Office, other_office: Office, program: Program, path: str, query: dict[str, str]
) -> None:
    known = {"theirs": other_office.person().pk, "person": office.person().pk}
    given = {name: text.format(**known) for name, text in query.items()}
    reply = program.get(path.format(**known), **given)
    assert reply.code == "400 invalid_request"
    assert reply.fields[0] in query


@pytest.mark.usefixtures("staff")
def test_an_unknown_name_is_answered_with_the_known_ones(program: Program) -> None:
    error = program.get("people", work_place="Berln").error
    assert "Berlin, Lisbon" in error["details"][0]["issue"]
    assert "Atlantis" not in program.get("people", department="Atlantis").error["message"]


def test_requests_of_every_status_can_be_listed(office: Office, program: Program) -> None:
    person = office.person(manager=office.person())
    monday = date(2026, 6, 1)
    for number, status in enumerate(("pending", "approved", "rejected", "cancelled")):
        row = office.leave_of(person, day := monday + timedelta(days=number), day)
        TimeOff.objects.filter(pk=row.pk).update(status=status)
    for status, code in (
        ("pending", "pending"),
        ("pending_approval", "pending"),
        ("declined", "rejected"),
        *((one, one) for one in ("approved", "rejected", "cancelled")),
    ):
        found = program.get("time-off", status=status).data
        assert [one["status_code"] for one in found] == [code]
