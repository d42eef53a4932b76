"""Which people a query names: by words, unit, work place and manager, and who is employed."""

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from foundation.text.values import find_nearest_values, find_same_values
from people import access, search_words
from people.api.operation import CheckedCall
from people.models import (
    OrgUnit,
    OrgUnitMembership,
    Person,
    ReferenceItem,
    ReferenceKind,
    UnitType,
)
from rest.errors import field_error

# Sorts after every other character in both databases.
LAST_CHARACTER: Final = "\U0010ffff"
# More levels than an organization has. Only people who manage each other reach it.
MAX_LEVELS: Final = 50
BELOW: Final = """
    WITH RECURSIVE below (id, level) AS (
        SELECT id, 1 FROM people_person WHERE manager_id = %s AND organization_id = %s
        UNION
        SELECT person.id, below.level + 1
        FROM below JOIN people_person AS person ON person.manager_id = below.id
        WHERE below.level < %s AND person.organization_id = %s
    )
    SELECT id FROM below
"""
# Columns that are compared with the words of a search until the words of a row are computed.
UNFILLED: Final = search_words.SOURCES


def find_referenced_row(
    model: Any, call: CheckedCall, key: str, name: str, **conditions: Any
) -> Any:
    """Returns the row that a body or a query names. Raises ReferenceNotFound."""
    try:
        return call.row(model, key, **conditions)
    except access.RecordNotFound:
        raise access.ReferenceNotFound(model, key, name) from None


def filter_people(call: CheckedCall, day: date) -> QuerySet[Person]:
    """Returns the people that the query of a call names, whether they are employed or not.

    Membership of teams is that of a day. Raises ApiError for a name or id that nothing has.
    """
    query = call.query
    people = call.rows(Person)
    if "search" in query:
        people = _filter_words(people, call, query["search"])
    if "department" in query:
        people = people.filter(department__in=_find_units(call, "department", query["department"]))
    if "department_id" in query:
        unit = find_referenced_row(OrgUnit, call, query["department_id"], "department_id")
        people = people.filter(department=unit)
    if "team" in query:
        units = _find_units(call, "team", query["team"])
        members = list_current_memberships(call, day).filter(unit__in=units)
        people = people.filter(pk__in=members.values("person"))
    if "work_place" in query:
        places = find_items(call, ReferenceKind.WORK_PLACE, "work_place")
        people = people.filter(work_place__in=places)
    if "manager_id" in query:
        manager = find_referenced_row(Person, call, query["manager_id"], "manager_id")
        people = filter_reports(people, manager, levels=MAX_LEVELS if has_all_levels(call) else 1)
    return people


def filter_reports(
    people: QuerySet[Person], manager: Person, *, levels: int = MAX_LEVELS
) -> QuerySet[Person]:
    """Returns those of the people who are below a manager, by so many levels at most."""
    if levels == 1:
        return people.filter(manager=manager)
    organization_id = Person._meta.get_field("organization").get_db_prep_value(
        manager.organization_id, connection
    )
    parameters = (manager.pk, organization_id, levels, organization_id)
    return people.filter(pk__in=RawSQL(BELOW, parameters))  # noqa: S611  no text of a caller


def has_all_levels(call: CheckedCall) -> bool:
    return call.query.get("reports") == "all"


def list_current_memberships(call: CheckedCall, day: date) -> QuerySet[OrgUnitMembership]:
    """Returns the memberships of units that hold on a day."""
    is_current = Q(effective_to=None) | Q(effective_to__gt=day)
    rows = call.rows(OrgUnitMembership)
    return rows.filter(is_current, effective_from__lte=day)


def find_items(
    call: CheckedCall, item_kind: ReferenceKind, parameter: str
) -> Sequence[ReferenceItem]:
    """Returns the reference entries whose id or label a parameter has. Raises ApiError."""
    rows = call.rows(ReferenceItem).filter(kind=item_kind)
    return _find_named(list(rows), "label", parameter, call.query[parameter])


def _find_units(call: CheckedCall, parameter: str, name: str) -> Sequence[OrgUnit]:
    rows = call.rows(OrgUnit).order_by("name")
    if parameter == "team":
        rows = rows.filter(type=UnitType.TEAM)
    else:
        members = call.rows(Person).filter(department=OuterRef("pk"))
        rows = rows.filter(Q(type=UnitType.DEPARTMENT) | Exists(members))
    return _find_named(list(rows), "name", parameter, name)


def _find_named(rows: Sequence[Any], column: str, parameter: str, name: str) -> Sequence[Any]:
    """The rows with this id, else those with this name in any case and spelling."""
    if by_id := [row for row in rows if row.pk == name]:
        return by_id
    known = list(dict.fromkeys(getattr(row, column) for row in rows))
    same = find_same_values(name, known)
    if same:
        return [row for row in rows if getattr(row, column) in same]
    shown = ", ".join(find_nearest_values(name, known))
    issue = f"Nothing has this name or id. Names: {shown}." if known else "There are none."
    raise field_error(400, parameter, issue)


def _filter_words(people: QuerySet[Person], call: CheckedCall, search: str) -> QuerySet[Person]:
    """Returns the people of whom every word of a search begins a word, or one of their department.

    Raises ApiError for more words than are looked for.
    """
    searched = search_words.parse_search(search)
    if len(searched) > search_words.MAX_SEARCHED:
        issue = f"Send at most {search_words.MAX_SEARCHED} different words."
        raise field_error(400, "search", issue)
    own = call.rows(Person).order_by()
    units = call.rows(OrgUnit).values_list("pk", "name")
    names = {key: list(search_words.list_spellings(name)) for key, name in units}
    unfilled = own.filter(search_text=None)
    has_unfilled = unfilled.exists()
    for spellings in searched:
        words = access.words_of_people(call.organization_id)
        matching = words.filter(_begins_with_any(spellings)).values("person_id")
        named = [
            key
            for key, words in names.items()
            if any(word.startswith(tuple(spellings)) for word in words)
        ]
        others = [own.filter(department_id__in=named).values("pk")] if named else []
        if has_unfilled:
            others.append(unfilled.filter(_contains_any(spellings)).values("pk"))
        people = people.filter(pk__in=matching.union(*others) if others else matching)
    return people if searched else people.none()


def _begins_with_any(spellings: Sequence[str]) -> Q:
    found = Q()
    for text in spellings:
        found |= Q(word__gte=text, word__lt=text + LAST_CHARACTER)
    return found


def _contains_any(spellings: Sequence[str]) -> Q:
    pairs = [(column, text) for column in UNFILLED for text in spellings]
    return Q(*(Q(**{f"{column}__icontains": text}) for column, text in pairs), _connector=Q.OR)
