"""The columns and values that customers and companies share."""

from typing import Final

from customers.identification import field_values
from customers.identification.traits import Traits
from customers.imports import columns
from customers.imports.columns import ImportColumn, Row
from customers.imports.formats import CellShape
from workspace.models import RenewalStatus, Term

COLUMNS: Final = (
    ImportColumn("plan", columns.text(100), "pro"),
    ImportColumn("mrr", columns.number(field_values.money), "49.90", CellShape.MONEY),
    ImportColumn("arr", columns.number(field_values.money), "598.80", CellShape.MONEY),
    ImportColumn("signed_up_at", columns.sign_up_time, "2026-01-31", CellShape.TIME),
    ImportColumn(
        "renewal_status",
        columns.choice(field_values.choice(RenewalStatus.values)),
        "up_for_renewal",
    ),
    ImportColumn("renewal_date", field_values.day, "2027-01-31", CellShape.DAY),
    ImportColumn("contract_term", columns.choice(field_values.choice(Term.values)), "annual"),
    ImportColumn("payment_terms", columns.choice(field_values.choice(Term.values)), "monthly"),
    ImportColumn("on_contract", columns.flag, "true"),
)


def traits_of(row: Row, names: tuple[str, ...]) -> Traits:
    """Returns the values of the row as traits: these columns, and the custom fields."""
    return Traits(row.some(names), row.custom)
