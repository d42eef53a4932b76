"""A key that is limited to a unit or a work place sees and changes nothing of anybody else."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core import serializers
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from oauth.models import KeyKind, ServerKey
from people import key_limits
from people.api.operation import Operation
from people.api.operations import ALL
from people.mcp.contract import EXPOSED
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
    TimeOff,
    TimeOffDecision,
    UnitType,
    WorkingPattern,
)
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client
from workspace.models import Membership, Role, User

INSIDE, OUTSIDE = "Insidia", "Outsidia"
PARAMETER = re.compile(r"\{(\w+)\}")
# The parameters of a path that name a person, or a record of one.
OF_PEOPLE = {"person_id", "history_id", "time_off_id", "document_id"}
READS = [one for one in ALL if one.is_read]
OF_ONE = [one for one in READS if OF_PEOPLE & set(PARAMETER.findall(one.path))]
WRITES = [one for one in ALL if not one.is_read]
MONDAY, FRIDAY = date(2027, 6, 7), date(2027, 6, 11)


@dataclass
class Side:
    """A person and one record of each kind, all with the name of the side in their texts."""

    name: str
    person: Person
    keys: dict[str, str]

    @property
    def time_off(self) -> TimeOff:
        return TimeOff.objects.get(pk=self.keys["time_off_id"])


@dataclass
class Company:
    office: Office
    inside: Side
    outside: Side
    limits: dict[str, Any]

    def program(self, limit: str, *scopes: str) -> Program:
        program = Program(self.office.organization, *scopes)
        text = key_limits.to_text(self.limits[limit])
        ServerKey.objects.filter(pk=program.row.pk).update(record_limit=text)
        return program


def add_side(office: Office, name: str, **values: Any) -> Side:
    own = {"organization": office.organization}
    person = office.person(first_name=name, work_email=f"{name}@office.example", **values)
    of_person = own | {"person": person}
    today = timezone.localdate()
    record = EmploymentRecord.objects.create(
        **of_person, effective_from=date(2020, 1, 1), job_title=f"{name} job"
    )
    PersonProfile.objects.create(**of_person, city=f"{name} city")
    document = Document.objects.create(**of_person, name=f"{name} contract")
    field = CustomField.objects.create(**own, key=name.lower(), label="Field")
    CustomFieldValue.objects.create(person=person, field=field, value=f"{name} value")
    LedgerEntry.objects.create(
        **of_person, category=office.leave, amount_days=1, effective_date=today
    )
    days_off = {"category": office.leave, "amount_days": 5, "amount_minutes": 2400}
    pending = TimeOff.objects.create(
        **of_person, **days_off, start_date=MONDAY, end_date=FRIDAY, status="pending"
    )
    TimeOff.objects.create(
        **of_person, **days_off, start_date=today, end_date=today, status="approved"
    )
    keys = {"person_id": person.pk, "history_id": record.pk, "time_off_id": pending.pk}
    return Side(name, person, keys | {"document_id": document.pk})


@pytest.fixture
def company(office: Office) -> Company:
    """Each person manages the other one's side, so that records of one name the other."""
    own = {"organization": office.organization}
    office.pattern()
    entity = OrgUnit.objects.create(**own, type=UnitType.LEGAL_ENTITY, name="North")
    unit = OrgUnit.objects.create(**own, type=UnitType.DEPARTMENT, name="Dep", parent=entity)
    other = OrgUnit.objects.create(**own, type=UnitType.DEPARTMENT, name="Other")
    place, elsewhere = office.place("Berlin"), office.place("Lisbon")
    outside = add_side(office, OUTSIDE, department=other, work_place=elsewhere)
    inside = add_side(office, INSIDE, department=unit, work_place=place, manager=outside.person)
    Person.objects.filter(pk=outside.person.pk).update(manager=inside.person)
    EmploymentRecord.objects.filter(person=inside.person).update(manager=outside.person)
    for one, another in ((inside, outside), (outside, inside)):
        PersonRelationship.objects.create(
            **own,
            person=one.person,
            related_person=another.person,
            type="deputy",
            effective_from=date(2020, 1, 1),
        )
    account = User.objects.create_user(f"{OUTSIDE}@office.example", name=f"{OUTSIDE} account")
    TimeOffDecision.objects.create(
        **own,
        time_off=inside.time_off,
        decision="approved",
        step=1,
        role="manager",
        person=outside.person,
        user=account,
    )
    limits = {"legal entity": entity, "department": unit, "work place": place}
    return Company(office, inside, outside, limits)


