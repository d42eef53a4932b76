"""What each request of the SDK API does, from a checked body to the response."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from django.db import transaction

from customers import companies, conversations, events, tickets
from customers.identification import field_values, leads, profiles, traits
from customers.identification.field_values import InvalidField
from customers.identification.trait_names import IgnoredField
from customers.identification.traits import Traits, WriteResult
from customers.lookup_keys import email_key
from ingestion import identities
from ingestion.callers import SdkCaller
from ingestion.clocks import SenderClock, read_clock
from workspace.models import AuthorKind, TicketPriority, TicketStatus

# The members of a request body, checked by its serializer.
Sent: TypeAlias = Mapping[str, Any]

WIDGET: Final = "widget"
# What a page may not say of a new ticket.
SERVERS_OF_TICKETS: Final = (
    *("status", "inbox", "external_id", "assignee", "created_at", "resolved_at"),
)
KEPT: Final = "The address is kept with the ticket."
# Fields that an answer names; `ignored_count` is the number of all.
MAX_IGNORED: Final = 100


def identify(caller: SdkCaller, sent: Sent) -> Sent:
    named = identities.user_id(caller, sent.get("user_id", ""))
    at = read_clock(caller, sent.get("sent_at")).correct(sent.get("timestamp"), "timestamp")
    if not named:
        return _capture_lead(caller, sent)
    profile = identities.profile(caller, named, sent, at)
    write = profiles.identify_verified if caller.is_trusted else profiles.identify
    identified = write(caller.organization.pk, profile)
    return _make_report(identified.result, id=identified.customer.pk)


def update_users(caller: SdkCaller, sent: Sent) -> Sent:
    clock = read_clock(caller, sent.get("sent_at"))
    updated = profiles.update(
        caller.organization.pk,
        field_values.parse_each(partial(_update, clock), enumerate(sent["users"])),
    )
    return _make_answer(updated.ignored, updated=updated.changed, created=updated.added)


def upsert_company(caller: SdkCaller, sent: Sent) -> Sent:
    named = sent["company_id"]
    at = read_clock(caller, sent.get("sent_at")).correct(sent.get("timestamp"), "timestamp")
    if not caller.is_server and caller.is_verifying:
        identities.company_id(caller, named)
    typed = traits.parse_company_traits(sent.get("traits", {}))
    written = identities.restrict(caller, typed, traits.COMPANY)
    company, result = companies.upsert(caller.organization.pk, named, written, at)
    return _make_report(result, id=company.pk)


def create_ticket(caller: SdkCaller, sent: Sent) -> Sent:
    named = identities.user_id(caller, sent.get("user_id", ""))
    address = sent.get("email", "")
    if not (named or address):
        raise InvalidField("user_id", "Send user_id or email.")
    customer = profiles.author(
        caller.organization.pk,
        external_id=named,
        # An unverified address does not make a customer the author.
        email=identities.email(caller, address),
    )
    author = (customer.name or customer.email) if customer else address
    text = sent.get("message", "")
    is_known = customer is not None and email_key(customer.email) == email_key(address)
    contact = {} if is_known or not address else {"email": address}
    clock = read_clock(caller)
    ignored = [
        IgnoredField(name, traits.SERVERS_ONLY)
        for name in SERVERS_OF_TICKETS
        if name in sent and not caller.is_server
    ]
    refused = {one.field for one in ignored}
    said = {name: value for name, value in sent.items() if name not in refused}
    new = tickets.NewTicket(
        subject=sent["subject"],
        message=tickets.NewTicketMessage(text, author_name=author) if text else None,
        customer=customer,
        source=sent.get("source") or ("api" if caller.is_server else WIDGET),
        metadata={**contact, **sent.get("metadata", {})},
        change=_ticket_change(clock, said),
        created_at=clock.correct(said.get("created_at"), "created_at"),
    )
    ticket = tickets.create(caller.organization.pk, new)
    if customer is None:
        ignored.append(IgnoredField("email", _reason_for_no_customer(caller)))
    return _make_answer(ignored, ticket_id=ticket.pk, customer_id=customer.pk if customer else None)


def change_ticket(caller: SdkCaller, ticket_id: str, sent: Sent) -> Sent:
    change = _ticket_change(read_clock(caller), sent)
    changed = tickets.change(caller.organization.pk, ticket_id, change)
    return _make_answer(changed=["assignee" if one == "assignee_id" else one for one in changed])


def reply_to_ticket(caller: SdkCaller, ticket_id: str, sent: Sent) -> Sent:
    message = tickets.NewTicketMessage(
        text=sent["message"],
        author_kind=AuthorKind(sent.get("author", AuthorKind.CUSTOMER)),
        author_name=sent.get("author_name", ""),
        is_internal=sent.get("internal", False),
    )
    written = tickets.reply(caller.organization.pk, ticket_id, message)
    return _make_answer(ticket_id=written.ticket_id, position=written.position)


def record_events(caller: SdkCaller, sent: Sent) -> Sent:
    clock = read_clock(caller, sent.get("sent_at"))
    batch = field_values.parse_each(partial(_event, caller, clock), enumerate(sent["events"]))
    stored = events.record(caller.organization.pk, batch)
    return _make_answer(stored.ignored, stored=stored.stored)


@transaction.atomic
def upsert_transcript(caller: SdkCaller, sent: Sent) -> Sent:
    named = sent.get("user_id", "")
    organization_id = caller.organization.pk
    clock = read_clock(caller, sent.get("sent_at"))
    details = {name: sent[name] for name in conversations.DETAILS if name in sent}
    times = {
        name: clock.correct(sent[name], name) for name in ("started_at", "ended_at") if name in sent
    }
    stored = conversations.upsert(
        organization_id,
        conversations.Transcript(
            session_id=sent["session_id"],
            customer=profiles.author(organization_id, external_id=named, email=""),
            agent_id=sent.get("agent_id"),
            offset=sent.get("offset", 0),
            messages=field_values.parse_each(
                partial(_message, clock), enumerate(sent.get("messages", ()))
            ),
            ratings=field_values.parse_each(
                partial(_rating, clock), enumerate(sent.get("ratings", ()))
            ),
            **{**details, **times},
        ),
    )
    return _make_answer(stored.ignored, transcript_id=stored.id, messages=stored.messages)


def _make_answer(ignored: Sequence[IgnoredField] = (), **facts: Any) -> Sent:
    """Returns the body of an answer, which says what was not stored and why."""
    named = [{"field": one.field, "reason": one.reason} for one in ignored[:MAX_IGNORED]]
    return {"success": True, **facts, "ignored": named, "ignored_count": len(ignored)}


def _make_report(result: WriteResult, **facts: Any) -> Sent:
    """Returns the body of an answer that also says what was stored."""
    return _make_answer(result.ignored, **facts, stored=list(result.stored))


def _reason_for_no_customer(caller: SdkCaller) -> str:
    if caller.is_server:
        return f"{KEPT} Not exactly one customer has it: the ticket belongs to none."
    return f"{KEPT} A page cannot prove it: the ticket belongs to no customer."


def _capture_lead(caller: SdkCaller, sent: Sent) -> Sent:
    parsed = traits.parse_customer_traits(sent.get("traits", {}))
    typed = identities.restrict(caller, parsed, traits.CUSTOMER)
    address = typed.columns.get("email", "")
    if not address:
        raise InvalidField("user_id", "Send user_id, or the trait email for a lead.")
    fields = _lead_fields(typed, sent["traits"])
    lead = leads.capture(
        caller.organization.pk,
        email=address,
        name=typed.columns.get("name", ""),
        fields=fields,
        source="api" if caller.is_server else WIDGET,
    )
    names = [name for name in ("email", "name") if name in typed.columns]
    stored = (*names, *(f"fields.{name}" for name in fields))
    return _make_report(WriteResult(stored, typed.ignored), id=lead.pk)


def _lead_fields(typed: Traits, sent: Sent) -> Sent:
    # What is sent under the name of another product is stored as text, unless it is empty.
    columns = {
        name: sent.get(name, None if value in {None, ""} else str(value))
        for name, value in typed.columns.items()
    }
    fields = {
        name: value
        for name, value in {**columns, **typed.custom}.items()
        if name not in {"name", "email"} and value is not None
    }
    if field_values.json_bytes(fields) > traits.MAX_USER_BYTES:
        raise InvalidField("traits", f"Send at most {traits.MAX_USER_BYTES} bytes of traits.")
    return fields


def _update(clock: SenderClock, item: tuple[int, Sent]) -> profiles.Profile:
    place, sent = item
    try:
        return profiles.parse(
            sent["user_id"],
            sent.get("traits", {}),
            sent.get("context", {}),
            sent.get("company_id"),
            clock.correct(sent.get("timestamp"), "timestamp"),
        )
    except InvalidField as problem:
        raise problem.with_prefix(f"users[{place}]") from None


def _ticket_change(clock: SenderClock, sent: Sent) -> tickets.TicketChange:
    named = {name: sent[name] for name in (*tickets.SAID, "assignee") if name in sent}
    kinds = {"status": TicketStatus, "priority": TicketPriority}
    typed = {name: kinds[name](one) if name in kinds else one for name, one in named.items()}
    at = clock.correct(sent.get("resolved_at"), "resolved_at")
    return tickets.TicketChange(**{**typed, "resolved_at": at})


def _event(caller: SdkCaller, clock: SenderClock, item: tuple[int, Sent]) -> events.NewEvent:
    place, sent = item
    others = {name: value for name, value in sent.items() if name not in {"user_id", "id", "at"}}
    named = identities.user_id(caller, sent.get("user_id", ""), f"events[{place}].user_id")
    key = sent.get("id", "")
    return events.NewEvent(
        user_id=named,
        key=key if caller.is_server else events.page_key(key),
        at=clock.correct(sent.get("at"), f"events[{place}].at"),
        **others,
    )


def _message(clock: SenderClock, item: tuple[int, Sent]) -> conversations.NewConversationMessage:
    place, sent = item
    return conversations.NewConversationMessage(
        text=sent["text"],
        author_kind=AuthorKind(sent["author"]),
        author_name=sent.get("author_name", ""),
        at=clock.correct(sent.get("at"), f"messages[{place}].at"),
        sentiment=sent.get("sentiment"),
    )


def _rating(clock: SenderClock, item: tuple[int, Sent]) -> conversations.NewRating:
    place, sent = item
    at = clock.correct(sent.get("at"), f"ratings[{place}].at")
    return conversations.NewRating(**{**sent, "at": at})
