"""The argument `lifecycle`: current customers and companies without it, and results say so."""

from collections.abc import Collection
from typing import Annotated, Final, Literal, TypeAlias

from django.db.models import Q

from customers.lifecycles import CURRENT_CUSTOMER, is_churned_company
from data_tools.query.call import DataToolCall
from data_tools.query.filters import Filters
from tools_registry.api import Keywords
from workspace.access import Access
from workspace.models import Lifecycle, RenewalStatus

CURRENT: Final = "current"
ANY: Final = "any"
# Columns about which current customers do not say everything.
OF_ANY: Final = frozenset({"lifecycle", "signed_up_at"})
CustomerLifecycle: TypeAlias = Annotated[
    Literal["current", "any"] | Lifecycle, Keywords(description="current: not churned")
]
CompanyLifecycle: TypeAlias = Annotated[
    Literal["current", "any", "churned"],
    Keywords(description="churned: all of its customers have; current: the others"),
]


def choose(
    call: DataToolCall,
    lifecycle: str,
    *,
    about: Collection[str | None] = (),
    renewal_status: Collection[str] | None = None,
) -> str:
    """Returns the lifecycle that a call is about: its argument, or what its others mean.

    `about` are the columns that it filters, sorts and groups by. Who signed up in a time may have
    churned since, and whose renewal is lost has. A bound call is about its customer.
    """
    if "lifecycle" in call.given:
        return lifecycle
    if "churned_at" in about:
        return Lifecycle.CHURNED
    is_any = not OF_ANY.isdisjoint(about) or RenewalStatus.LOST in (renewal_status or ())
    return ANY if is_any or call.access.customer_id else lifecycle


def add(filters: Filters, lifecycle: str, condition: Q) -> None:
    """Adds the condition, if there is one; results show what it is."""
    filters.show("lifecycle", lifecycle)
    if condition:
        filters.add("lifecycle", condition)


def customers(lifecycle: str) -> Q:
    """The condition that a customer is current, or at this point of their life."""
    if lifecycle == ANY:
        return Q()
    return CURRENT_CUSTOMER if lifecycle == CURRENT else Q(lifecycle=lifecycle)


def companies(whose: Access, lifecycle: str) -> Q:
    """The condition that a company is current, or has churned."""
    if lifecycle == ANY:
        return Q()
    churned = is_churned_company(whose)
    return churned if lifecycle == Lifecycle.CHURNED else ~churned