def build_path(operation: Operation, side: Side, office: Office) -> str:
    keys = side.keys | {"category_id": office.leave.pk}
    for name, model in (("org_unit_id", OrgUnit), ("working_pattern_id", WorkingPattern)):
        keys[name] = model.objects.filter(organization=office.organization).values_list("pk")[0][0]
    return PARAMETER.sub(lambda found: keys[found[1]], operation.path)


def build_query(operation: Operation) -> dict[str, str]:
    if operation.id != "listWhoIsOut":
        return {}
    today = timezone.localdate().isoformat()
    return {"from": today, "to": today}


def require_nothing_of(side: Side, text: str) -> None:
    for one in (side.name, side.name.lower(), *side.keys.values()):
        assert one not in text


@pytest.mark.django_db
@pytest.mark.parametrize("limit", ["legal entity", "department", "work place"])
@pytest.mark.parametrize("operation", READS, ids=lambda one: one.id)
def test_a_read_answers_nothing_of_a_person_outside(
    company: Company, operation: Operation, limit: str
) -> None:
    office = company.office
    program, free = company.program(limit), Program(office.organization)
    path, query = build_path(operation, company.inside, office), build_query(operation)
    every = free.send("GET", path, query=query)
    limited = program.send("GET", path, query=query)
    assert (every.status, limited.status) == (200, 200)
    text = limited.response.content.decode()
    require_nothing_of(company.outside, text)
    if operation.personal and operation.lists and operation not in OF_ONE:
        # Without the limit they are there.
        assert company.outside.keys["person_id"] in every.response.content.decode()
        assert company.inside.keys["person_id"] in text
    if operation in OF_ONE:
        theirs = build_path(operation, company.outside, office)
        assert free.send("GET", theirs, query=query).status == 200
        refused = program.send("GET", theirs, query=query)
        assert refused.code == "404 not_found"
        unknown = refused.error["message"].replace(company.outside.keys[key_of(operation)], "")
        assert OUTSIDE not in unknown


def key_of(operation: Operation) -> str:
    return next(one for one in PARAMETER.findall(operation.path) if one in OF_PEOPLE)


@pytest.mark.django_db
def test_a_count_a_search_and_a_filter_know_nobody_outside(company: Company) -> None:
    program, free = company.program("work place"), Program(company.office.organization)
    assert free.get("people/count").data["employed"] == 2
    assert program.get("people/count").data["employed"] == 1
    assert len(free.get("people", search=OUTSIDE).data) == 1
    assert program.get("people", search=OUTSIDE).data == []
    assert [one["id"] for one in program.get("people", search=INSIDE).data] == [
        company.inside.person.pk
    ]
    today = timezone.localdate().isoformat()
    out = program.get("time-off/who-is-out", from_=today, to=today)
    assert out.body["totals"] == {"people": 1, "absences": 1}
    outside = company.outside.person.pk
    for path in ("people", "time-off", "time-off/balances"):
        for name in ("manager_id", "person_id", "waits_for_id"):
            reply = program.get(path, **{name: outside})
            assert reply.code == "400 invalid_request", (path, name)


def build_body(operation: Operation, side: Side, office: Office) -> dict[str, Any]:
    if operation.id in {"createTimeOff", "dryRunTimeOff"}:
        days = {"start_date": "2027-07-05", "end_date": "2027-07-09"}
        return {"person_id": side.person.pk, "category_id": office.leave.pk, **days}
    return {"end_date": "2027-06-10"} if operation.id == "updateTimeOff" else {}


