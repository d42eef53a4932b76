"""People, what they are employed as, their units, their private profile and custom fields."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from django.db.models import (
    Count,
    F,
    IntegerField,
    OuterRef,
    Prefetch,
    QuerySet,
    Subquery,
    prefetch_related_objects,
)
from django.db.models.functions import Coalesce

from people import days, leave_years
from people.api import answers, people_filters, shapes
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.api.operations.organisation import find_organization
from people.api.queries import (
    EVERYBODY,
    PageQuery,
    PeopleCountQuery,
    PeopleQuery,
    ReportsQuery,
)
from people.employment import EmploymentState, has_state
from people.models import (
    EmploymentRecord,
    Person,
    PersonProfile,
    PersonRelationship,
    ReferenceKind,
)
from rest.paging import PageOrder

EMPLOYED_AS: Final = ("department", "manager", "work_place", "work_type", "working_pattern")
# The column of the name of what people are grouped by.
GROUPS: Final[Mapping[str, str]] = {
    "department": "name",
    **dict.fromkeys(("work_place", "work_type", "status"), "label"),
}
MAX_GROUPS: Final = 50
DAYS: Final[Mapping[str, str]] = {
    "joined_from": "start_date__gte",
    "joined_to": "start_date__lte",
    "left_from": "end_date__gte",
    "left_to": "end_date__lte",
}


def person_context(call: CheckedCall) -> Mapping[str, Any]:
    """What the shapes of people and employment need to know of the organization."""
    settings = leave_years.find_settings(call.organization_id)
    today = days.today(find_organization(call))
    return {
        "full_time": settings.full_time_weekly_minutes,
        "today": today,
        "visible_people": call.find_visible_people(),
    }


def people(call: CheckedCall) -> OperationAnswer:
    context = person_context(call)
    query = call.query
    day = query.get("employed_on", context["today"])
    rows = _filter_people(call, day)
    default = EmploymentState.EMPLOYED.value if "employed_on" in query else EVERYBODY
    state = query.get("employment", default)
    if state != EVERYBODY:
        rows = rows.filter(has_state(EmploymentState(state), day))
    if since := query.get("updated_since"):
        rows = rows.filter(updated_at__gte=since)
    rows = rows.select_related(*EMPLOYED_AS, "status")
    order = PageOrder("last_name")
    return answers.paginate(shapes.PersonSerializer, rows, query, order, context=context)


def count(call: CheckedCall) -> OperationAnswer:
    """Counts without rows: no person is shown."""
    query = call.query
    day = query.get("employed_on") or days.today(find_organization(call))
    rows = _filter_people(call, day).order_by()
    state = query.get("employment", EVERYBODY)
    if state != EVERYBODY:
        rows = rows.filter(has_state(EmploymentState(state), day))
    sums: Any = {one.value: Count("pk", filter=has_state(one, day)) for one in EmploymentState}
    found = {"day": day, **rows.aggregate(**sums), "groups": [], "more_groups": 0}
    if group := query.get("group_by"):
        columns = {"group_id": f"{group}__pk", "group_name": f"{group}__{GROUPS[group]}"}
        named: Any = {name: F(column) for name, column in columns.items()}
        counted: Any = rows.values(**named).annotate(**sums)
        groups = [{"id": one["group_id"], "name": one["group_name"], **one} for one in counted]
        groups.sort(key=lambda one: (-one["employed"], one["name"] or ""))
        found |= {"groups": groups[:MAX_GROUPS], "more_groups": max(0, len(groups) - MAX_GROUPS)}
    return answers.one(shapes.PeopleCountSerializer, found)


def reports(call: CheckedCall) -> OperationAnswer:
    """The tree below a manager, as rows that name theirs."""
    manager = _person(call)
    today = days.today(find_organization(call))
    employed = call.rows(Person).filter(has_state(EmploymentState.EMPLOYED, today))
    if call.key.record_limit:
        # Each row names its manager, whom the key sees too.
        employed = employed.filter(manager__in=call.rows(Person).order_by().values("pk"))
    of_each = employed.filter(manager=OuterRef("pk")).order_by().values("manager")
    counted = Subquery(of_each.annotate(count=Count("pk")).values("count"))
    levels = call.query.get("levels", people_filters.MAX_LEVELS)
    rows = people_filters.filter_reports(employed, manager, levels=levels)
    totals = {
        "direct_reports": employed.filter(manager=manager).count(),
        "all_levels": people_filters.filter_reports(employed, manager).count(),
    }
    return answers.paginate(
        shapes.ReportSerializer,
        rows.annotate(direct_reports=Coalesce(counted, 0, output_field=IntegerField())),
        call.query,
        PageOrder("last_name", name="reports"),
        also={"totals": totals},
    )


def _filter_people(call: CheckedCall, day: date) -> QuerySet[Person]:
    """The people that a query names, in every state of employment."""
    query = call.query
    rows = people_filters.filter_people(call, day)
    if "status" in query:
        statuses = people_filters.find_items(call, ReferenceKind.PROFILE_STATUS, "status")
        rows = rows.filter(status__in=statuses)
    named = {column: query[name] for name, column in DAYS.items() if name in query}
    return rows.filter(**named)


def person(call: CheckedCall) -> OperationAnswer:
    row = _person(call, *EMPLOYED_AS, "status")
    return answers.one(shapes.PersonSerializer, row, context=person_context(call))


def employment(call: CheckedCall) -> OperationAnswer:
    row = _person(call, *EMPLOYED_AS)
    context = person_context(call)
    return answers.one(shapes.EmploymentSerializer, row, context=context)


def employment_history(call: CheckedCall) -> OperationAnswer:
    rows = _person(call).employment_history.select_related(*EMPLOYED_AS)
    return answers.paginate(
        shapes.EmploymentRecordSerializer,
        rows,
        call.query,
        PageOrder("effective_from", is_descending=True),
        context=person_context(call),
    )


def employment_record(call: CheckedCall) -> OperationAnswer:
    owner = _person(call)
    row = call.row(EmploymentRecord, call.path["history_id"], *EMPLOYED_AS, person=owner)
    context = person_context(call)
    return answers.one(shapes.EmploymentRecordSerializer, row, context=context)


def org_links(call: CheckedCall) -> OperationAnswer:
    row = _person(call, "work_place", "organization")
    related = call.rows(PersonRelationship).filter(related_person__in=call.rows(Person))
    shown = Prefetch("relationships", related.select_related("related_person"))
    prefetch_related_objects([row], "unit_memberships__unit", shown)
    today = days.today(row.organization, row.work_place)
    context = {"today": today, "visible_people": call.find_visible_people()}
    return answers.one(shapes.OrgLinksSerializer, row, context=context)


def personal_profile(call: CheckedCall) -> OperationAnswer:
    owner = _person(call)
    profiles = call.rows(PersonProfile)
    row = profiles.filter(person=owner).first() or PersonProfile(
        person=owner, updated_at=owner.updated_at
    )
    return answers.one(shapes.PersonalProfileSerializer, row)


def custom_fields(call: CheckedCall) -> OperationAnswer:
    rows = _person(call).custom_values.select_related("field")
    return answers.many(shapes.CustomValueSerializer, rows.order_by("field__label"))


def _person(call: CheckedCall, *related: str) -> Person:
    return call.row(Person, call.path["person_id"], *related)


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
    "employment_status": "employed",
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
COUNT_EXAMPLE: Final = {
    "day": "2026-11-25",
    "employed": 117,
    "left": 3,
    "not_started": 1,
    "groups": [
        {"id": "org_unit_2b7v0c", "name": "Sales", "employed": 9, "left": 0, "not_started": 1}
    ],
    "more_groups": 0,
}
REPORT_EXAMPLE: Final = {
    "id": "2b7v0c9x4k1m",
    "display_name": "Ada Lovelace",
    "job_title": "Engineer",
    "manager_id": "8fq2c4m7vx1k",
    "direct_reports": 0,
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
    *("working_pattern.id", "working_pattern.label", "fte", "status", "employment_status"),
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
        id="countPeople",
        path="people/count",
        scope="people:read",
        summary="Count people who are employed, have left, or have not started, also by group.",
        run=count,
        response=shapes.PeopleCountSerializer,
        query=PeopleCountQuery,
        example=COUNT_EXAMPLE,
        projection=(
            *("day", "employed", "left", "not_started", "more_groups"),
            *(f"groups.{name}" for name in ("id", "name", "employed", "left", "not_started")),
        ),
    ),
    Operation(
        id="listPersonReports",
        personal=True,
        path="people/{person_id}/reports",
        scope="people:read",
        summary="List the employed people below a manager, direct reports or all levels.",
        run=reports,
        response=shapes.ReportSerializer,
        query=ReportsQuery,
        lists=True,
        pages=True,
        also={"totals": shapes.ReportTotalsSerializer()},
        also_example={"totals": {"direct_reports": 6, "all_levels": 41}},
        also_projection=("totals.direct_reports", "totals.all_levels"),
        example=REPORT_EXAMPLE,
        projection=tuple(REPORT_EXAMPLE),
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
