"""The key itself, the organization, its locations, units and working patterns."""

from typing import Final

from oauth.principal import KeyKind
from people import days, key_limits, leave_years
from people.api import answers, shapes
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.api.queries import PageQuery, UnitsQuery
from people.models import OrgUnit, ReferenceItem, ReferenceKind, TimeOffSettings, WorkingPattern
from rest.paging import PageOrder
from workspace.models import Organization

PATTERNS: Final = PageOrder("label", name="working_patterns")


def find_organization(call: CheckedCall) -> Organization:
    """Returns the organization whose records a call sees."""
    return Organization.with_sandboxes.get(pk=call.organization_id)


def principal(call: CheckedCall) -> OperationAnswer:
    """What the key is; it needs no scope."""
    key, is_test = call.key, call.key.kind == KeyKind.TEST
    organization = find_organization(call)
    today = days.today(organization)
    year = leave_years.find_year(leave_years.find_settings(organization.pk), today)
    data = {
        "organisation": {"id": str(call.organization_id)},
        "api_key": {
            "key_id": str(key.key_id),
            "scopes": list(key.scopes),
            "limited_to": _describe_limit(call),
        },
        "environment": {"type": "sandbox" if is_test else "live", "sandbox": is_test},
        "actor": {"type": "api_key", "key_id": str(key.key_id)},
        "today": today.isoformat(),
        "time_zone": organization.time_zone,
        "leave_year": {
            "starts_on": year.starts_on.isoformat(),
            "ends_on": year.ends_on.isoformat(),
            "resets_on": year.resets_on.isoformat(),
        },
    }
    return OperationAnswer({"data": data})


def _describe_limit(call: CheckedCall) -> dict[str, str | None] | None:
    limit = call.key.record_limit
    if not limit:
        return None
    row = key_limits.find_row(limit, call.organization_id)
    kind, _, key = limit.partition(":")
    return {"type": kind, "id": key, "name": str(row) if row else None}


def organisation(call: CheckedCall) -> OperationAnswer:
    row = find_organization(call)
    settings = call.rows(TimeOffSettings).first()
    data = {
        "id": str(row.pk),
        "name": row.name,
        "subdomain": row.slug,
        "country": settings.country_code if settings and settings.country_code else None,
        "time_zone": row.time_zone,
        "plan": "pro",
        "logo_url": None,
        "primary_color_light": None,
        "primary_color_dark": None,
        "created_at": row.created_at,
        "updated_at": row.created_at,
    }
    return answers.one(shapes.OrganisationSerializer, data)


def locations(call: CheckedCall) -> OperationAnswer:
    rows = call.rows(ReferenceItem).filter(kind=ReferenceKind.WORK_PLACE)
    rows = rows.select_related("holiday_calendar")
    return answers.paginate(shapes.LocationSerializer, rows, call.query, PageOrder("label"))


def units(call: CheckedCall) -> OperationAnswer:
    rows = call.rows(OrgUnit).select_related("parent")
    if unit_type := call.query.get("type"):
        rows = rows.filter(type=unit_type)
    return answers.paginate(shapes.OrgUnitSerializer, rows, call.query, PageOrder("name"))


def unit(call: CheckedCall) -> OperationAnswer:
    row = call.row(OrgUnit, call.path["org_unit_id"], "parent")
    return answers.one(shapes.OrgUnitSerializer, row)


def patterns(call: CheckedCall) -> OperationAnswer:
    rows = call.rows(WorkingPattern)
    return answers.paginate(shapes.WorkingPatternSerializer, rows, call.query, PATTERNS)


def pattern(call: CheckedCall) -> OperationAnswer:
    row = call.row(WorkingPattern, call.path["working_pattern_id"])
    return answers.one(shapes.WorkingPatternSerializer, row)


