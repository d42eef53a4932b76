"""data_find_company and data_search_companies: the companies that customers belong to."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, Literal, TypeAlias

from django.db.models import Case, Count, F, Max, Q, TextField, Value, When

from customers.kpis import counts
from customers.lifecycles import CURRENT_CUSTOMER
from data_tools.query import (
    ALL_TIME,
    PAGE,
    CompanyLifecycle,
    CompanyName,
    DataToolCall,
    Detail,
    Filters,
    Grouping,
    Listing,
    Name,
    Page,
    Query,
    RowOrder,
    TimeRange,
    data_tool,
    groups,
    lifecycle,
    listing,
    number_limits,
    one_of,
    results,
    who,
)
from data_tools.query.arguments import TIME
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.models import UNRESOLVED, Company, RenewalStatus

TOOLSET: Final = Toolset(scope="data:read", title="Companies")

Item = dict[str, Json]

MAX_PEOPLE: Final = 20
Score: TypeAlias = Annotated[int, number_limits(0, 100)]
Amount: TypeAlias = Annotated[float, number_limits(0, 10**12)]
RECENT: Final = timedelta(days=30)
ORDERS: Final = {
    "mrr_desc": RowOrder("-mrr"),
    "mrr_asc": RowOrder("mrr", "-pk"),
    "health_asc": RowOrder("health_score"),
    "health_desc": RowOrder("-health_score", "-pk"),
    "renewal_date_asc": RowOrder("renewal_date"),
    "renewal_date_desc": RowOrder("-renewal_date", "-pk"),
    **listing.orders_by_time("created_at", "signed_up_at"),
}
# What a list is chosen or sorted by is in its items.
SHOWN: Final = ("created_at", "signed_up_at", "renewal_date", "renewal_status", "industry")
QUERY_IN: Final = ("name", "domain")
HEALTH_BANDS: Final = ((80, "80-100"), (60, "60-79"), (40, "40-59"), (20, "20-39"), (0, "0-19"))
BY_HEALTH_BAND: Final = Grouping(
    Case(
        *(When(health_score__gte=lowest, then=Value(band)) for lowest, band in HEALTH_BANDS),
        default=Value(""),
        output_field=TextField(),
    )
)


@data_tool(
    TOOLSET,
    title="Find a company",
    description=(
        "One company: plan, revenue, health, renewal, people, open tickets. "
        "For several companies use data_search_companies."
    ),
    result=results.schema(
        match=results.TEXT,
        company=results.OBJECT,
        activity=results.OBJECT,
        users=results.LIST,
        candidates=results.LIST,
        currency=results.TEXT,
    ),
)
def data_find_company(
    call: DataToolCall, company: CompanyName, response_format: Detail = "concise"
) -> Facts:
    call = call.with_detail(response_format)
    match = who.look_up(call, who.COMPANIES, company)
    if match.row is None:
        return results.answer(
            call,
            match=match.kind,
            candidates=[_candidate(one) for one in match.candidates],
            hints=[who.hint(match, "data_search_companies")],
        )
    listed = lifecycle.customers(lifecycle.choose(call, lifecycle.CURRENT))
    people = access.customers(call.access).filter(listed, company=match.row)
    newest = people.order_by(F("last_seen").desc(nulls_last=True), "pk")[:MAX_PEOPLE]
    return results.answer(
        call,
        match=match.kind,
        company=_profile(call, match.row),
        activity=_activity(call, match.row),
        users=[{"id": one.pk, "name": one.name, "email": one.email} for one in newest],
        currency=call.organization.currency,
        rows=1,
    )


@dataclass(frozen=True, slots=True)
class CompanyFilters:
    """What companies are chosen by, besides words and time."""

    lifecycle: CompanyLifecycle = "current"
    industry: Name | None = None
    plan: Name | None = None
    renewal_status: tuple[RenewalStatus | Literal["any"], ...] | None = None
    min_health: Score | None = None
    max_health: Score | None = None
    min_mrr: Amount | None = None
    max_mrr: Amount | None = None


CURRENT_COMPANIES: Final = CompanyFilters()


@data_tool(
    TOOLSET,
    title="Search companies",
    description=(
        "List, rank or count companies with customers who have not churned, or those whose "
        "customers all have, by plan, health, MRR or renewal. "
        "Everything about one company: data_find_company."
    ),
)
def data_search_companies(
    call: DataToolCall,
    *,
    query: Query | None = None,
    chosen_by: CompanyFilters = CURRENT_COMPANIES,
    time: TimeRange = ALL_TIME,
    time_field: Literal["created_at", "signed_up_at", "renewal_date"] = "created_at",
    sort: Annotated[
        str, one_of(*ORDERS, description="By time_field, if that is sent without sort")
    ] = "mrr_desc",
    group_by: Literal["industry", "plan", "renewal_status", "health_band"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    sort = listing.choose_sort(call, sort, time_field)
    filters = Filters()
    filters.show("sort", sort)
    filters.add_words(query, ("name_key__contains", "domain__contains"))
    filters.add_ignoring_case("industry", chosen_by.industry)
    filters.add_ignoring_case("plan", chosen_by.plan)
    filters.add_choices("renewal_status", chosen_by.renewal_status)
    filters.add_range("health", "health_score", chosen_by.min_health, chosen_by.max_health)
    filters.add_range("mrr", "mrr", chosen_by.min_mrr, chosen_by.max_mrr)
    wanted = lifecycle.choose(call, chosen_by.lifecycle, renewal_status=chosen_by.renewal_status)
    lifecycle.add(filters, wanted, lifecycle.companies(call.access, wanted))
    customers = access.customers(call.access).filter(lifecycle.customers(wanted))
    about = {sort.rpartition("_")[0], *filters.conditions}
    if {"time_field", *TIME} & call.given:
        about.add(time_field)
    companies = Listing(
        noun="companies",
        rows=access.companies(call.access),
        filters=filters,
        order=ORDERS[sort],
        items=lambda rows: [_listed_company(call, row, about) for row in rows],
        time=time_field,
        groupings={
            "industry": groups.text_column("industry"),
            "plan": groups.text_column("plan"),
            "renewal_status": groups.column("renewal_status"),
            "health_band": BY_HEALTH_BAND,
        },
        known={"industry": "industry", "plan": "plan", "renewal_status": "renewal_status"},
        members={"currency": call.organization.currency},
        elsewhere=dict.fromkeys(("plan", "renewal_status"), ("data_search_users", customers)),
        query_in=QUERY_IN,
    )
    return listing.answer(call, companies, page, time, group_by)


def _candidate(company: Company) -> Item:
    return {"id": company.pk, "name": company.name, "domain": company.domain}


def _company(call: DataToolCall, company: Company) -> Item:
    """A company in a list."""
    item = {
        **_candidate(company),
        "plan": company.plan,
        "mrr": results.amount(company.mrr),
        "health_score": company.health_score,
        "renewal_date": results.day(company.renewal_date),
    }
    return {**item, **_details(call, company)} if call.is_detailed else item


def _listed_company(call: DataToolCall, company: Company, about: Collection[str]) -> Item:
    """A company in a list, with what the list is chosen and sorted by."""
    asked = {
        name: results.column_value(call, getattr(company, name)) for name in SHOWN if name in about
    }
    return {**_company(call, company), **asked}


def _details(call: DataToolCall, company: Company) -> Item:
    return {
        "external_id": company.external_id,
        "industry": company.industry,
        "employee_count": company.employee_count,
        **results.renewal(company),
        "signed_up_at": call.when(company.signed_up_at),
        "last_contacted_at": call.when(company.last_contacted_at),
        "created_at": call.when(company.created_at),
    }


def _profile(call: DataToolCall, company: Company) -> Item:
    """Everything about one company."""
    profile = {**_company(call, company), **_details(call, company)}
    if not call.is_detailed:
        return profile
    return {**profile, "custom_fields": results.limit_members(company.custom_fields)}


def _activity(call: DataToolCall, company: Company) -> Item:
    """What the people of one company did, in figures; the latest time of each kind."""
    people = access.customers(call.access).filter(company=company)
    tickets = counts.tickets(call.access).filter(company=company)
    conversations = access.conversations(call.access).filter(company=company)
    of_people = people.aggregate(
        many=Count("pk", CURRENT_CUSTOMER),
        churned=Count("pk", ~CURRENT_CUSTOMER),
        recent=Count("pk", CURRENT_CUSTOMER & Q(last_seen__gte=call.now - RECENT)),
        last=Max("last_seen"),
    )
    of_tickets = tickets.aggregate(
        many=Count("pk"), open=Count("pk", Q(status__in=UNRESOLVED)), last=Max("created_at")
    )
    of_conversations = conversations.aggregate(many=Count("pk"), last=Max("started_at"))
    return {
        "users": of_people["many"],
        "churned_users": of_people["churned"],
        "users_seen_last_30_days": of_people["recent"],
        "last_seen": call.when(of_people["last"]),
        "open_tickets": of_tickets["open"],
        "tickets": of_tickets["many"],
        "last_ticket_at": call.when(of_tickets["last"]),
        "conversations": of_conversations["many"],
        "last_conversation_at": call.when(of_conversations["last"]),
    }
