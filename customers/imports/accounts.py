"""The columns and values that customers and companies share."""

from typing import Final

from customers.identification import field_values
from customers.identification.traits import Traits
from customers.imports import columns
from customers.imports.columns import Column, Row
from customers.imports.formats import Shape
from workspace.models import RenewalStatus, Term

COLUMNS: Final = (
    Column("plan", columns.text(100), "pro"),
    Column("mrr", columns.number(field_values.money), "49.90", Shape.MONEY),
    Column("arr", columns.number(field_values.money), "598.80", Shape.MONEY),
    Column("signed_up_at", columns.time, "2026-01-31", Shape.TIME),
    Column(
        "renewal_status",
        columns.choice(field_values.choice(RenewalStatus.values)),
        "up_for_renewal",
    ),
    Column("renewal_date", field_values.day, "2027-01-31", Shape.DAY),
    Column("contract_term", columns.choice(field_values.choice(Term.values)), "annual"),
    Column("payment_terms", columns.choice(field_values.choice(Term.values)), "monthly"),
    Column("on_contract", columns.flag, "true"),
)


def traits_of(row: Row, names: tuple[str, ...]) -> Traits:
    """Returns the values of the row as traits: these columns, and the custom fields."""
    return Traits(row.some(names), row.custom)