def read_everything() -> str:
    models = (Person, TimeOff, TimeOffDecision, LedgerEntry)
    return "".join(serializers.serialize("json", one.objects.order_by("pk")) for one in models)


@pytest.mark.django_db
@pytest.mark.parametrize("operation", WRITES, ids=lambda one: one.id)
def test_a_write_changes_nothing_of_a_person_outside(
    company: Company, operation: Operation
) -> None:
    office = company.office
    program, free = company.program("department"), Program(office.organization)

    def send(side: Side, **more: Any) -> Any:
        path, body = build_path(operation, side, office), build_body(operation, side, office)
        etag = free.get(f"time-off/{side.keys['time_off_id']}").etag
        send = program.patch if operation.method == "PATCH" else program.post
        return send(path, body | more, If_Match=etag)

    before = read_everything()
    refused = send(company.outside)
    assert refused.status in {400, 404}
    require_no_name(company.outside, refused)
    if operation.id in {"cancelTimeOff", "approveTimeOff", "declineTimeOff"}:
        named = send(company.inside, decided_by_id=company.outside.person.pk)
        assert (named.code, named.fields) == ("400 invalid_request", ["decided_by_id"])
        require_no_name(company.outside, named)
    assert read_everything() == before
    done = send(company.inside)
    assert done.status in {200, 201}
    require_nothing_of(company.outside, done.response.content.decode())
    assert (read_everything() != before) is operation.is_change


def require_no_name(side: Side, reply: Any) -> None:
    assert side.name not in reply.response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("operation", EXPOSED.values(), ids=lambda one: one.id)
def test_an_ai_client_with_a_limited_key_is_answered_nothing_of_a_person_outside(
    company: Company, operation: Operation, settings: Any
) -> None:
    settings.HALO_HR_WRITE_MODE = "enabled"
    office = company.office
    limited, free = (
        client(one) for one in (company.program("legal entity"), Program(office.organization))
    )
    names = PARAMETER.findall(operation.path)

    def call(mcp: Any, side: Side) -> Any:
        path = build_path(operation, side, office).split("/")
        places = operation.path.split("/")
        keys = {one[1:-1]: path[places.index(one)] for one in places if one.startswith("{")}
        args: dict[str, Any] = {"pathParams": keys, "query": build_query(operation)}
        if operation.is_read:
            return mcp.call("call_api_operation", {"operation_id": operation.id, "args": args})
        args["body"] = build_body(operation, side, office)
        return mcp.call("prepare_api_write", {"operation_id": operation.id, "args": args})

    own = call(limited, company.inside)
    assert own.result["isError"] is False, own.body
    require_nothing_of(company.outside, own.body.decode())
    if OF_PEOPLE & set(names) or not operation.is_read:
        assert call(free, company.outside).result["isError"] is False
        theirs = call(limited, company.outside)
        assert theirs.result["isError"] is True
        assert OUTSIDE not in theirs.body.decode()


@pytest.mark.django_db
def test_the_tools_for_one_record_know_nobody_outside(company: Company) -> None:
    mcp, free = client(company.program("work place")), client(Program(company.office.organization))
    person, days_off = company.outside.person.pk, company.outside.keys["time_off_id"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_person", {"person_id": person}),
        ("get_person_context", {"person_id": person}),
        ("list_reports", {"person_id": person}),
        ("get_time_off", {"time_off_id": days_off}),
        ("list_time_off", {"person_id": person}),
        ("list_time_off", {"waits_for_id": person}),
        ("list_time_off_balances", {"person_id": person}),
        ("who_is_out", {"person_id": person}),
    ]
    for name, arguments in calls:
        assert free.call(name, arguments).result["isError"] is False, name
        refused = mcp.call(name, arguments)
        assert refused.result["isError"] is True, name
        assert OUTSIDE not in refused.body.decode()
    own = mcp.call("get_person_context", {"person_id": company.inside.person.pk})
    assert own.result["isError"] is False
    require_nothing_of(company.outside, own.body.decode())
    found = mcp.call("search_people", {"employment": "all"}).facts
    assert [one["id"] for one in found["data"]] == [company.inside.person.pk]
    assert found["counts"]["employed"] == 1


