"""data_find_user, data_search_users and data_search_leads: people before and after sign-up."""

from datetime import timedelta
from typing import Annotated, Final, Literal, TypeAlias

from django.db.models import Count, Max, Q

from customers import words
from data_tools.query import (
    ALL_TIME,
    PAGE,
    CompanyName,
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
    listing,
    messages,
    one_of,
    results,
    text,
    who,
)
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.models import UNRESOLVED, Customer, Lead, RenewalStatus

TOOLSET: Final = Toolset(scope="data:read", title="Customers")

Item = dict[str, Json]

Trait: TypeAlias = Annotated[str, text(200, "name=value; seats>5 of a number")]
RECENT: Final = timedelta(days=30)
USER_ORDERS: Final = {
    "last_seen_desc": RowOrder("-last_seen"),
    "last_seen_asc": RowOrder("last_seen", "-pk"),
    "mrr_desc": RowOrder("-mrr"),
}


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
        rows=1,
    )


@data_tool(
    TOOLSET,
    title="Search customers",
    description=(
        "List or count customers by company, plan, trait, renewal or when they were last seen. "
        "People who have not signed up yet: data_search_leads."
    ),
)
def data_search_users(
    call: DataToolCall,
    *,
    query: Query | None = None,
    company: CompanyName | None = None,
    plan: Name | None = None,
    role: Name | None = None,
    trait: Trait | None = None,
    renewal_status: RenewalStatus | Literal["any"] | None = None,
    time: TimeRange = ALL_TIME,
    time_field: Literal["last_seen", "signed_up_at", "renewal_date"] = "last_seen",
    sort: Annotated[str, one_of(*USER_ORDERS)] = "last_seen_desc",
    group_by: Literal["plan", "company", "renewal_status"] | None = None,
    page: Page = PAGE,
    response_format: Detail = "concise",
) -> Facts:
    call = call.with_detail(response_format)
    filters = Filters()
    filters.add_words(query, ("name_key__contains", "email_key__contains"))
    filters.add_row("company", who.find_row(call, who.COMPANIES, company))
    filters.add_ignoring_case("plan", plan)
    filters.add_ignoring_case("role", role)
    filters.add_equal("renewal_status", renewal_status, unless="any")
    filters.add_trait(trait, "custom_fields", access.customers(call.access))
    companies = access.companies(call.access)
    customers = Listing(
        noun="customers",
        rows=access.customers(call.access).select_related("company"),
        filters=filters,
        order=USER_ORDERS[sort],
        items=lambda rows: [_user(call, row) for row in rows],
        time=time_field,
        groupings={
            "plan": groups.text_column("plan"),
            "renewal_status": groups.column("renewal_status"),
            "company": groups.reference("company", companies),
        },
        known={"plan": "plan", "role": "role", "renewal_status": "renewal_status"},
        members={"currency": call.organization.currency},
        elsewhere=dict.fromkeys(("plan", "renewal_status"), ("data_search_companies", companies)),
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
    trait: Trait | None = None,
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
    filters.add_trait(trait, "fields", rows)
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
    )
    return listing.answer(call, leads, page, time, group_by)


def _candidate(customer: Customer) -> Item:
    return {"id": customer.pk, "name": customer.name, "email": customer.email}


def _user(call: DataToolCall, customer: Customer) -> Item:
    """A customer in a list."""
    item = {
        **_candidate(customer),
        "role": customer.role,
        "plan": customer.plan,
        "company": results.reference(customer.company),
        "mrr": results.amount(customer.mrr),
        "last_seen": call.when(customer.last_seen),
    }
    if not call.is_detailed:
        return item
    return {
        **item,
        "external_id": customer.external_id,
        "lifecycle": customer.lifecycle,
        "signed_up_at": call.when(customer.signed_up_at),
        **results.renewal(customer),
    }


def _profile(call: DataToolCall, customer: Customer) -> Item:
    """Everything about one customer."""
    profile = {
        **_user(call, customer),
        "external_id": customer.external_id,
        "lifecycle": customer.lifecycle,
        "churned_at": call.when(customer.churned_at),
        **results.renewal(customer),
        "source": customer.source,
        "signed_up_at": call.when(customer.signed_up_at),
        "first_seen": call.when(customer.first_seen),
        "last_contacted_at": call.when(customer.last_contacted_at),
    }
    if not call.is_detailed:
        return profile
    return {
        **profile,
        "custom_fields": results.limit_members(customer.custom_fields),
        "context": results.limit_members(customer.context),
    }


def _activity(call: DataToolCall, customer: Customer) -> Item:
    """What one customer did, in figures; the latest time of each kind."""
    tickets = access.tickets(call.access).filter(customer=customer)
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
