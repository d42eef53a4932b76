"""Which people a limited key sees: those of a unit or of a work place, and nobody else.

`limit_rows` is the only place that knows. A limit that names nothing any more leaves nobody.
"""

from typing import Final, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from people import access, days
from people.models import OrgUnit, OrgUnitMembership, Person, ReferenceItem, ReferenceKind, UnitType
from people.models.columns import Record
from workspace.models import Organization

R = TypeVar("R", bound=Record)
# Before the id in the limit of a key.
UNIT: Final = "unit"
WORK_PLACE: Final = "work_place"
# The types of units that keys are limited to.
UNIT_TYPES: Final = (UnitType.LEGAL_ENTITY, UnitType.DEPARTMENT)


def to_text(row: OrgUnit | ReferenceItem) -> str:
    """Returns the limit of a key that sees the people of a unit or of a work place."""
    return f"{UNIT if isinstance(row, OrgUnit) else WORK_PLACE}:{row.pk}"


def list_choices(organization: Organization) -> list[OrgUnit | ReferenceItem]:
    """Returns the legal entities, departments and work places of an organization."""
    units = access.rows(OrgUnit, organization.pk).filter(type__in=UNIT_TYPES)
    places = access.rows(ReferenceItem, organization.pk).filter(kind=ReferenceKind.WORK_PLACE)
    return [*units, *places]


def find_row(limit: str, organization_id: UUID) -> OrgUnit | ReferenceItem | None:
    """Returns the unit or work place of a limit; None if it is not there any more."""
    kind, _, key = limit.partition(":")
    if kind == UNIT:
        return access.rows(OrgUnit, organization_id).filter(pk=key).first()
    places = access.rows(ReferenceItem, organization_id).filter(kind=ReferenceKind.WORK_PLACE)
    return places.filter(pk=key).first() if kind == WORK_PLACE else None


def limit_rows(rows: QuerySet[R], limit: str, organization_id: UUID) -> QuerySet[R]:
    """Returns those rows that a key with a limit sees: all that are not about a person."""
    if not limit:
        return rows
    if rows.model is Person:
        return rows.filter(_is_within(limit, organization_id))
    if "person" not in {field.name for field in rows.model._meta.fields}:
        return rows
    people = access.rows(Person, organization_id).filter(_is_within(limit, organization_id))
    return rows.filter(person__in=people.order_by().values("pk"))


def _is_within(limit: str, organization_id: UUID) -> Q:
    """The condition that a person belongs to the unit or the work place of a limit today.

    To a unit belong the people whose department is the unit or below it, and its members and those
    of the units below it.
    """
    row = find_row(limit, organization_id)
    if row is None:
        return Q(pk__in=[])
    if isinstance(row, ReferenceItem):
        return Q(work_place=row)
    units = _list_below(row)
    today = days.today(Organization.with_sandboxes.get(pk=organization_id))
    is_current = Q(effective_to=None) | Q(effective_to__gt=today)
    members = access.rows(OrgUnitMembership, organization_id).filter(
        is_current, effective_from__lte=today, unit__in=units
    )
    return Q(department__in=units) | Q(pk__in=members.values("person"))


def _list_below(unit: OrgUnit) -> list[str]:
    """The ids of a unit and of all units below it."""
    pairs = access.rows(OrgUnit, unit.organization_id).values_list("pk", "parent")
    children: dict[str | None, list[str]] = {}
    for key, parent in pairs:
        children.setdefault(parent, []).append(key)
    found, waiting = {unit.pk}, [unit.pk]
    while waiting:
        below = [key for key in children.get(waiting.pop(), ()) if key not in found]
        found.update(below)
        waiting += below
    return sorted(found)
