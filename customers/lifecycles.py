"""Which customers and companies are current: one definition for lists, counts and key figures.

A customer has churned exactly if they have a time of churn, which `profiles.set_lifecycle` and
merges keep so. Lists read the lifecycle, which is in their indexes, and figures of a moment the
time.
"""

from datetime import datetime
from typing import Final

from django.db.models import Exists, OuterRef, Q
from django.db.models.lookups import LessThan

from workspace import access
from workspace.access import Access
from workspace.models import STARTED, Lifecycle

# A customer is current until they churn; a trial is current too.
CURRENT_CUSTOMER: Final = ~Q(lifecycle=Lifecycle.CHURNED)
# Those who churned before they started are in no figure.
EVER_CURRENT: Final = Q(churned_at=None) | Q(churned_at__gte=STARTED)


def was_current_at(moment: datetime) -> Q:
    """The condition that a customer had started before a moment and had not churned by then."""
    stayed = Q(churned_at=None) | Q(churned_at__gte=moment)
    return EVER_CURRENT & stayed & Q(LessThan(STARTED, moment))


def has_current_customers(whose: Access) -> Q:
    """The condition that a company has a current customer."""
    rows = access.customers(whose).filter(CURRENT_CUSTOMER, company=OuterRef("pk"))
    return Q(Exists(rows))


def is_churned_company(whose: Access) -> Q:
    """The condition that a company has customers, all of whom have churned."""
    rows = access.customers(whose).filter(company=OuterRef("pk"))
    return Q(Exists(rows)) & ~has_current_customers(whose)
