"""What each request of the SDK API does, from a checked body to the response."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.db import transaction

from audit import record
from customers import companies, conversations, deletion, events, tickets
from customers.identification import (
    currencies,
    field_values,
    join_undo,
    joins,
    leads,
    merges,
    profiles,
    traits,
)
from customers.identification.field_values import InvalidField
from customers.identification.trait_names import IgnoredField
from customers.identification.traits import Traits, WriteResult
from customers.lookup_keys import email_key
from customers.privacy import erasure, subject, suppression
from customers.privacy.erasure import PrivacyActor
from customers.privacy.subject import UnknownCustomer
from customers.privacy.suppression import ErasedNames
from ingestion import identities
from ingestion.callers import SdkCaller
from ingestion.clocks import SenderClock, read_clock
from rest.errors import field_error
from workspace.models import AuthorKind, Erasure, Join, TicketPriority, TicketStatus
from workspace.models.privacy import ErasedNameKind

# The members of a request body, checked by its serializer.
Sent: TypeAlias = Mapping[str, Any]

WIDGET: Final = "widget"
# What a page may not say of a new ticket.
SERVERS_OF_TICKETS: Final = (
    *("status", "inbox", "external_id", "assignee", "created_at", "resolved_at"),
)
# Who is merged, and into whom.
MERGED: Final = ("from_id", "into_id")
NOTHING: Final = "Nothing has this id: it was deleted before, or never stored."
REFUSED: Final = "This is refused. Ask the owner of this site."
KEPT: Final = "The address is kept with the ticket."
# Fields that an answer names; `ignored_count` is the number of all.
MAX_IGNORED: Final = 100


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a request deletes, and the part of its address that names it."""

    noun: str
    field: str
    delete: Callable[[UUID, str], str]


COMPANY: Final = Deletion("company", "company_id", deletion.delete_company)
TICKET: Final = Deletion("ticket", "ticket_id", deletion.delete_ticket)
TRANSCRIPT: Final = Deletion("transcript", "session_id", deletion.delete_conversation)
EVENT: Final = Deletion("event", "event_id", deletion.delete_event)


def identify(caller: SdkCaller, sent: Sent) -> Sent:
    named = identities.user_id(caller, sent.get("user_id", ""))
    ignored = _lift_erased(caller, sent, [named], _list_addresses(sent))
    at = read_clock(caller, sent.get("sent_at")).correct(sent.get("timestamp"), "timestamp")
    if not named:
        with _refuse_erased(caller, email="traits.email"):
            return _capture_lead(caller, sent, ignored)
    profile = identities.profile(caller, named, sent, at)
    is_proven = identities.proves_email(caller, profile)
    write = profiles.identify_verified if is_proven else profiles.identify
    with _refuse_erased(caller, email="traits.email"):
        identified = write(caller.organization.pk, profile, identities.make_joined_by(caller))
    joined = _name_joins(identified.joins)
    return _make_report(identified.result, ignored, id=identified.customer.pk, **joined)


def update_users(caller: SdkCaller, sent: Sent) -> Sent:
    clock = read_clock(caller, sent.get("sent_at"))
    users = field_values.parse_each(partial(_update, caller, clock), enumerate(sent["users"]))
    addresses = [str(one.traits.columns.get("email") or "") for one in users]
    _lift_erased(caller, sent, [one.external_id for one in users], addresses)
    updated = profiles.update(caller.organization.pk, users, identities.make_joined_by(caller))
    counts = {"updated": updated.changed, "created": updated.added}
    return _make_answer(updated.ignored, **counts, **_name_joins(updated.joins))


def add_alias(caller: SdkCaller, sent: Sent) -> Sent:
    organization_id, by = caller.organization.pk, identities.make_joined_by(caller)
    with _refuse_erased(caller, previous_id=sent["previous_id"]):
        join = merges.add_alias(organization_id, sent["previous_id"], sent["user_id"], by)
    named = profiles.ids_of(organization_id, [sent["user_id"]])
    return _make_answer(id=named[sent["user_id"]], **_name_joins([join] if join else []))


def merge_customers(caller: SdkCaller, sent: Sent) -> Sent:
    organization_id = caller.organization.pk
    merged, into = (merges.get_customer(organization_id, sent[name], name) for name in MERGED)
    # A request that is sent again changes nothing.
    if merged == into:
        return _make_answer(id=into.pk)
    join = merges.merge(organization_id, into.pk, merged.pk, identities.make_joined_by(caller))
    return _make_answer(id=into.pk, **_name_joins([join]))


