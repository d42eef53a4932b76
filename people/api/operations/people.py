"""People, what they are employed as, their units, their private profile and custom fields."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet, prefetch_related_objects

from people import access, balances, days
from people.api import answers, shapes
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.api.queries import PageQuery, PeopleQuery
from people.models import (
    EmploymentRecord,
    Person,
    PersonProfile,
)
from rest.paging import PageOrder

EMPLOYED_AS: Final = ("department", "manager", "work_place", "work_type", "working_pattern")
NAMES: Final = ("first_name", "last_name", "preferred_name", "work_email")


def full_time(organization_id: UUID) -> Mapping[str, Any]:
    """What the shapes of employment need to know of the organization."""
    return {"full_time": balances.settings_of(organization_id).full_time_weekly_minutes}


def _search_people(call: CheckedCall) -> QuerySet[Person]:
    query = call.query
    rows = access.rows(Person, call.organization_id).select_related(*EMPLOYED_AS, "status")
    for word in query.get("search", "").split():
        rows = rows.filter(
            Q(*(Q(**{f"{name}__icontains": word}) for name in NAMES), _connector=Q.OR)
        )
    if since := query.get("updated_since"):
        rows = rows.filter(updated_at__gte=since)
    for name in ("department_id", "manager_id"):
        if name in query:
            rows = rows.filter(**{name: query[name]})
    return rows


def people(call: CheckedCall) -> OperationAnswer:
    context = full_time(call.organization_id)
    order = PageOrder("last_name")
    rows = _search_people(call)
    return answers.paginate(shapes.PersonSerializer, rows, call.query, order, context=context)


def person(call: CheckedCall) -> OperationAnswer:
    row = _person(call, *EMPLOYED_AS, "status")
    context = full_time(call.organization_id)
    return answers.one(shapes.PersonSerializer, row, context=context)


def employment(call: CheckedCall) -> OperationAnswer:
    row = _person(call, *EMPLOYED_AS)
    context = full_time(call.organization_id)
    return answers.one(shapes.EmploymentSerializer, row, context=context)


def employment_history(call: CheckedCall) -> OperationAnswer:
    rows = _person(call).employment_history.select_related(*EMPLOYED_AS)
    return answers.paginate(
        shapes.EmploymentRecordSerializer,
        rows,
        call.query,
        PageOrder("effective_from", is_descending=True),
        context=full_time(call.organization_id),
    )


def employment_record(call: CheckedCall) -> OperationAnswer:
    owner = _person(call)
    row = access.row(
        EmploymentRecord, call.organization_id, call.path["history_id"], *EMPLOYED_AS, person=owner
    )
    context = full_time(call.organization_id)
    return answers.one(shapes.EmploymentRecordSerializer, row, context=context)


def org_links(call: CheckedCall) -> OperationAnswer:
    row = _person(call, "work_place", "organization")
    prefetch_related_objects([row], "unit_memberships__unit", "relationships__related_person")
    context = {"today": days.today(row.organization, row.work_place)}
    return answers.one(shapes.OrgLinksSerializer, row, context=context)


def personal_profile(call: CheckedCall) -> OperationAnswer:
    owner = _person(call)
    profiles = access.rows(PersonProfile, call.organization_id)
    row = profiles.filter(person=owner).first() or PersonProfile(
        person=owner, updated_at=owner.updated_at
    )
    return answers.one(shapes.PersonalProfileSerializer, row)


def custom_fields(call: CheckedCall) -> OperationAnswer:
    rows = _person(call).custom_values.select_related("field")
    return answers.many(shapes.CustomValueSerializer, rows.order_by("field__label"))


def _person(call: CheckedCall, *related: str) -> Person:
    return access.row(Person, call.organization_id, call.path["person_id"], *related)


EMPLOYED: Final = {
    "job_title": "Engineer",
    "manager": {"id": "8fq2c4m7vx1k", "display_name": "Grace Hopper"},
    "work_place": {"id": "wp_4k", "label": "Berlin"},
    "work_type": {"id": "wt_7d", "label": "Permanent"},
    "working_pattern": {"id": "working_pattern_9x", "label": "Full time"},
    "contracted_weekly_minutes": 2400,
    "full_time_weekly_minutes": 2400,
    "fte": 1.0,
    "start_date": "2024-03-01",
    "end_date": None,
    "updated_at": "2026-01-05T09:00:00Z",
}
PERSON_EXAMPLE: Final = {
    "id": "2b7v0c9x4k1m",
    "work_email": "ada@acme.example",
    "first_name": "Ada",
    "preferred_name": None,
    "last_name": "Lovelace",
    "display_name": "Ada Lovelace",
    "staff_id": "S0001",
    "department": {"id": "org_unit_2b7v0c", "name": "Engineering"},
    "status": "Active",
    "created_at": "2026-01-05T09:00:00Z",
    **EMPLOYED,
}
EMPLOYMENT_EXAMPLE: Final = {
    "person_id": "2b7v0c9x4k1m",
    "timeline_version": 3,
    "department": {"id": "org_unit_2b7v0c", "label": "Engineering"},
    **EMPLOYED,
}
HISTORY_EXAMPLE: Final = {
    **EMPLOYMENT_EXAMPLE,
    "id": "eh_5p",
    "effective_from": "2024-03-01",
    "created_at": "2026-01-05T09:00:00Z",
}
LINKS_EXAMPLE: Final = {"person_id": "2b7v0c9x4k1m", "memberships": [], "relationships": []}
PROFILE_EXAMPLE: Final = {
    "middle_names": None,
    "date_of_birth": "1990-12-10",
    "personal_email": "ada@home.example",
    "personal_phone_number": None,
    "work_phone_number": None,
    "home_address": {
        "address_line_1": "1 Example Street",
        **dict.fromkeys(("address_line_2", "address_line_3", "region_state")),
        "city": "Berlin",
        "postal_code": "10115",
        "country": "DE",
    },
    "updated_at": "2026-01-05T09:00:00Z",
}
# Over MCP a person is who they are at work: no staff id, and hours as a part of full time only.
PERSON_PROJECTION: Final = (
    *("id", "display_name", "first_name", "preferred_name", "last_name", "work_email"),
    *("job_title", "department.id", "department.name", "manager.id", "manager.display_name"),
    *("work_place.id", "work_place.label", "work_type.id", "work_type.label"),
    *("working_pattern.id", "working_pattern.label", "fte", "status"),
    *("start_date", "end_date", "updated_at"),
)
EMPLOYMENT_PROJECTION: Final = (
    *("person_id", "timeline_version", "job_title", "department.id", "department.label"),
    *("manager.id", "manager.display_name", "work_place.id", "work_place.label"),
    *("work_type.id", "work_type.label", "working_pattern.id", "working_pattern.label", "fte"),
    *("start_date", "end_date", "updated_at"),
)
HISTORY_PROJECTION: Final = ("id", "effective_from", *EMPLOYMENT_PROJECTION)
LINK_FIELDS: Final = ("id", "is_primary", "is_current", "effective_from", "effective_to")
LINKS_PROJECTION: Final = (
    "person_id",
    *(f"memberships.{name}" for name in (*LINK_FIELDS, "role")),
    *("memberships.org_unit.id", "memberships.org_unit.type", "memberships.org_unit.name"),
    *(f"relationships.{name}" for name in (*LINK_FIELDS, "type")),
    *("relationships.related_person.id", "relationships.related_person.display_name"),
)
OPERATIONS: Final = (
    Operation(
        id="listPeople",
        personal=True,
        path="people",
        scope="people:read",
        summary="List or search people.",
        run=people,
        response=shapes.PersonSerializer,
        query=PeopleQuery,
        lists=True,
        pages=True,
        example=PERSON_EXAMPLE,
        projection=PERSON_PROJECTION,
    ),
    Operation(
        id="getPerson",
        personal=True,
        path="people/{person_id}",
        scope="people:read",
        summary="Read one person.",
        run=person,
        response=shapes.PersonSerializer,
        example=PERSON_EXAMPLE,
        projection=PERSON_PROJECTION,
    ),
    Operation(
        id="getPersonEmployment",
        personal=True,
        path="people/{person_id}/employment",
        scope="people:read",
        summary="Read what a person is employed as.",
        run=employment,
        response=shapes.EmploymentSerializer,
        example=EMPLOYMENT_EXAMPLE,
        projection=EMPLOYMENT_PROJECTION,
    ),
    Operation(
        id="listPersonEmploymentHistory",
        personal=True,
        path="people/{person_id}/employment/history",
        scope="people:read",
        summary="List what a person was employed as, the latest first.",
        run=employment_history,
        response=shapes.EmploymentRecordSerializer,
        query=PageQuery,
        lists=True,
        pages=True,
        example=HISTORY_EXAMPLE,
        projection=HISTORY_PROJECTION,
    ),
    Operation(
        id="getPersonEmploymentHistory",
        personal=True,
        path="people/{person_id}/employment/history/{history_id}",
        scope="people:read",
        summary="Read one record of a person's employment.",
        run=employment_record,
        response=shapes.EmploymentRecordSerializer,
        example=HISTORY_EXAMPLE,
        projection=HISTORY_PROJECTION,
    ),
    Operation(
        id="getPersonOrgLinks",
        personal=True,
        path="people/{person_id}/org-links",
        scope="people:read",
        summary="Read the units and the relationships of a person.",
        run=org_links,
        response=shapes.OrgLinksSerializer,
        example=LINKS_EXAMPLE,
        projection=LINKS_PROJECTION,
    ),
    Operation(
        id="getPersonPersonalProfile",
        personal=True,
        path="people/{person_id}/personal-profile",
        scope="people:personal:read",
        summary="Read the private profile of a person.",
        run=personal_profile,
        response=shapes.PersonalProfileSerializer,
        example=PROFILE_EXAMPLE,
    ),
    Operation(
        id="listPersonCustomFields",
        personal=True,
        path="people/{person_id}/custom-fields",
        scope="custom_fields:read",
        summary="List the custom fields of a person.",
        run=custom_fields,
        response=shapes.CustomValueSerializer,
        lists=True,
        example={
            "key": "shirt_size",
            "label": "Shirt size",
            "field_type": "text",
            "sensitivity": "operational",
            "value": "M",
        },
    ),
)
