"""Time off: requests and their decisions, who is out, balances, ledger, settings, holidays."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

from django.db.models import Count, DateField, F, Prefetch, Q, QuerySet, Value
from django.db.models.functions import Greatest
from rest_framework import serializers

from people import (
    access,
    allowances,
    approvers,
    balances,
    calendars,
    days,
    disclosure,
    leave_years,
    request_checks,
    time_off,
)
from people.api import answers, people_filters, time_off_shapes
from people.api.errors import HrApiError
from people.api.fields import Day, RecordKey, YesNo
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.api.operations.organisation import find_organization
from people.api.queries import (
    OWNER_FILTERS,
    BalancesQuery,
    DayQuery,
    HolidaysQuery,
    PageQuery,
    TimeOffQuery,
    WhoIsOutQuery,
)
from people.api.time_off_shapes import STATUSES
from people.balances import Balance
from people.employment import EmploymentState, has_state
from people.models import (
    AbsenceStatus,
    HolidayCalendar,
    Person,
    PublicHoliday,
    ReferenceItem,
    ReferenceKind,
    TimeOff,
    TimeOffCategory,
    UnitType,
)
from people.models.decisions import MAX_COMMENT
from people.time_off import TimeOffApproval, TimeOffDecider
from rest import etags, paging
from rest.errors import field_error
from rest.paging import PageOrder
from rest.serializers import StrictSerializer

BY_START: Final = PageOrder("start_date", is_descending=True)
# Whose an absence is, in words.
OWNER: Final = ("person__department", "person__work_place")
FIRST_OUT: Final = PageOrder("start_date", name="out")
BY_NAME: Final = PageOrder("last_name", name="balances")
NEXT_FIRST: Final = PageOrder("start_date", name="next_first")


class NewTimeOff(StrictSerializer):
    person_id = RecordKey()
    category_id = RecordKey()
    start_date = Day()
    end_date = Day()
    is_from_half_day = YesNo(default=False)
    is_to_half_day = YesNo(default=False)


class TimeOffChange(StrictSerializer):
    category_id = RecordKey(required=False)
    start_date = Day(required=False)
    end_date = Day(required=False)
    is_from_half_day = YesNo(required=False)
    is_to_half_day = YesNo(required=False)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if not given:
            raise serializers.ValidationError("Send at least one field.")
        return given


class Deciding(StrictSerializer):
    decided_by_id = RecordKey(
        required=False,
        help_text="The person who decides. The key itself decides if it is left out.",
    )
    comment = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_COMMENT,
        help_text="Kept with the decision, and answered by getTimeOffApproval.",
    )


class Declining(Deciding):
    response_note = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=time_off.MAX_NOTE,
        help_text="Private; no answer has it.",
    )


def _list_absences(call: CheckedCall) -> QuerySet[TimeOff]:
    """The absences of the organization; for AI clients those of which a balance tells too."""
    rows = call.rows(TimeOff)
    return disclosure.limit_rows(rows) if call.is_for_ai else rows


def _is_answered(call: CheckedCall, category: TimeOffCategory) -> bool:
    """Whether absences and balances of a category are answered to the caller."""
    return not call.is_for_ai or disclosure.is_disclosed(category)


def list_requests(call: CheckedCall) -> OperationAnswer:
    query = call.query
    rows = _filter_owners(_list_absences(call), call)
    conditions: dict[str, Callable[[Any], Q]] = {
        "status": lambda value: Q(status__in=STATUSES[value]),
        "type": lambda value: Q(category__name=value),
        "from": _is_not_over,
        "to": lambda value: Q(start_date__lte=value),
        "updated_since": lambda value: Q(updated_at__gte=value),
    }
    for name, condition in conditions.items():
        if name in query:
            rows = rows.filter(condition(query[name]))
    if key := query.get("waits_for_id"):
        decider = people_filters.find_referenced_row(Person, call, key, "waits_for_id")
        rows = rows.filter(pk__in=approvers.list_waiting_for(decider))
    rows = rows.select_related("category", *OWNER)
    context = {"has_names": _has_names(call)}
    shape = time_off_shapes.ListedTimeOffSerializer
    order = NEXT_FIRST if query.get("sort") == NEXT_FIRST.column else BY_START
    return answers.paginate(shape, rows, query, order, context=context)


def _is_not_over(day: date) -> Q:
    """The condition that an absence ends on this day or later.

    The second bound keeps the index from what is long over: an absence has MAX_DAYS at most.
    """
    first = day - timedelta(days=request_checks.MAX_DAYS)
    return Q(end_date__gte=day, start_date__gte=first)


def _has_names(call: CheckedCall) -> bool:
    return "people:read" in call.key.scopes


def _filter_owners(rows: QuerySet[TimeOff], call: CheckedCall) -> QuerySet[TimeOff]:
    """Returns the rows of the people that a query names, if it names any. Raises ApiError."""
    if "person_id" in call.query:
        rows = rows.filter(person=_find_person(call))
    if _names_people(call):
        people = people_filters.filter_people(call, days.today(find_organization(call)))
        rows = rows.filter(person__in=people.values("pk"))
    return rows


def _find_person(call: CheckedCall) -> Person:
    found: Person = people_filters.find_referenced_row(
        Person, call, call.query["person_id"], "person_id"
    )
    return found


def _names_people(call: CheckedCall) -> bool:
    """Whether a query has conditions for people, who are in the answer then by what they are.

    Raises HrApiError if the key may not read people.
    """
    named = [name for name in OWNER_FILTERS if name in call.query]
    if named and not _has_names(call):
        names = ", ".join(named)
        raise HrApiError("permission_denied", f"The key needs the scope people:read for {names}.")
    return bool(named)


def one(call: CheckedCall) -> OperationAnswer:
    row = call.row(TimeOff, call.path["time_off_id"], "category")
    if not _is_answered(call, row.category):
        raise access.RecordNotFound(TimeOff, row.pk)
    return answers.one(time_off_shapes.TimeOffSerializer, row)


def who_is_out(call: CheckedCall) -> OperationAnswer:
    first, last = call.query["from"], call.query["to"]
    # People who have left by then are not out.
    is_employed = Q(person__end_date=None) | Q(
        person__end_date__gte=Greatest(F("start_date"), Value(first, DateField()))
    )
    rows = _filter_owners(_list_absences(call), call).filter(
        _is_not_over(first), is_employed, status=AbsenceStatus.APPROVED, start_date__lte=last
    )
    totals = rows.aggregate(people=Count("person", distinct=True), absences=Count("pk"))
    rows = rows.select_related("category", *OWNER)
    if has_names := _has_names(call):
        current = people_filters.list_current_memberships(call, days.today(find_organization(call)))
        teams = current.filter(unit__type=UnitType.TEAM).select_related("unit")
        rows = rows.prefetch_related(
            Prefetch("person__unit_memberships", teams.order_by("unit__name"), "current_teams")
        )
    return answers.paginate(
        time_off_shapes.OutSerializer,
        rows,
        call.query,
        FIRST_OUT,
        context={"has_names": has_names},
        also={"totals": totals},
    )


def balances_of_people(call: CheckedCall) -> OperationAnswer:
    """What many people have taken of one category, in the leave year of a day."""
    query = call.query
    day = query.get("on") or days.today(find_organization(call))
    category = _find_allowance(call)
    year = leave_years.find_year(leave_years.find_settings(call.organization_id), day)
    people = call.rows(Person)
    if _names_people(call):
        people = people_filters.filter_people(call, day)
    if "person_id" in query:
        people = people.filter(pk=_find_person(call).pk)
    else:
        people = people.filter(has_state(EmploymentState.EMPLOYED, day))
    most = query.get("taken_below")
    if most is not None:
        people = balances.filter_taken_below(people, category, year, day, most)
    people = people.select_related("working_pattern", "work_place", "organization")
    page = paging.build_page(people, query, BY_NAME)
    policies = allowances.list_policies(call.organization_id, [category])[category.pk]
    found = balances.list_leave_use(page.rows, category, policies, year, day)
    if most is not None:
        # The condition of the database leaves out parts of requests that go on after the day.
        found = [one for one in found if one.taken < most]
    shape = time_off_shapes.LeaveUseSerializer
    context = {"has_names": _has_names(call)}
    basis = {
        "day": day,
        "leave_year": year,
        "category_id": category.pk,
        "base_allowance": allowances.find_days_a_year(category, policies, day),
    }
    return OperationAnswer(
        {
            "data": shape(found, many=True, context=context).data,
            "pagination": page.pagination,
            "basis": time_off_shapes.LeaveUseBasisSerializer(basis).data,
        }
    )


def _find_allowance(call: CheckedCall) -> TimeOffCategory:
    """The category of a query, else the first one that is taken from an allowance."""
    if key := call.query.get("category_id"):
        found: TimeOffCategory = people_filters.find_referenced_row(
            TimeOffCategory, call, key, "category_id", consumes_balance=True
        )
        if not _is_answered(call, found):
            raise access.ReferenceNotFound(TimeOffCategory, key, "category_id")
        return found
    rows = call.rows(TimeOffCategory)
    counted = rows.filter(consumes_balance=True, is_active=True)
    first = next((one for one in counted if _is_answered(call, one)), None)
    if first is None:
        raise field_error(400, "category_id", "No category is taken from an allowance.")
    return first


def settings(call: CheckedCall) -> OperationAnswer:
    return answers.one(
        time_off_shapes.SettingsSerializer, leave_years.find_settings(call.organization_id)
    )


def holidays(call: CheckedCall) -> OperationAnswer:
    year = call.query.get("year") or days.today(find_organization(call)).year
    rows = _list_holidays(call).filter(date__year=year).select_related("calendar")
    default = calendars.find_default(call.organization_id)
    shown = calendars.merge_holidays(rows, default.pk if default else None)
    return answers.many(time_off_shapes.HolidaySerializer, shown)


def _list_holidays(call: CheckedCall) -> QuerySet[PublicHoliday]:
    """The holidays of the calendars that a query names; else all of the organization."""
    rows, query = call.rows(PublicHoliday), call.query
    if key := query.get("calendar_id"):
        found = people_filters.find_referenced_row(HolidayCalendar, call, key, "calendar_id")
        rows &= calendars.list_holidays(found)
    if key := query.get("work_place_id"):
        work_place = {"kind": ReferenceKind.WORK_PLACE}
        place = people_filters.find_referenced_row(
            ReferenceItem, call, key, "work_place_id", **work_place
        )
        found = place.holiday_calendar or calendars.find_default(call.organization_id)
        rows &= calendars.list_holidays(found) if found else rows.filter(calendar=None)
    return rows


def balance(call: CheckedCall) -> OperationAnswer:
    found = _find_balance(call)
    return OperationAnswer({"data": time_off_shapes.BalanceSerializer(found).data})


def explain_balance(call: CheckedCall) -> OperationAnswer:
    found = _find_balance(call)
    return OperationAnswer({"data": time_off_shapes.ExplainedBalanceSerializer(found).data})


def _find_balance(call: CheckedCall) -> Balance:
    related = ("working_pattern", "work_place", "organization")
    row = call.row(Person, call.path["person_id"], *related)
    # Leave years turn with the day of the organization, wherever the person works.
    on = call.query.get("on") or days.today(row.organization)
    found = balances.balance(row, on)
    return disclosure.limit_balance(found) if call.is_for_ai else found


def ledger(call: CheckedCall) -> OperationAnswer:
    owner = call.row(Person, call.path["person_id"])
    order = PageOrder("effective_date", is_descending=True)
    shape = time_off_shapes.LedgerSerializer
    entries = owner.ledger.filter(is_replaced=False)
    rows = disclosure.limit_rows(entries) if call.is_for_ai else entries
    return answers.paginate(shape, rows, call.query, order)


def create(call: CheckedCall) -> OperationAnswer:
    row = _request(call)
    also = {"warnings": time_off.list_warnings(row)}
    return answers.one(time_off_shapes.TimeOffSerializer, row, also=also)


def dry_run(call: CheckedCall) -> OperationAnswer:
    row = _request(call)
    may_read_balances = "time_off:read" in call.key.scopes
    context = {"left": balances.list_left(row) if may_read_balances else None}
    shape = time_off_shapes.TimeOffDryRunSerializer
    also = {"warnings": time_off.list_warnings(row)}
    return OperationAnswer({"data": shape(row, context=context).data, **also})


def _request(call: CheckedCall) -> TimeOff:
    given = dict(call.body)
    owner = people_filters.find_referenced_row(Person, call, given.pop("person_id"), "person_id")
    category = people_filters.find_referenced_row(
        TimeOffCategory, call, given.pop("category_id"), "category_id"
    )
    return time_off.request(owner, category, **given)


def update(call: CheckedCall) -> OperationAnswer:
    given = dict(call.body)
    if "category_id" in given:
        found = people_filters.find_referenced_row(
            TimeOffCategory, call, given.pop("category_id"), "category_id"
        )
        given["category"] = found
    row = time_off.change(
        call.organization_id,
        call.path["time_off_id"],
        precondition=_is_unchanged(call),
        **given,
    )
    also = {"warnings": time_off.list_warnings(row)}
    return answers.one(time_off_shapes.TimeOffSerializer, row, also=also)


def cancel(call: CheckedCall) -> OperationAnswer:
    row = time_off.cancel(
        call.organization_id,
        call.path["time_off_id"],
        _read_decider(call),
        precondition=_is_unchanged(call),
    )
    return answers.one(time_off_shapes.TimeOffSerializer, row, also={"cancelled": True})


def approve(call: CheckedCall) -> OperationAnswer:
    approved = time_off.approve(
        call.organization_id,
        call.path["time_off_id"],
        _read_decider(call),
        precondition=_is_unchanged(call),
    )
    also = {"decision": "approved", "warnings": approved.warnings}
    return answers.one(time_off_shapes.TimeOffSerializer, approved.row, also=also)


def decline(call: CheckedCall) -> OperationAnswer:
    row = time_off.decline(
        call.organization_id,
        call.path["time_off_id"],
        call.body.get("response_note", ""),
        _read_decider(call),
        precondition=_is_unchanged(call),
    )
    return answers.one(time_off_shapes.TimeOffSerializer, row, also={"decision": "declined"})


def _read_decider(call: CheckedCall) -> TimeOffDecider:
    """Who decides: the key, for the person whom the body names."""
    key, person = call.body.get("decided_by_id"), None
    if key is not None:
        person = people_filters.find_referenced_row(Person, call, key, "decided_by_id")
    return TimeOffDecider(
        program=call.key.name,
        key_id=call.key.key_id,
        person=person,
        comment=call.body.get("comment", ""),
    )


def read_approval(call: CheckedCall) -> OperationAnswer:
    related = ("category", "organization", "person__manager", "person__organization")
    row = call.row(TimeOff, call.path["time_off_id"], *related)
    if not _is_answered(call, row.category):
        raise access.RecordNotFound(TimeOff, row.pk)
    context = {"has_names": _has_names(call)}
    shape = time_off_shapes.ApprovalSerializer
    found = _limit_approval(call, time_off.find_approval(row))
    return answers.one(shape, found, context=context)


def _limit_approval(call: CheckedCall, found: TimeOffApproval) -> TimeOffApproval:
    """Returns who decides without the people and accounts that a limited key does not see."""
    visible = call.find_visible_people()
    if visible is None:
        return found
    for one in found.decisions:
        one.user = None
        if one.person_id not in visible:
            one.person = None
    shown = [
        one
        if one.deputy_of is None or one.deputy_of.pk in visible
        else replace(one, deputy_of=None)
        for one in found.approvers
        if one.person.pk in visible
    ]
    return replace(found, approvers=shown)


def _is_unchanged(call: CheckedCall) -> Callable[[TimeOff], None]:
    """The precondition that the key sees the request, and the caller has seen this version."""

    def check(row: TimeOff) -> None:
        call.row(TimeOff, row.pk)
        etags.require_match(call.if_match, answers.one(time_off_shapes.TimeOffSerializer, row).etag)

    return check


EXAMPLE: Final = {
    "id": "time_off_8s",
    "person_id": "2b7v0c9x4k1m",
    "category_id": "toc_3h",
    "type": "Annual leave",
    "start_date": "2026-12-07",
    "end_date": "2026-12-11",
    "length": 5.0,
    "duration_unit": "days",
    "duration_minutes": 2400,
    "balance_unit": "days",
    "balance_amount": 5.0,
    "public_holiday_treatment": "exclude",
    "is_from_half_day": False,
    "is_to_half_day": False,
    "status_code": "pending",
    "status": "Pending",
    "created_at": "2026-11-25T09:00:00Z",
    "updated_at": "2026-11-25T09:00:00Z",
}
OWNER_EXAMPLE: Final = {
    "person_name": "Ada Lovelace",
    "department": "Engineering",
    "work_place": "Berlin",
}
TAKEN_EXAMPLE: Final = {
    "person_id": "2b7v0c9x4k1m",
    "person_name": "Ada Lovelace",
    "allowance": 28.0,
    "adjustment": 2.0,
    "taken": 9.0,
    "booked": 3.0,
    "pending": 5.0,
    "remaining": 13.0,
}
BASIS_EXAMPLE: Final = {
    "day": "2026-11-25",
    "leave_year": {
        "starts_on": "2026-01-01",
        "ends_on": "2026-12-31",
        "resets_on": "2027-01-01",
    },
    "category_id": "toc_3h",
    "base_allowance": 28.0,
}
BALANCE_EXAMPLE: Final = {
    "person_id": "2b7v0c9x4k1m",
    "leave_year": {
        "starts_on": "2026-01-01",
        "ends_on": "2026-12-31",
        "resets_on": "2027-01-01",
    },
    "totals": {
        "unit": "days",
        "base_allowance": 28.0,
        "allowance": 28.0,
        "ledger_adjustment": 2.0,
        "approved": 12.0,
        "pending": 5.0,
        "remaining": 13.0,
    },
    "categories": [],
    "sick_days_taken": 3.0,
    "other_leave_taken": 0.0,
    "calculated_at": "2026-11-25T09:00:00Z",
}
LEDGER_EXAMPLE: Final = {
    "id": "tol_2w",
    "person_id": "2b7v0c9x4k1m",
    "category_id": "toc_3h",
    "entry_type": "carry_over",
    "unit": "days",
    "amount": 2.0,
    "effective_date": "2026-01-01",
    "created_at": "2026-01-01T03:45:00Z",
    "updated_at": "2026-01-01T03:45:00Z",
}
LINE_EXAMPLE: Final = {
    "kind": "granted",
    "first_day": "2026-01-01",
    "last_day": "2026-12-31",
    "days": 28.0,
    "text": "28 days a year: 28",
    "policy": "Full time",
    "time_off_id": None,
    "entry_id": None,
}
EXPLAINED_EXAMPLE: Final = {
    "person_id": "2b7v0c9x4k1m",
    "leave_year": {
        "starts_on": "2026-01-01",
        "ends_on": "2026-12-31",
        "resets_on": "2027-01-01",
    },
    "categories": [
        {
            "category_id": "toc_3h",
            "name": "Annual leave",
            "name_for_ai": "Absence",
            "lines": [LINE_EXAMPLE],
            "remaining": 28.0,
        }
    ],
}
# Over MCP an absence has no category: not its name, not its id, and nothing that tells one from
# another, such as what is taken from an allowance or how public holidays are counted.
PROJECTION: Final = (
    *("id", "person_id", "type=Absence", "start_date", "end_date", "length", "duration_unit"),
    *("duration_minutes", "is_from_half_day", "is_to_half_day", "status_code", "status"),
    *("created_at", "updated_at"),
)
# Over MCP a balance has no ids of categories, no names that the organization does not allow, no
# sickness, and no sums: days of one allowance cannot be taken from another.
FIGURES: Final = (
    *("kind", "unit", "base_allowance", "allowance", "ledger.net", "approved", "pending"),
    *("remaining", "remaining_before_pending"),
)
BALANCE_PROJECTION: Final = (
    *("person_id", "leave_year.starts_on", "leave_year.ends_on", "leave_year.resets_on"),
    *(f"categories.{name}" for name in ("name<-name_for_ai", *FIGURES)),
    "calculated_at",
)


# Over MCP a policy has no name: the name may say why a person has more days than others.
EXPLAINED_PROJECTION: Final = (
    *("person_id", "leave_year.starts_on", "leave_year.ends_on", "leave_year.resets_on"),
    *("categories.name<-name_for_ai", "categories.remaining"),
    *(f"categories.lines.{name}" for name in ("kind", "first_day", "last_day", "days", "text")),
    "categories.lines.time_off_id",
)


WARNINGS: Final = {
    "warnings": serializers.ListField(
        child=serializers.CharField(),
        help_text="What the one who sent the change should know, such as too many days.",
    )
}


APPROVAL_EXAMPLE: Final = {
    "time_off_id": "time_off_8s",
    "status_code": "pending",
    "steps": 2,
    "approved_steps": 1,
    "approvers": [
        {
            "person_id": "7c1m0k9x4v2b",
            "person_name": "Grace Hopper",
            "role": "manager",
            "deputy_of_id": None,
        }
    ],
    "decisions": [
        {
            "decision": "approved",
            "step": 1,
            "decided_at": "2026-11-26T09:00:00Z",
            "role": "manager",
            "person_id": "4k1m2b7v0c9x",
            "person_name": "Alan Turing",
            "account": None,
            "program": "Intranet",
            "comment": "Enjoy it",
        }
    ],
    "problem": None,
    "cancellable_until": None,
}
# Over MCP a decision has no comment: it may say why somebody is absent.
APPROVAL_PROJECTION: Final = (
    *("time_off_id", "status_code", "steps", "approved_steps", "problem", "cancellable_until"),
    *(f"approvers.{name}" for name in ("person_id", "person_name", "role", "deputy_of_id")),
    *(
        f"decisions.{name}"
        for name in ("decision", "step", "decided_at", "role", "person_id", "person_name")
    ),
)


def _decision(name: str, path: str, summary: str, run: Any, **more: Any) -> Operation:
    """An operation that decides about a request, or cancels it."""
    return Operation(
        id=name,
        personal=True,
        method="POST",
        path=f"time-off/{{time_off_id}}/{path}",
        scope="time_off:write",
        summary=summary,
        run=run,
        response=time_off_shapes.TimeOffSerializer,
        on_version=True,
        read_by="getTimeOff",
        example=EXAMPLE,
        **{"request": Deciding} | more,
    )


# Requests are decided by people on pages: approving and declining have no projection.
OPERATIONS: Final = (
    Operation(
        id="listTimeOff",
        personal=True,
        path="time-off",
        scope="time_off:read",
        summary="List time off, the latest first.",
        run=list_requests,
        response=time_off_shapes.ListedTimeOffSerializer,
        query=TimeOffQuery,
        lists=True,
        pages=True,
        example={**EXAMPLE, **OWNER_EXAMPLE},
        projection=(*PROJECTION, *OWNER_EXAMPLE),
        hidden=("type",),
    ),
    Operation(
        id="createTimeOff",
        personal=True,
        method="POST",
        path="time-off",
        scope="time_off:write",
        summary="Request time off: pending if the person has a manager, else approved.",
        run=create,
        response=time_off_shapes.TimeOffSerializer,
        request=NewTimeOff,
        status=201,
        also=WARNINGS,
        also_example={"warnings": []},
        also_projection=("warnings",),
        example=EXAMPLE,
        projection=PROJECTION,
    ),
    # Over MCP, a change is prepared instead: without a projection it is not available there.
    Operation(
        id="dryRunTimeOff",
        personal=True,
        method="POST",
        path="time-off/dry-run",
        scope="time_off:write",
        summary="Check a request as createTimeOff does, and store nothing.",
        run=dry_run,
        response=time_off_shapes.TimeOffDryRunSerializer,
        request=NewTimeOff,
        dry=True,
        also=WARNINGS,
        also_example={"warnings": []},
        example={
            "length": 5.0,
            "duration_minutes": 2400,
            "status_code": "pending",
            "left": [
                {
                    "leave_year": BALANCE_EXAMPLE["leave_year"],
                    "remaining": 14.0,
                    "remaining_without": 19.0,
                }
            ],
        },
    ),
    Operation(
        id="listWhoIsOut",
        personal=True,
        path="time-off/who-is-out",
        scope="time_off:read",
        summary="List approved time off between two days, with names, places and teams.",
        run=who_is_out,
        response=time_off_shapes.OutSerializer,
        query=WhoIsOutQuery,
        lists=True,
        pages=True,
        also={"totals": time_off_shapes.OutTotalsSerializer()},
        also_example={"totals": {"people": 7, "absences": 8}},
        also_projection=("totals.people", "totals.absences"),
        example={**EXAMPLE, **OWNER_EXAMPLE, "teams": ["Platform"]},
        projection=(
            *("id", "person_id", *OWNER_EXAMPLE, "teams"),
            *("start_date", "end_date", "is_from_half_day", "is_to_half_day"),
        ),
    ),
    Operation(
        id="listTimeOffBalances",
        personal=True,
        path="time-off/balances",
        scope="time_off:read",
        summary="List what people have taken and have left of an allowance, up to a day.",
        run=balances_of_people,
        response=time_off_shapes.LeaveUseSerializer,
        query=BalancesQuery,
        lists=True,
        pages=True,
        also={"basis": time_off_shapes.LeaveUseBasisSerializer()},
        also_example={"basis": BASIS_EXAMPLE},
        also_projection=(
            *("basis.day", "basis.leave_year.starts_on", "basis.leave_year.ends_on"),
            "basis.base_allowance",
        ),
        example=TAKEN_EXAMPLE,
        projection=tuple(TAKEN_EXAMPLE),
    ),
    Operation(
        id="getTimeOffSettings",
        path="time-off/settings",
        scope="time_off:read",
        summary="Read when the leave year begins.",
        run=settings,
        response=time_off_shapes.SettingsSerializer,
        example={
            "reset_month": 0,
            "reset_day": 1,
            "show_national_holidays": True,
            "use_individual_country_holidays": False,
            "country_id": "cty_de",
            "updated_at": "2026-01-05T09:00:00Z",
        },
        projection=(
            "reset_month",
            "reset_day",
            "show_national_holidays",
            "country_id",
            "updated_at",
        ),
    ),
    Operation(
        id="listPublicHolidays",
        path="time-off/public-holidays",
        scope="time_off:read",
        summary="List the public holidays of a year, of all calendars or of a work place.",
        run=holidays,
        response=time_off_shapes.HolidaySerializer,
        query=HolidaysQuery,
        lists=True,
        example={
            "id": "hol_1c",
            "name": "New Year",
            "date": "2026-01-01",
            "type": "public",
            "is_half_day": False,
            "description": None,
            "calendar": {"id": "cal_9m", "name": "Berlin", "is_default": True},
        },
        projection=(
            *("id", "name", "date", "type", "is_half_day", "description"),
            *("calendar.id", "calendar.name", "calendar.is_default"),
        ),
    ),
    Operation(
        id="getTimeOff",
        personal=True,
        path="time-off/{time_off_id}",
        scope="time_off:read",
        summary="Read one request for time off.",
        run=one,
        response=time_off_shapes.TimeOffSerializer,
        example=EXAMPLE,
        projection=PROJECTION,
    ),
    Operation(
        id="updateTimeOff",
        personal=True,
        method="PATCH",
        path="time-off/{time_off_id}",
        scope="time_off:write",
        summary="Change a pending request.",
        run=update,
        response=time_off_shapes.TimeOffSerializer,
        request=TimeOffChange,
        on_version=True,
        read_by="getTimeOff",
        also=WARNINGS,
        also_example={"warnings": []},
        also_projection=("warnings",),
        example=EXAMPLE,
        projection=PROJECTION,
    ),
    Operation(
        id="getTimeOffApproval",
        personal=True,
        path="time-off/{time_off_id}/approval",
        scope="time_off:read",
        summary="Read who decides about a request, and who has decided.",
        run=read_approval,
        response=time_off_shapes.ApprovalSerializer,
        example=APPROVAL_EXAMPLE,
        projection=APPROVAL_PROJECTION,
    ),
    _decision(
        "cancelTimeOff",
        "cancel",
        "Cancel a request; an approved one as its leave policy allows.",
        cancel,
        also={"cancelled": serializers.BooleanField()},
        projection=PROJECTION,
    ),
    _decision(
        "approveTimeOff",
        "approve",
        "Approve a pending request.",
        approve,
        also={"decision": serializers.ChoiceField(["approved"]), **WARNINGS},
    ),
    _decision(
        "declineTimeOff",
        "decline",
        "Decline a pending request.",
        decline,
        request=Declining,
        also={"decision": serializers.ChoiceField(["declined"])},
    ),
    Operation(
        id="getPersonTimeOffBalance",
        personal=True,
        path="people/{person_id}/time-off-balance",
        scope="time_off:read",
        summary="Read what is left of a person's allowances in a leave year.",
        run=balance,
        response=time_off_shapes.BalanceSerializer,
        query=DayQuery,
        example=BALANCE_EXAMPLE,
        projection=BALANCE_PROJECTION,
    ),
    Operation(
        id="explainPersonTimeOffBalance",
        personal=True,
        path="people/{person_id}/time-off-balance/lines",
        scope="time_off:read",
        summary="Read the lines that a person's balances in a leave year are the sums of.",
        run=explain_balance,
        response=time_off_shapes.ExplainedBalanceSerializer,
        query=DayQuery,
        example=EXPLAINED_EXAMPLE,
        projection=EXPLAINED_PROJECTION,
    ),
    Operation(
        id="listPersonLeaveBalanceLedger",
        personal=True,
        path="people/{person_id}/leave-balance-ledger",
        scope="time_off:read",
        summary="List the changes of a person's allowances, the latest first.",
        run=ledger,
        response=time_off_shapes.LedgerSerializer,
        query=PageQuery,
        lists=True,
        pages=True,
        example=LEDGER_EXAMPLE,
        projection=("id", "person_id", "entry_type", "unit", "amount", "effective_date"),
    ),
)
