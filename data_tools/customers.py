"""data_find_user, data_search_users and data_search_leads: people before and after sign-up."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final, Literal, TypeAlias

from django.db.models import Count, Max, Q, QuerySet

from customers import words
from customers.identification import aliases
from customers.identification.traits import CUSTOMER
from customers.kpis import counts
from data_tools.query import (
    ALL_TIME,
    PAGE,
    CompanyName,
    CustomerLifecycle,
    DataToolCall,
    Detail,
    Filters,
    Listing,
    Name,
    Page,
    Query,
    RowOrder,
    TimeRange,
    UserName,
    data_tool,
    groups,
    lifecycle,
    listing,
    messages,
    one_of,
    results,
    text,
    traits,
    who,
)
from data_tools.query.traits import Trait
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.models import UNRESOLVED, Customer, Lead, RenewalStatus

TOOLSET: Final = Toolset(scope="data:read", title="Customers")

Item = dict[str, Json]

TraitText: TypeAlias = Annotated[str, text(200, "name=value; seats>5 of a number or a date")]
RECENT: Final = timedelta(days=30)
USER_ORDERS: Final = {
    **listing.orders_by_time("last_seen", "signed_up_at", "churned_at"),
    "renewal_date_asc": RowOrder("renewal_date"),
    "renewal_date_desc": RowOrder("-renewal_date", "-pk"),
    "mrr_desc": RowOrder("-mrr"),
    "mrr_asc": RowOrder("mrr", "-pk"),
}
# What is a trait for those who send it, and a column here.
TRAIT_COLUMNS: Final = (*CUSTOMER, "churned_at", "first_seen", "last_seen")
QUERY_IN: Final = ("name", "email")
LEAD_QUERY_IN: Final = ("name", "email", "fields")


@data_tool(
    TOOLSET,
    title="Find a customer",
    description=(
        "Who is this customer: company, plan, revenue, renewal, recent activity. "
        "For several customers use data_search_users."
    ),
    result=results.schema(
        match=results.TEXT,
        user=results.OBJECT,
        activity=results.OBJECT,
        candidates=results.LIST,
        currency=results.TEXT,
    ),
)
def data_find_user(
    call: DataToolCall, user: UserName, response_format: Detail = "concise"
) -> Facts:
    call = call.with_detail(response_format)
    match = who.look_up(call, who.USERS, user)
    if match.row is None:
        return results.answer(
            call,
            match=match.kind,
            candidates=[_candidate(one) for one in match.candidates],
            hints=[who.hint(match, "data_search_users")],
        )
    return results.answer(
        call,
        match=match.kind,
        user=_profile(call, match.row),
        activity=_activity(call, match.row),
        currency=call.organization.currency,
        hints=who.unclaimed_tickets_hints(call, match.row),
        rows=1,
    )


@dataclass(frozen=True, slots=True)
class UserFilters:
    """What customers are chosen by, besides words and time."""

    lifecycle: CustomerLifecycle = "current"
    company: CompanyName | None = None
    plan: Name | None = None
    role: Name | None = None
    trait: TraitText | None = None
    renewal_status: tuple[RenewalStatus | Literal["any"], ...] | None = None


CURRENT_USERS: Final = UserFilters()


@data_tool(
    TOOLSET,
    title="Search customers",
    description=(
        "List or count customers, current or churned, by company, plan, trait, renewal or when "
        "they signed up or were last seen. People who have not signed up: data_search_leads."
    ),
)
def data_search_users(
    call: DataToolCall,
    *,
    query: Query | None = None,
    chosen_by: UserFilters = CURRENT_USERS,
    time: TimeRange = ALL_TIME,
    time_field: Literal["last_seen", "signed_up_at", "churned_at", "renewal_date"] = "last_seen",
    sort: Annotated[
        str, one_of(*USER_ORDERS, description="By time_field, if that is sent without sort")
    ] = "last_seen_desc",
    group_by: Literal["plan", "company", "renewal_status", "lifecycle"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    sort = listing.choose_sort(call, sort, time_field)
    filters = Filters()
    filters.show("sort", sort)
    filters.add_words(query, ("name_key__contains", "email_key__contains"))
    rows = access.customers(call.access)
    trait = _add_filters(filters, call, chosen_by, rows)
    about = {time_field, sort.rpartition("_")[0], group_by, trait.column}
    wanted = lifecycle.choose(
        call, chosen_by.lifecycle, about=about, renewal_status=chosen_by.renewal_status
    )
    lifecycle.add(filters, wanted, lifecycle.customers(wanted))
    same_companies = access.companies(call.access).filter(lifecycle.companies(call.access, wanted))
    shown = about | filters.conditions.keys()
    customers = Listing(
        noun="customers",
        rows=rows.select_related("company"),
        filters=filters,
        order=USER_ORDERS[sort],
        items=lambda rows: [_listed_user(call, row, shown, trait) for row in rows],
        time=time_field,
        groupings={
            "plan": groups.text_column("plan"),
            "renewal_status": groups.column("renewal_status"),
            "lifecycle": groups.column("lifecycle"),
            "company": groups.reference("company", access.companies(call.access)),
        },
        known={"plan": "plan", "role": "role", "renewal_status": "renewal_status"},
        members={"currency": call.organization.currency},
        elsewhere=dict.fromkeys(
            ("plan", "renewal_status"), ("data_search_companies", same_companies)
        ),
        query_in=QUERY_IN,
    )
    return listing.answer(call, customers, page, time, group_by)


@data_tool(
    TOOLSET,
    title="Search leads",
    description=(
        "List or count people captured by a form or the sales agent. "
        "People who have signed up: data_search_users."
    ),
)
def data_search_leads(
    call: DataToolCall,
    *,
    query: Query | None = None,
    status: Literal["any", "open", "converted"] = "any",
    source: Annotated[str, text(50)] | None = None,
    trait: TraitText | None = None,
    time: TimeRange = ALL_TIME,
    group_by: Literal["source", "status", "day"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    rows = access.leads(call.access).select_related("customer")
    filters = Filters()
    if found := messages.terms(query):
        filters.add("query", words.has_lead_words(found))
    filters.add_equal("status", status, unless="any")
    filters.add_ignoring_case("source", source)
    traits.add_trait(filters, call, trait, rows=rows, json_column="fields")
    leads = Listing(
        noun="leads",
        rows=rows,
        filters=filters,
        order=RowOrder("-created_at"),
        items=lambda rows: [_lead(call, row) for row in rows],
        time="created_at",
        groupings={
            "source": groups.text_column("source"),
            "status": groups.column("status"),
            "day": groups.day("created_at", call.zone),
        },
        known={"source": "source"},
        query=found,
        query_in=LEAD_QUERY_IN,
    )
    return listing.answer(call, leads, page, time, group_by)


def _add_filters(
    filters: Filters, call: DataToolCall, chosen_by: UserFilters, rows: QuerySet[Customer]
) -> Trait:
    """Adds the conditions of all arguments but the lifecycle; returns which trait they are on."""
    filters.add_row("company", who.find_row(call, who.COMPANIES, chosen_by.company))
    filters.add_ignoring_case("plan", chosen_by.plan)
    filters.add_ignoring_case("role", chosen_by.role)
    filters.add_choices("renewal_status", chosen_by.renewal_status)
    return traits.add_trait(
        filters,
        call,
        chosen_by.trait,
        rows=rows,
        json_column="custom_fields",
        columns=TRAIT_COLUMNS,
    )


def _candidate(customer: Customer) -> Item:
    return {"id": customer.pk, "name": customer.name, "email": customer.email}


def _user(call: DataToolCall, customer: Customer) -> Item:
    """A customer in a list."""
    item = {
        **_candidate(customer),
        "email_verified": False if customer.email_claimed_at else None,
        "role": customer.role,
        "plan": customer.plan,
        "lifecycle": customer.lifecycle,
        "company": results.reference(customer.company),
        "mrr": results.amount(customer.mrr),
        "last_seen": call.when(customer.last_seen),
    }
    if not call.is_detailed:
        return item
    return {
        **item,
        "external_id": customer.external_id,
        "signed_up_at": call.when(customer.signed_up_at),
        "churned_at": call.when(customer.churned_at),
        **results.renewal(customer),
    }


def _listed_user(
    call: DataToolCall, customer: Customer, about: Collection[str | None], trait: Trait
) -> Item:
    """A customer in a list, with what the list is chosen and sorted by."""
    asked = {
        name: results.column_value(call, getattr(customer, name))
        for name in TRAIT_COLUMNS
        if name in about
    }
    members = {name: customer.custom_fields.get(name) for name in trait.members}
    return {**_user(call, customer), **asked, "traits": results.limit_members(members)}


def _profile(call: DataToolCall, customer: Customer) -> Item:
    """Everything about one customer."""
    profile = {
        **_user(call, customer),
        "external_id": customer.external_id,
        "churned_at": call.when(customer.churned_at),
        **results.renewal(customer),
        "source": customer.source,
        "signed_up_at": call.when(customer.signed_up_at),
        "first_seen": call.when(customer.first_seen),
        "last_contacted_at": call.when(customer.last_contacted_at),
    }
    if not call.is_detailed:
        return profile
    names = aliases.list_other_names(customer)
    return {
        **profile,
        "other_ids": list(names["other_external_ids"]),
        "earlier_emails": list(names["other_emails"]),
        "custom_fields": results.limit_members(customer.custom_fields),
        "context": results.limit_members(customer.context),
    }


def _activity(call: DataToolCall, customer: Customer) -> Item:
    """What one customer did, in figures; the latest time of each kind."""
    tickets = counts.tickets(call.access).filter(customer=customer)
    conversations = access.conversations(call.access).filter(customer=customer)
    events = access.events(call.access).filter(customer=customer)
    last_event = events.order_by("-at").values_list("at", flat=True).first()
    of_tickets = tickets.aggregate(
        many=Count("pk"), open=Count("pk", Q(status__in=UNRESOLVED)), last=Max("created_at")
    )
    of_conversations = conversations.aggregate(many=Count("pk"), last=Max("started_at"))
    return {
        "open_tickets": of_tickets["open"],
        "tickets": of_tickets["many"],
        "last_ticket_at": call.when(of_tickets["last"]),
        "conversations": of_conversations["many"],
        "last_conversation_at": call.when(of_conversations["last"]),
        "events_last_30_days": events.filter(at__gte=call.now - RECENT).count(),
        "last_event_at": call.when(last_event),
    }


def _lead(call: DataToolCall, lead: Lead) -> Item:
    item = {
        "id": lead.pk,
        "name": lead.name,
        "email": lead.email,
        "source": lead.source,
        "user_id": lead.customer_id,
        "fields": results.limit_members(
            lead.fields, longest=1_000 if not call.is_detailed else 8_000
        ),
        "created_at": call.when(lead.created_at),
    }
    if not call.is_detailed:
        return item
    return {**item, "status": lead.status, "converted_at": call.when(lead.converted_at)}