def undo_join(caller: SdkCaller, join_id: str) -> Sent:
    join = join_undo.undo(caller.organization.pk, join_id, caller.credential)
    return _make_answer(id=join.customer_id, **_name_joins([join]))


def upsert_company(caller: SdkCaller, sent: Sent) -> Sent:
    named = sent["company_id"]
    at = read_clock(caller, sent.get("sent_at")).correct(sent.get("timestamp"), "timestamp")
    if not caller.is_server and caller.is_verifying:
        identities.company_id(caller, named)
    typed = traits.parse_company_traits(sent.get("traits", {}))
    written = identities.restrict(caller, typed, traits.COMPANY)
    written = currencies.check_traits(written, caller.organization.currency)
    company, result = companies.upsert(caller.organization.pk, named, written, at)
    return _make_report(result, id=company.pk)


@transaction.atomic
def create_ticket(caller: SdkCaller, sent: Sent) -> Sent:
    named = identities.user_id(caller, sent.get("user_id", ""))
    address = sent.get("email", "")
    if not (named or address):
        raise InvalidField("user_id", "Send user_id or email.")
    ignored = _lift_erased(caller, sent, [named], [address])
    with _refuse_erased(caller):
        suppression.check(caller.organization.pk, suppression.make_names(emails=[address]))
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
    ignored += [
        IgnoredField(name, traits.SERVERS_ONLY)
        for name in SERVERS_OF_TICKETS
        if name in sent and not caller.is_server
    ]
    refused = {one.field for one in ignored}
    said = {name: value for name, value in sent.items() if name not in refused}
    proven = identities.email(caller, address)
    new = tickets.NewTicket(
        subject=sent["subject"],
        email=contact.get("email", ""),
        is_email_proven=bool(address) and email_key(proven) == email_key(address),
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
    ignored = _lift_erased(caller, sent, [one.user_id for one in batch])
    stored = events.record(caller.organization.pk, batch, identities.make_joined_by(caller))
    ignored += stored.ignored
    ignored += [
        IgnoredField(f"events[{place}].user_id", _describe_erased(caller, until))
        for place, until in stored.erased.items()
    ]
    return _make_answer(ignored, stored=stored.stored, **_name_joins(stored.joins))


@transaction.atomic
def upsert_transcript(caller: SdkCaller, sent: Sent) -> Sent:
    named = sent.get("user_id", "")
    organization_id = caller.organization.pk
    clock = read_clock(caller, sent.get("sent_at"))
    details = {name: sent[name] for name in conversations.DETAILS if name in sent}
    times = {
        name: clock.correct(sent[name], name) for name in ("started_at", "ended_at") if name in sent
    }
    _lift_erased(caller, sent, [named])
    with _refuse_erased(caller):
        customer = profiles.lock_customers(organization_id, [named])[named] if named else None
    # Before the conversation is locked, as everywhere: the customer first.
    by = identities.make_joined_by(caller)
    joined = joins.join_session(customer, sent["session_id"], by) if customer else None
    stored = conversations.upsert(
        organization_id,
        conversations.Transcript(
            session_id=sent["session_id"],
            customer=customer,
            agent_id=sent.get("agent_id"),
            offset=sent.get("offset", 0),
            is_complete=sent.get("complete", False),
            messages=field_values.parse_each(
                partial(_message, clock), enumerate(sent.get("messages", ()))
            ),
            ratings=field_values.parse_each(
                partial(_rating, clock), enumerate(sent.get("ratings", ()))
            ),
            **{**details, **times},
        ),
    )
    facts = {"transcript_id": stored.id, "messages": stored.messages}
    return _make_answer(stored.ignored, **facts, **_name_joins([joined] if joined else []))


def _name_joins(made: Sequence[Join]) -> Sent:
    """Returns what became a customer's, as a member of an answer: 100 joins at most."""
    named = [
        {"id": one.pk, "rule": one.rule, "rows": joins.count_rows(one)}
        for one in made[:MAX_IGNORED]
    ]
    return {"joins": named} if named else {}


def erase_customer(caller: SdkCaller, named: str, address: str) -> Sent:
    """Begins the erasure of a customer, or says how far it is."""
    organization_id = caller.organization.pk
    actor = PrivacyActor(f"server key {caller.credential}", address=address)
    found = _find_erasure(organization_id, named)
    customer = None if found else subject.find_named(organization_id, named)
    if customer is not None:
        # A concurrent request may have begun it.
        with suppress(UnknownCustomer), transaction.atomic():
            erasure.finish_later(erasure.begin(organization_id, customer.pk, actor))
        found = subject.find_erasure(organization_id, customer.pk)
    if found is not None:
        state = "erased" if found.finished_at else "under_way"
        return _make_answer(state=state, id=found.customer_id, erased=found.counts)
    if suppression.find(organization_id, suppression.make_names([named])):
        return _make_answer(state="erased", id=None, erased={})
    return _make_answer([IgnoredField("user_id", NOTHING)], state="unknown", id=None, erased={})


def _find_erasure(organization_id: UUID, named: str) -> Erasure | None:
    """Returns the erasure of the customer with this id, unless a customer has it now."""
    if subject.find_named(organization_id, named) is not None:
        return None
    return subject.find_erasure(organization_id, named)


def delete_row(caller: SdkCaller, deletion: Deletion, named: str, address: str) -> Sent:
    """Deletes a row, and records that."""
    key = deletion.delete(caller.organization.pk, named)
    if not key:
        return _make_answer([IgnoredField(deletion.field, NOTHING)], deleted=0)
    record.security_event(
        "data_deleted",
        address=address,
        subject=key,
        organization_id=str(caller.organization.pk),
        detail=f"{deletion.noun}, by server key {caller.credential}",
    )
    return _make_answer(deleted=1)


def _make_answer(ignored: Sequence[IgnoredField] = (), **facts: Any) -> Sent:
    """Returns the body of an answer, which says what was not stored and why."""
    named = [{"field": one.field, "reason": one.reason} for one in ignored[:MAX_IGNORED]]
    return {"success": True, **facts, "ignored": named, "ignored_count": len(ignored)}


def _make_report(result: WriteResult, ignored: Sequence[IgnoredField] = (), **facts: Any) -> Sent:
    """Returns the body of an answer that also says what was stored."""
    return _make_answer([*ignored, *result.ignored], **facts, stored=list(result.stored))


def _lift_erased(
    caller: SdkCaller, sent: Sent, user_ids: Sequence[str], emails: Sequence[str] = ()
) -> list[IgnoredField]:
    """Accepts the people of a request again if a server says so; returns what was ignored."""
    if not sent.get("allow_erased"):
        return []
    if not caller.is_server:
        return [IgnoredField("allow_erased", traits.SERVERS_ONLY)]
    suppression.lift(caller.organization.pk, suppression.make_names(user_ids, emails))
    return []


@contextmanager
def _refuse_erased(
    caller: SdkCaller, email: str = "email", previous_id: str = ""
) -> Iterator[None]:
    """Names the field of a person who was erased; `email` is that of the address.

    `previous_id` is the value of the field with this name, if the request has one.
    """
    try:
        yield
    except ErasedNames as erased:
        (kind, value), until = next(iter(erased.until.items()))
        named = "previous_id" if value == previous_id else "user_id"
        place = email if kind == ErasedNameKind.EMAIL else named
        reason = _describe_erased(caller, until)
        if caller.is_trusted and not previous_id:
            reason = f"{reason} A server can send allow_erased."
        raise field_error(409, place, reason) from None


def _describe_erased(caller: SdkCaller, until: datetime) -> str:
    """Returns why a name is refused. Who proves no identity does not learn who was a customer."""
    return suppression.describe(until) if caller.is_trusted else REFUSED


def _list_addresses(sent: Sent) -> list[str]:
    if not sent.get("allow_erased"):
        return []
    return [str(traits.parse_customer_traits(sent.get("traits", {})).columns.get("email") or "")]


def _reason_for_no_customer(caller: SdkCaller) -> str:
    if caller.is_server:
        return f"{KEPT} Not exactly one customer has it: the ticket belongs to none."
    return f"{KEPT} A page cannot prove it: the ticket belongs to no customer."


def _capture_lead(caller: SdkCaller, sent: Sent, ignored: Sequence[IgnoredField]) -> Sent:
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
    return _make_report(WriteResult(stored, typed.ignored), ignored, id=lead.pk)


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


def _update(caller: SdkCaller, clock: SenderClock, item: tuple[int, Sent]) -> profiles.Profile:
    place, sent = item
    try:
        parsed = profiles.parse(
            sent["user_id"],
            sent.get("traits", {}),
            sent.get("context", {}),
            sent.get("company_id"),
            clock.correct(sent.get("timestamp"), "timestamp"),
        )
        typed = currencies.check_traits(parsed.traits, caller.organization.currency)
        return replace(parsed, traits=typed)
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
