"""What each request of the SDK API does, from a checked body to the response."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from customers import companies, conversations, events, tickets
from customers.identification import field_values, leads, profiles, traits
from customers.identification.field_values import InvalidField
from ingestion import identities
from ingestion.callers import SdkCaller
from workspace.models import AuthorKind, TicketPriority

# The members of a request body, checked by its serializer.
Sent: TypeAlias = Mapping[str, Any]

DONE: Final = {"success": True}
WIDGET: Final = "widget"


def identify(caller: SdkCaller, sent: Sent) -> Sent:
    named = identities.user_id(caller, sent.get("user_id", ""))
    if not named:
        return _capture_lead(caller, sent)
    profile = identities.profile(caller, named, sent)
    write = profiles.identify_verified if caller.is_trusted else profiles.identify
    return DONE | {"id": write(caller.organization.pk, profile).pk}


def update_users(caller: SdkCaller, sent: Sent) -> Sent:
    updated = profiles.update(
        caller.organization.pk,
        field_values.parse_each(_update, enumerate(sent["users"])),
    )
    return DONE | {"updated": updated.changed, "created": updated.added}


def upsert_company(caller: SdkCaller, sent: Sent) -> Sent:
    named = sent["company_id"]
    if not caller.is_server and caller.is_verifying:
        identities.company_id(caller, named)
    typed = traits.parse_company_traits(sent.get("traits", {}))
    return DONE | {"id": companies.upsert(caller.organization.pk, named, typed).pk}


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
    contact = {} if customer or not address else {"email": address}
    new = tickets.NewTicket(
        subject=sent["subject"],
        message=tickets.NewTicketMessage(text, author_name=author) if text else None,
        customer=customer,
        source=sent.get("source") or ("api" if caller.is_server else WIDGET),
        category=sent.get("category", ""),
        priority=TicketPriority(sent.get("priority", TicketPriority.NORMAL)),
        metadata={**contact, **sent.get("metadata", {})},
    )
    return DONE | {"ticket_id": tickets.create(caller.organization.pk, new).pk}


def reply_to_ticket(caller: SdkCaller, ticket_id: str, sent: Sent) -> Sent:
    message = tickets.NewTicketMessage(
        text=sent["message"],
        author_kind=AuthorKind(sent.get("author", AuthorKind.CUSTOMER)),
        author_name=sent.get("author_name", ""),
        is_internal=sent.get("internal", False),
    )
    written = tickets.reply(caller.organization.pk, ticket_id, message)
    return DONE | {"ticket_id": ticket_id, "position": written.position}


def record_events(caller: SdkCaller, sent: Sent) -> Sent:
    batch = [_event(caller, place, one) for place, one in enumerate(sent["events"])]
    events.record(caller.organization.pk, batch)
    return DONE


def upsert_transcript(caller: SdkCaller, sent: Sent) -> Sent:
    named = sent.get("user_id", "")
    organization_id = caller.organization.pk
    details = {name: sent[name] for name in conversations.DETAILS if name in sent}
    stored = conversations.upsert(
        organization_id,
        conversations.Transcript(
            session_id=sent["session_id"],
            customer=profiles.author(organization_id, external_id=named, email=""),
            agent_id=sent.get("agent_id"),
            offset=sent.get("offset", 0),
            messages=[_message(one) for one in sent.get("messages", ())],
            ratings=[conversations.NewRating(**one) for one in sent.get("ratings", ())],
            **details,
        ),
    )
    return DONE | {"transcript_id": stored.id, "messages": stored.messages}


def _capture_lead(caller: SdkCaller, sent: Sent) -> Sent:
    typed = traits.parse_customer_traits(sent.get("traits", {}))
    address = typed.columns.get("email", "")
    if not address:
        raise InvalidField("user_id", "Send user_id, or the trait email for a lead.")
    lead = leads.capture(
        caller.organization.pk,
        email=address,
        name=typed.columns.get("name", ""),
        fields=_lead_fields(sent["traits"]),
        source="api" if caller.is_server else WIDGET,
    )
    return DONE | {"id": lead.pk}


def _lead_fields(sent: Sent) -> Sent:
    fields = {
        name: value
        for name, value in sent.items()
        if name not in {"name", "email"} and value is not None
    }
    if field_values.json_bytes(fields) > traits.MAX_USER_BYTES:
        raise InvalidField("traits", f"Send at most {traits.MAX_USER_BYTES} bytes of traits.")
    return fields


def _update(item: tuple[int, Sent]) -> profiles.Profile:
    place, sent = item
    try:
        return profiles.parse(
            sent["user_id"], sent.get("traits", {}), sent.get("context", {}), sent.get("company_id")
        )
    except InvalidField as problem:
        raise problem.with_prefix(f"users[{place}]") from None


def _event(caller: SdkCaller, place: int, sent: Sent) -> events.NewEvent:
    others = {name: value for name, value in sent.items() if name not in {"user_id", "id"}}
    named = identities.user_id(caller, sent.get("user_id", ""), f"events[{place}].user_id")
    return events.NewEvent(user_id=named, key=sent.get("id", ""), **others)


def _message(sent: Sent) -> conversations.NewConversationMessage:
    return conversations.NewConversationMessage(
        text=sent["text"],
        author_kind=AuthorKind(sent["author"]),
        author_name=sent.get("author_name", ""),
        at=sent.get("at"),
        sentiment=sent.get("sentiment"),
    )
