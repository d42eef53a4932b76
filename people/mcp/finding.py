"""The tools of the HR endpoint that find people and absences, and count them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from people import days
from people.api import callers
from people.api.queries import EVERYBODY
from people.employment import EmploymentState
from people.mcp import contract, running
from people.mcp.contract import EXPOSED
from people.mcp.declaring import TEXT, Identifier, an_object, hr_tool
from people.mcp.running import OperationCall, run_operation
from tools_registry.api import Facts, Schema, ToolContext
from tools_registry.api.apps import TIME_OFF_CALENDAR
from workspace.models import Organization

NOT_LISTED: Final = (
    "Sickness, and other absences that are taken from no allowance, are not included unless the "
    "organization names their category: somebody who is not listed may be absent."
)
# What search_people says of a count.
COUNTS: Final = ("day", *EmploymentState.values)


@dataclass(frozen=True)
class OwnerFilter:
    """Whose records are meant."""

    department: str | None = None
    team: str | None = None
    work_place: str | None = None
    manager_id: str | None = None
    reports: str | None = None


@dataclass(frozen=True)
class PeopleFilter(OwnerFilter):
    """Which people are meant."""

    search: str | None = None
    status: str | None = None
    employed_on: str | None = None
    joined_from: str | None = None
    joined_to: str | None = None
    left_from: str | None = None
    left_to: str | None = None


@dataclass(frozen=True)
class PagePlace:
    """Which page of a list is meant."""

    limit: int | None = None
    cursor: str | None = None


ANY_OWNER: Final = OwnerFilter()
ANY_PERSON: Final = PeopleFilter()
FIRST_PAGE: Final = PagePlace()


def _search_schema() -> Schema:
    found = contract.answer_schema(EXPOSED["listPeople"])
    counted = contract.resource_schema(EXPOSED["countPeople"])["properties"]
    counts = an_object({name: counted[name] for name in COUNTS})
    return _add_properties(
        found,
        counts={"oneOf": [counts, {"type": "null"}]},
        hint={"type": ["string", "null"]},
    )


def _add_properties(schema: Schema, **properties: Any) -> Schema:
    every = {**schema["properties"], **properties}
    return {**schema, "properties": every, "required": list(every)}


@hr_tool(
    title="Search people",
    description=(
        "Find people by words of their name, work email, job title or department, or list those of "
        "a department, team, work place or manager. Only people who are employed today are listed, "
        "unless employment or employed_on says otherwise; counts has how many match in each "
        "state. joined_from and joined_to find who joined. Send next_cursor as cursor for the next "
        "page. For numbers alone use count_people. Home addresses, pay and other private data are "
        "never included."
    ),
    operation="listPeople",
    output=_search_schema,
)
def search_people(
    context: ToolContext,
    *,
    employment: str | None = None,
    people: PeopleFilter = ANY_PERSON,
    page: PagePlace = FIRST_PAGE,
) -> Facts:
    has_left = people.left_from is not None or people.left_to is not None
    state = employment or (EVERYBODY if has_left else EmploymentState.EMPLOYED.value)
    query = {**asdict(people), "employment": state, **asdict(page)}
    asked = [OperationCall(EXPOSED["listPeople"], query=query)]
    if page.cursor is None:
        asked.append(OperationCall(EXPOSED["countPeople"], query=asdict(people)))
    (found, *counted), rows = running.run_operations(context, asked)
    counts = {name: counted[0]["data"][name] for name in COUNTS} if counted else None
    hint = _search_hint(state, counts) if counts else None
    return Facts({**found, "counts": counts, "hint": hint}, row_count=rows)


def _search_hint(state: str, counts: Mapping[str, Any]) -> str | None:
    """What a list of people leaves out; None if it has everybody who matches."""
    numbers = {one: counts[one.value] for one in EmploymentState}
    if not any(numbers.values()):
        return "No person matches all of this. Send fewer words, or only the beginning of a name."
    others = [
        f"{number} {one.label.lower()}"
        for one, number in numbers.items()
        if number and one != state
    ]
    if state == EVERYBODY or not others:
        return None
    said = ", ".join(others)
    return (
        f"Not in this list, by {counts['day']}: {said}. Send employment {EVERYBODY} for everybody."
    )


@hr_tool(
    title="Count people",
    description=(
        "Count people without listing them: how many are employed, have left, or have not started, "
        "for the same conditions as search_people, and with group_by for each department, work "
        "place, type of work or status. A headcount is employed."
    ),
    operation="countPeople",
)
def count_people(
    context: ToolContext, *, group_by: str | None = None, people: PeopleFilter = ANY_PERSON
) -> Facts:
    query = {**asdict(people), "group_by": group_by}
    return run_operation(context, OperationCall(EXPOSED["countPeople"], query=query))


@hr_tool(
    title="List reports",
    description=(
        "List the employed people below a manager as rows with manager_id, which make the chart: "
        "all levels, or with levels 1 the direct reports. totals has their numbers."
    ),
    operation="listPersonReports",
)
def list_reports(
    context: ToolContext,
    *,
    person_id: Identifier,
    levels: int | None = None,
    page: PagePlace = FIRST_PAGE,
) -> Facts:
    path, query = {"person_id": person_id}, {"levels": levels, **asdict(page)}
    return run_operation(context, OperationCall(EXPOSED["listPersonReports"], path, query))


@hr_tool(
    title="List time off",
    description=(
        "List absences and requests, the latest first: of one person, of a status, of the people "
        "below a manager, or between two days; with sort start_date the next one first. What waits "
        "for the decision of somebody: waits_for_id, which also counts deputies and the second of "
        "two approvals. For who is out use who_is_out. Why somebody is absent is never included. "
        f"{NOT_LISTED}"
    ),
    operation="listTimeOff",
    app=TIME_OFF_CALENDAR,
)
def list_time_off(
    context: ToolContext,
    *,
    person_id: str | None = None,
    waits_for_id: str | None = None,
    status: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    people: OwnerFilter = ANY_OWNER,
    page: PagePlace = FIRST_PAGE,
    updated_since: str | None = None,
    sort: str | None = None,
) -> Facts:
    query = {
        "person_id": person_id,
        "waits_for_id": waits_for_id,
        "status": status,
        "from": from_,
        "to": to,
        "updated_since": updated_since,
        "sort": sort,
        **asdict(people),
        **asdict(page),
    }
    return run_operation(context, OperationCall(EXPOSED["listTimeOff"], query=query))


def _who_is_out_schema() -> Schema:
    found = contract.answer_schema(EXPOSED["listWhoIsOut"])
    return _add_properties(found, **{"from": TEXT, "to": TEXT})


@hr_tool(
    title="Who is out",
    description=(
        "List who is out between two days, with names, departments, teams and work places; totals "
        "has the numbers of people and absences. Today if no day is sent; one day with from alone. "
        "Only approved absences of people who are employed. The reason is never included. "
        f"{NOT_LISTED}"
    ),
    operation="listWhoIsOut",
    output=_who_is_out_schema,
)
def who_is_out(
    context: ToolContext,
    *,
    from_: str | None = None,
    to: str | None = None,
    person_id: str | None = None,
    people: OwnerFilter = ANY_OWNER,
    page: PagePlace = FIRST_PAGE,
) -> Facts:
    first = from_ or _today(context)
    period = {"from": first, "to": to or first}
    query = {**period, "person_id": person_id, **asdict(people), **asdict(page)}
    found = run_operation(context, OperationCall(EXPOSED["listWhoIsOut"], query=query))
    value: Any = found.value
    return Facts({**value, **period}, row_count=found.row_count)


def _today(context: ToolContext) -> str:
    """The present day of the organization whose records a call sees."""
    key = running.key_of(context)
    organization = Organization.with_sandboxes.get(pk=callers.records_of(key))
    return days.today(organization).isoformat()


@hr_tool(
    title="List balances",
    description=(
        "List what people have taken of an allowance up to a day, today if none is sent, what is "
        "booked after it, what is pending, and what remains once all of these are subtracted. Of "
        "one person, or of those who are employed in a department, team or work place or below a "
        "manager. taken_below lists only those who have taken fewer days. basis has the leave year."
    ),
    operation="listTimeOffBalances",
)
def list_time_off_balances(
    context: ToolContext,
    *,
    person_id: str | None = None,
    on: str | None = None,
    taken_below: float | None = None,
    category_id: str | None = None,
    people: OwnerFilter = ANY_OWNER,
    page: PagePlace = FIRST_PAGE,
) -> Facts:
    query = {
        "person_id": person_id,
        "on": on,
        "taken_below": taken_below,
        "category_id": category_id,
        **asdict(people),
        **asdict(page),
    }
    return run_operation(context, OperationCall(EXPOSED["listTimeOffBalances"], query=query))