@pytest.mark.django_db
def test_a_key_says_what_it_is_limited_to_and_sees_nobody_once_that_is_gone(
    company: Company,
) -> None:
    program = company.program("legal entity")
    entity = company.limits["legal entity"]
    said = {"type": "unit", "id": entity.pk, "name": "North"}
    assert program.get("me").data["api_key"]["limited_to"] == said
    assert client(program).call("whoami").facts["api_key"]["limited_to"] == said
    assert Program(company.office.organization).get("me").data["api_key"]["limited_to"] is None
    entity.delete()
    assert program.get("me").data["api_key"]["limited_to"]["name"] is None
    assert program.get("people").data == []
    assert program.get(f"people/{company.inside.person.pk}").status == 404


@pytest.mark.django_db
def test_members_of_a_unit_are_seen_while_their_membership_holds(company: Company) -> None:
    program, guest = company.program("department"), company.office.person(first_name="Gast")
    membership = OrgUnitMembership.objects.create(
        organization=company.office.organization,
        person=guest,
        unit=company.limits["department"],
        effective_from=date(2020, 1, 1),
    )
    assert program.get(f"people/{guest.pk}").status == 200
    OrgUnitMembership.objects.filter(pk=membership.pk).update(effective_to=date(2021, 1, 1))
    assert program.get(f"people/{guest.pk}").status == 404


@pytest.mark.django_db
def test_an_admin_limits_a_new_key_on_the_page(company: Company, other_office: Office) -> None:
    organization = company.office.organization
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    form = {"organization": organization.pk, "name": "Partner", "kind": KeyKind.LIVE}
    form |= {"scopes": ["people:read"], "days": "30"}
    theirs = other_office.place("Elsewhere")
    for wrong in (key_limits.to_text(theirs), "unit:nothing"):
        refused = browser.post(reverse("api_keys"), form | {"record_limit": wrong})
        assert refused.status_code == 400
    limit = key_limits.to_text(company.limits["work place"])
    test_key = form | {"record_limit": limit, "kind": KeyKind.TEST}
    assert browser.post(reverse("api_keys"), test_key).status_code == 400
    assert not ServerKey.objects.filter(organization=organization).exists()
    assert browser.post(reverse("api_keys"), form | {"record_limit": limit}).status_code == 200
    assert ServerKey.objects.get(organization=organization).record_limit == limit
    shown = browser.get(reverse("api_keys")).content.decode()
    assert f"Only people of Berlin (Work place, {organization.name})" in shown
    assert "Elsewhere" not in shown


def test_operations_read_rows_only_through_the_call_that_knows_the_key() -> None:
    other_ways = re.compile(r"access\.(?:rows|row|find_row|lock_row)\(|\.objects\b")
    places = [*Path("people/api").rglob("*.py"), *Path("people/mcp").glob("*.py")]
    found = {
        (place.as_posix(), line.strip())
        for place in places
        for line in place.read_text().splitlines()
        if other_ways.search(line)
    }
    assert {place for place, _line in found} == {"people/api/operation.py", "people/mcp/budget.py"}


def test_every_record_about_a_person_names_them_in_one_column() -> None:
    """What `limit_rows` goes by; decisions, lengths and words are read through the record."""
    through = {"TimeOffDecision", "LengthChange", "PersonWord", "LeavePolicy"}
    for model in apps.get_app_config("people").get_models():
        columns = {field.name for field in model._meta.fields if field.related_model is Person} - {
            "manager",
            "related_person",
        }
        if model.__name__ not in through:
            assert columns <= {"person"}, model