UNIT_EXAMPLE: Final = {
    "id": "org_unit_2b7v0c",
    "type": "department",
    "name": "Engineering",
    "code": None,
    "description": None,
    "parent": None,
    "active_from": None,
    "active_to": None,
    "is_archived": False,
    "archived_at": None,
    "created_at": "2026-01-05T09:00:00Z",
    "updated_at": "2026-01-05T09:00:00Z",
}
PATTERN_EXAMPLE: Final = {
    "id": "working_pattern_9x",
    "label": "Full time",
    **dict.fromkeys(("monday", "tuesday", "wednesday", "thursday", "friday"), 480),
    **dict.fromkeys(("saturday", "sunday"), 0),
    "weekly_minutes": 2400,
    "updated_at": "2026-01-05T09:00:00Z",
}
UNIT_PROJECTION: Final = (
    *("id", "type", "name", "code", "description", "parent.id", "parent.name"),
    *("active_from", "active_to", "is_archived", "updated_at"),
)
OPERATIONS: Final = (
    Operation(
        id="getApiPrincipal",
        path="me",
        scope="",
        summary="Read what the key of the request is and may do.",
        run=principal,
        response=shapes.PrincipalSerializer,
        example={
            "organisation": {"id": "0199b1f0-0000-7000-8000-000000000000"},
            "api_key": {
                "key_id": "0199b1f0-0000-7000-8000-000000000001",
                "scopes": ["people:read"],
                "limited_to": None,
            },
            "environment": {"type": "live", "sandbox": False},
            "actor": {"type": "api_key", "key_id": "0199b1f0-0000-7000-8000-000000000001"},
            "today": "2026-11-25",
            "time_zone": "Europe/Berlin",
            "leave_year": {
                "starts_on": "2026-01-01",
                "ends_on": "2026-12-31",
                "resets_on": "2027-01-01",
            },
        },
        projection=(
            *("organisation.id", "api_key.key_id", "api_key.scopes"),
            *(f"api_key.limited_to.{name}" for name in ("type", "id", "name")),
            *("environment.type", "environment.sandbox", "actor.type", "actor.key_id"),
            *("today", "time_zone", "leave_year.starts_on", "leave_year.ends_on"),
        ),
    ),
    Operation(
        id="getOrganisation",
        path="organisation",
        scope="organisation:read",
        summary="Read the organization.",
        run=organisation,
        response=shapes.OrganisationSerializer,
        example={
            "id": "0199b1f0-0000-7000-8000-000000000000",
            "name": "Acme",
            "subdomain": "acme",
            "country": "DE",
            "time_zone": "Europe/Berlin",
            "plan": "pro",
            "logo_url": None,
            "primary_color_light": None,
            "primary_color_dark": None,
            "created_at": "2026-01-05T09:00:00Z",
            "updated_at": "2026-01-05T09:00:00Z",
        },
        projection=("id", "name", "subdomain", "country", "time_zone", "plan", "created_at"),
    ),
    Operation(
        id="listOrganisationLocations",
        path="organisation/locations",
        scope="organisation:read",
        summary="List the work places of the organization.",
        run=locations,
        response=shapes.LocationSerializer,
        query=PageQuery,
        lists=True,
        pages=True,
        example={
            "id": "wp_4k",
            "name": "Berlin",
            "is_active": True,
            "time_zone": "Europe/Berlin",
            "holiday_calendar": {"id": "cal_9m", "name": "Berlin"},
        },
        projection=(
            *("id", "name", "is_active", "time_zone"),
            *("holiday_calendar.id", "holiday_calendar.name"),
        ),
    ),
    Operation(
        id="listOrgUnits",
        path="org-units",
        scope="org_units:read",
        summary="List departments, teams and other units.",
        run=units,
        response=shapes.OrgUnitSerializer,
        query=UnitsQuery,
        lists=True,
        pages=True,
        example=UNIT_EXAMPLE,
        projection=UNIT_PROJECTION,
    ),
    Operation(
        id="getOrgUnit",
        path="org-units/{org_unit_id}",
        scope="org_units:read",
        summary="Read one unit.",
        run=unit,
        response=shapes.OrgUnitSerializer,
        example=UNIT_EXAMPLE,
        projection=UNIT_PROJECTION,
    ),
    Operation(
        id="listWorkingPatterns",
        path="working-patterns",
        scope="working_patterns:read",
        summary="List working patterns.",
        run=patterns,
        response=shapes.WorkingPatternSerializer,
        query=PageQuery,
        lists=True,
        pages=True,
        example=PATTERN_EXAMPLE,
        projection=tuple(PATTERN_EXAMPLE),
    ),
    Operation(
        id="getWorkingPattern",
        path="working-patterns/{working_pattern_id}",
        scope="working_patterns:read",
        summary="Read one working pattern.",
        run=pattern,
        response=shapes.WorkingPatternSerializer,
        example=PATTERN_EXAMPLE,
        projection=tuple(PATTERN_EXAMPLE),
    ),
)
