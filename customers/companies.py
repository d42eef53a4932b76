"""The companies of an organization: the writes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from customers import bulk_writes
from customers.bulk_writes import BATCH
from customers.identification import traits
from customers.identification.traits import Traits, WriteResult
from customers.lookup_keys import domain_of, has_external_id
from foundation.text.names import name_key
from workspace import access
from workspace.access import Access
from workspace.models import Company, Customer


def keep(company: Company) -> Company:
    """Saves a company, new or changed."""
    _complete(company)
    company.save()
    return company


def keep_all(new: Sequence[Company], changed: Sequence[Company]) -> None:
    """Saves many companies at once; the caller has locked those that are changed."""
    for company in (*new, *changed):
        _complete(company)
    bulk_writes.store(Company, new, changed)


@transaction.atomic
def upsert(
    organization_id: UUID, external_id: str, sent: Traits, at: datetime | None = None
) -> tuple[Company, WriteResult]:
    """Writes the company with this external id, new or not. Raises InvalidField.

    `at` is when the sender wrote it, by the server's clock; None is now.
    """
    get_or_create_many(organization_id, [external_id])
    rows = access.companies(Access(organization_id)).select_for_update()
    company = rows.get(has_external_id([external_id]))
    result = traits.write_company(company, sent, at)
    return keep(company), result


def note_contact(organization_id: UUID, company_id: str, at: datetime) -> None:
    """Notes that a teammate wrote to a person of a company."""
    rows = Company.objects.filter(organization=organization_id, pk=company_id)
    rows.filter(Q(last_contacted_at=None) | Q(last_contacted_at__lt=at)).update(
        last_contacted_at=at
    )


def list_companies_of_one(organization_id: UUID, customer_id: str) -> QuerySet[Company]:
    """Returns the company of this customer, if it has no other one: erased ones count as well."""
    others = Customer.objects.filter(company=OuterRef("pk")).exclude(pk=customer_id)
    rows = access.companies(Access(organization_id))
    return rows.filter(~Exists(others), customers=customer_id)


def count_teams() -> int:
    """Sets `team_size`, the number of customers, of every company where it differs.

    Returns the number of companies that it changed.
    """
    people = Customer.objects.filter(company=OuterRef("pk")).order_by().values("company")
    many = Coalesce(Subquery(people.annotate(many=Count("pk")).values("many")), 0)
    differing = Company.objects.annotate(many=many).exclude(team_size=F("many"))
    return differing.update(team_size=many)


def get_or_create_many(organization_id: UUID, external_ids: Iterable[str]) -> Mapping[str, Company]:
    """Returns companies by external id; adds missing ones. An empty id names no company."""
    wanted = sorted(set(external_ids) - {""})
    found = _with_ids(organization_id, wanted)
    missing = [one for one in wanted if one not in found]
    if not missing:
        return found
    # A concurrent request may add the same one: its row is kept.
    Company.objects.bulk_create(
        [Company(organization_id=organization_id, external_id=one) for one in missing],
        ignore_conflicts=True,
    )
    return _with_ids(organization_id, wanted)


def _with_ids(organization_id: UUID, external_ids: Sequence[str]) -> Mapping[str, Company]:
    rows = access.companies(Access(organization_id))
    return {
        company.external_id: company
        for start in range(0, len(external_ids), BATCH)
        for company in rows.filter(has_external_id(external_ids[start : start + BATCH]))
    }


def _complete(company: Company) -> None:
    company.domain = domain_of(company.domain)
    company.name_key = name_key(company.name)
    company.updated_at = timezone.now()
