"""Every text column of the database is searched by an erasure, or declared with a reason."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import Model, UniqueConstraint

from customers import companies, customers
from customers.privacy import ports
from customers.privacy.text_columns import TextColumns
from tests.drivers.full_tenants import FullTenant, tenant
from tests.workspace import erased_columns
from tests.workspace.privacy import erase
from workspace.models import Company, Customer
from workspace.models.page_jobs import PageJob

IN_RECORDS = {
    "approvals.ApprovalRequest",
    "audit.ActionExecution",
    "audit.SecurityEvent",
}


def test_every_text_column_is_searched_or_has_a_reason() -> None:
    searched = set(erased_columns.searched_columns())
    tables = {label for labels in erased_columns.NOT_SEARCHED.values() for label in labels}
    columns = {name for names in erased_columns.NO_TEXT.values() for name in names}
    missing = {
        f"{model._meta.label}.{name}"
        for model, name in erased_columns.text_columns()
        if (model, name) not in searched
        if model._meta.label not in tables | IN_RECORDS
        if model not in erased_columns.emptied_tables()
        if f"{model._meta.label}.{name}" not in columns
    }
    assert missing == set()


def test_no_reason_is_given_for_a_column_that_is_searched_or_gone() -> None:
    found = {f"{model._meta.label}.{name}" for model, name in erased_columns.text_columns()}
    searched = {f"{model._meta.label}.{name}" for model, name in erased_columns.searched_columns()}
    declared = {name for names in erased_columns.NO_TEXT.values() for name in names}
    assert declared <= found - searched
    tables = {label for labels in erased_columns.NOT_SEARCHED.values() for label in labels}
    assert tables <= {name.rpartition(".")[0] for name in found}
    assert tables.isdisjoint(name.rpartition(".")[0] for name in searched)


def test_names_of_places_are_unique() -> None:
    names = [one.name for one in (*ports.mentions(), *ports.left_as_they_are())]
    assert len(names) == len(set(names))


def test_no_text_is_replaced_where_it_has_to_be_unique() -> None:
    unique = {
        (columns.model, name)
        for columns in ports.mentions()
        for name in (*columns.texts, *columns.values)
        if columns.model._meta.get_field(name).unique
        or name in set(_constrained_fields(columns.model))
    }
    assert unique == set()


def _constrained_fields(model: type[Model]) -> Iterator[str]:
    for constraint in model._meta.constraints:
        if isinstance(constraint, UniqueConstraint):
            yield from constraint.fields


REDACTED = [
    pytest.param(columns, name, id=f"{columns.name}.{name}")
    for columns in ports.mentions()
    for name in columns.columns
]


@pytest.mark.django_db
@pytest.mark.parametrize(("columns", "name"), REDACTED)
def test_a_column_that_is_searched_does_not_name_the_person_any_more(
    columns: TextColumns, name: str
) -> None:
    ours = tenant("ourorg")
    row = _row_of(ours, columns)
    person = Customer.objects.create(
        organization=ours.organization, email="Ida@ida.example", email_key="ida@ida.example"
    )
    is_json = name in columns.values
    value: Any = {"by": ["Ida@ida.example", 7]} if is_json else "Ida@ida.example"
    columns.model._base_manager.filter(pk=row.pk).update(**{name: value})
    erase(ours, person.pk)
    row.refresh_from_db()
    replaced = {"by": ["[erased]", 7]} if is_json else "[erased]"
    # The texts of files are deleted when an erasure begins.
    assert getattr(row, name) in ("" if name in columns.keys else replaced, {})


@pytest.mark.django_db
def test_the_key_of_a_name_does_not_name_the_person_any_more() -> None:
    ours = tenant("ourorg")
    address = "Ida.Joe@ida-joe.example"
    own = {"organization": ours.organization}
    person = customers.keep(Customer(**own, email=address))
    named = customers.keep(Customer(**own, external_id="other", name=address))
    company = companies.keep(Company(**own, name=f"Company of {address}"))
    erase(ours, person.pk)
    for row, key in ((named, "[erased]"), (company, "company of [erased]")):
        row.refresh_from_db()
        assert row.name_key == key


def _row_of(ours: FullTenant, columns: TextColumns) -> Any:
    if columns.model is PageJob:
        return PageJob.objects.create(organization=ours.organization, user=ours.admin)
    own = {columns.organization: ours.organization}
    return columns.model._base_manager.filter(**own).first() or ours.rows[columns.model]
