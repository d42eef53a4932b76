"""data_find_user, data_search_users and data_search_leads: people before and after sign-up."""

from datetime import timedelta
from typing import Final

from django.db.models import Count, Max, Q

from data_tools.query import (
    COMPANY,
    DETAIL,
    PAGE,
    QUERY,
    USER,
    DataToolCall,
    Filters,
    Listing,
    RowOrder,
    choice,
    data_tool,
    filter_choice,
    groups,
    listing,
    optional_choice,
    results,
    text,
    time_of,
    who,
)
from tools_registry.api import Facts, Json, Toolset
from workspace import access
from workspace.models import UNRESOLVED, Customer, Lead, RenewalStatus

TOOLSET: Final = Toolset(scope="data:read", title="Customers")

Item = dict[str, Json]

RENEWAL: Final = {"renewal_status": filter_choice(*RenewalStatus.values)}
TRAIT: Final = {"trait": text("name=value")}
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
    arguments={**USER, **DETAIL},
    required=("user",),
    result=results.schema(
        match=results.TEXT,
        user=results.OBJECT,
        activity=results.OBJECT,
        candidates=results.LIST,
        currency=results.TEXT,
    ),
)
def data_find_user(call: DataToolCall) -> Facts:
    match = who.look_up(call, who.USERS, call.arguments["user"])
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
    arguments={
        **QUERY,
        **COMPANY,
        "plan": text(longest=100),
        "role": text(longest=100),
        **TRAIT,
        **RENEWAL,
        **time_of("all_time"),
        "time_field": choice("last_seen", "signed_up_at", "renewal_date"),
        "sort": choice(*USER_ORDERS),
        "group_by": optional_choice("plan", "company", "renewal_status"),
        **PAGE,
        **DETAIL,
    },
)
def data_search_users(call: DataToolCall) -> Facts:
    filters = Filters(call)
    filters.words("query", ("name_key__contains", "email_key__contains"))
    if company := who.find_row(call, who.COMPANIES):
        filters.add("company", Q(company=company.pk), shown=results.reference(company))
    filters.add_ignoring_case("plan", "plan")
    filters.add_ignoring_case("role", "role")
    filters.add_equal("renewal_status", "renewal_status", unless="any")
    filters.trait("trait", "custom_fields")
    return listing.answer(
        call,
        Listing(
            noun="customers",
            rows=access.customers(call.access).select_related("company"),
            filters=filters,
            order=USER_ORDERS[call.arguments["sort"]],
            items=lambda rows: [_user(call, row) for row in rows],
            time=call.arguments["time_field"],
            groupings={
                "plan": groups.column("plan"),
                "renewal_status": groups.column("renewal_status"),
                "company": groups.reference("company", access.companies(call.access)),
            },
            known={"plan": "plan", "role": "role", "renewal_status": "renewal_status"},
            members={"currency": call.organization.currency},
        ),
    )


@data_tool(
    TOOLSET,
    title="Search leads",
    description=(
        "List or count people captured by a form or the sales agent. "
        "People who have signed up: data_search_users."
    ),
    arguments={
        **QUERY,
        "status": choice("any", "open", "converted"),
        "source": text(longest=50),
        **TRAIT,
        **time_of("all_time"),
        "group_by": optional_choice("source", "status", "day"),
        **PAGE,
        **DETAIL,
    },
)
def data_search_leads(call: DataToolCall) -> Facts:
    rows = access.leads(call.access).select_related("customer")
    filters = Filters(call)
    filters.words("query", ("name__icontains", "email_key__contains"))
    filters.add_equal("status", "status", unless="any")
    filters.add_ignoring_case("source", "source")
    filters.trait("trait", "fields")
    return listing.answer(
        call,
        Listing(
            noun="leads",
            rows=rows,
            filters=filters,
            order=RowOrder("-created_at"),
            items=lambda rows: [_lead(call, row) for row in rows],
            time="created_at",
            groupings={
                "source": groups.column("source"),
                "status": groups.column("status"),
                "day": groups.day("created_at", call.zone),
            },
            known={"source": "source"},
        ),
    )


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
