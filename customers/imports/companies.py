"""Files of companies: a row names a company with its external id."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from customers import companies
from customers.identification import field_values, traits
from customers.identification.field_values import InvalidField
from customers.imports import accounts, columns, lookups
from customers.imports.columns import FileKind, ImportColumn, ImportPlan, Row, Seen
from customers.imports.formats import CellShape
from customers.lookup_keys import domain_of, has_external_id
from workspace import access
from workspace.access import Access
from workspace.models import Company, ImportKind

COLUMNS: Final = (
    ImportColumn("external_id", columns.external_id, "acme", is_required=True),
    ImportColumn("name", columns.text(200), "Acme"),
    ImportColumn("domain", columns.text(253), "acme.example"),
    ImportColumn("industry", columns.text(100), "Manufacturing"),
    ImportColumn("employee_count", columns.number(field_values.whole), "120", CellShape.WHOLE),
    ImportColumn("health_score", columns.number(field_values.percentage), "75", CellShape.WHOLE),
    *accounts.COLUMNS,
)
TRAITS: Final = tuple(column.name for column in COLUMNS if column.name in traits.COMPANY)


def plan(organization_id: UUID, rows: Sequence[Row], seen: Seen) -> ImportPlan:
    """Decides which companies the rows add and change."""
    planned = ImportPlan()
    found = lookups.rows_for_update(access.companies(Access(organization_id)))
    ids = [row.text("external_id") for row in rows]
    known = {company.external_id: company for company in found.filter(has_external_id(ids))}
    for row in rows:
        named = row.text("external_id")
        if first := seen.first("external_id", named, row.line):
            planned.refuse(row.line, "external_id", f"It is already used on line {first}.")
        else:
            _plan_row(organization_id, row, known.get(named), planned)
    return planned


def store(planned: ImportPlan) -> None:
    companies.keep_all(planned.new, planned.changed)


def _plan_row(organization_id: UUID, row: Row, found: Company | None, planned: ImportPlan) -> None:
    company = found or Company(organization_id=organization_id, external_id=row.text("external_id"))
    before = columns.state(company)
    try:
        traits.write_company(company, accounts.traits_of(row, TRAITS), None)
    except InvalidField as invalid:
        planned.refuse(row.line, "", invalid.reason)
        return
    # As it is stored: an address in the file is its domain.
    company.domain = domain_of(company.domain)
    has_changed = columns.state(company) != before
    planned.add(row.line, company, is_new=found is None, has_changed=has_changed)


KIND: Final = FileKind(
    kind=ImportKind.COMPANIES,
    columns=COLUMNS,
    named_by=("external_id",),
    plan=plan,
    store=store,
)
