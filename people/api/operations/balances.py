"""What is left of allowances of time off, and the ledger that explains it."""

from typing import Final

from people import access, balances, days
from people.api import answers, time_off_shapes
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.api.paging import PageOrder
from people.api.queries import DayQuery, PageQuery
from people.models import Person


def balance(call: CheckedCall) -> OperationAnswer:
    related = ("working_pattern", "work_place", "organization")
    row = access.row(Person, call.organization_id, call.path["person_id"], *related)
    on = call.query.get("on") or days.today(row.organization, row.work_place)
    found = balances.balance(row, on)
    return OperationAnswer({"data": time_off_shapes.BalanceSerializer(found).data})


def ledger(call: CheckedCall) -> OperationAnswer:
    owner = access.row(Person, call.organization_id, call.path["person_id"])
    order = PageOrder("effective_date", is_descending=True)
    shape = time_off_shapes.LedgerSerializer
    return answers.paginate(shape, owner.ledger.all(), call.query, order)


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


# Like absences, a balance has no category over MCP (time_off.py): no id, no name, no sickness.
FIGURES: Final = ("base_allowance", "allowance", "approved", "pending", "remaining")
BALANCE_PROJECTION: Final = (
    *("person_id", "leave_year.starts_on", "leave_year.ends_on", "leave_year.resets_on"),
    *(f"totals.{name}" for name in ("unit", "ledger_adjustment", *FIGURES)),
    *(f"categories.{name}" for name in ("name=Absence", "unit", "ledger.net", *FIGURES)),
    "calculated_at",
)
OPERATIONS: Final = (
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
