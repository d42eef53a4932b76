"""The request and response bodies of the SDK API, from which its contract is generated.

They check types and lengths. What a value means is checked in `customers`.
"""

from typing import Final

from rest_framework import serializers

from customers import conversations, events, tickets
from customers.identification import profiles
from customers.identification.traits import (
    context_entries,
    parse_company_traits,
    parse_customer_traits,
)
from ingestion.fields import (
    Assignee,
    Email,
    Fields,
    Flag,
    Percentage,
    Position,
    Sentiment,
    Text,
    Time,
    Whole,
    identifier,
)
from rest.serializers import LateCheckedField, StrictSerializer
from workspace.models import (
    AuthorKind,
    ConversationOutcome,
    GivenBy,
    JoinRule,
    Mode,
    Mood,
    Rating,
    TicketPriority,
    TicketStatus,
)
from workspace.models.support import MAX_SUBJECT

MAX_NAME: Final = 200
TIMESTAMP: Final = "When this was true; now if missing. A newer message is never overwritten."
ASSIGNEE: Final = "The address of a member of the organization; empty for nobody."
JOINS: Final = "What became the customer's with this request; 100 at most."
SENT_AT: Final = "The sender's clock at sending: it corrects the other times."


ALLOW_ERASED: Final = "Store people again who were erased; for servers."


class Identify(StrictSerializer):
    """A customer who is using the app now; without `user_id` and token, a lead with an email."""

    user_id = identifier(required=False, help_text="The customer's id in your own system.")
    company_id = identifier(
        required=False, allow_blank=True, help_text="The company's id; empty for no company."
    )
    session_id = identifier(
        required=False, help_text="A session in which the customer was a visitor: it is joined."
    )
    anonymous_id = identifier(required=False, help_text="Another session of the same visitor.")
    traits = LateCheckedField(parse_customer_traits, required=False, help_text="See Traits.")
    context = LateCheckedField(
        context_entries, required=False, help_text="Entries {label, type, value} by key."
    )
    timestamp = Time(required=False, help_text=TIMESTAMP)
    sent_at = Time(required=False, help_text=SENT_AT)
    allow_erased = Flag(required=False, help_text=ALLOW_ERASED)


class UserUpdate(StrictSerializer):
    """A customer to change or to add."""

    user_id = identifier(help_text="The customer's id in your own system.")
    company_id = identifier(required=False, allow_blank=True, help_text="As in identify.")
    traits = LateCheckedField(parse_customer_traits, required=False, help_text="See Traits.")
    context = LateCheckedField(context_entries, required=False, help_text="As in identify.")
    timestamp = Time(required=False, help_text=TIMESTAMP)


class UsersUpdate(StrictSerializer):
    """Customers to change or to add; all or none are stored."""

    users = serializers.ListField(child=UserUpdate(), min_length=1, max_length=profiles.MAX_UPDATES)
    sent_at = Time(required=False, help_text=SENT_AT)
    allow_erased = Flag(required=False, help_text=ALLOW_ERASED)


class Alias(StrictSerializer):
    """Two ids of one person. An id that no customer has is added."""

    previous_id = identifier(help_text="The id that names the customer with user_id from now on.")
    user_id = identifier(help_text="The id that stays.")


class CustomerMerge(StrictSerializer):
    """Two customers who are one person, each by its id in Halo or in your own system."""

    from_id = identifier(help_text="The customer who is merged.")
    into_id = identifier(help_text="The customer who stays.")


class CompanyUpsert(StrictSerializer):
    """A company to change or to add."""

    company_id = identifier(help_text="The company's id in your own system.")
    traits = LateCheckedField(parse_company_traits, required=False, help_text="See Traits.")
    timestamp = Time(required=False, help_text=TIMESTAMP)
    sent_at = Time(required=False, help_text=SENT_AT)


class TicketCreate(StrictSerializer):
    """A ticket, with the customer's first message."""

    user_id = identifier(required=False, help_text="The customer; or send email.")
    email = Email(required=False, help_text="The customer's address; or send user_id.")
    subject = Text(max_length=MAX_SUBJECT)
    message = Text(required=False, allow_blank=True, max_length=tickets.MAX_MESSAGE)
    source = Text(required=False, max_length=50, help_text="Where it comes from; api if missing.")
    category = Text(required=False, allow_blank=True, max_length=100)
    priority = serializers.ChoiceField(TicketPriority.choices, required=False)
    metadata = Fields(tickets.MAX_METADATA_BYTES, required=False, help_text="50,000 bytes.")
    status = serializers.ChoiceField(TicketStatus.choices, required=False)
    inbox = Text(required=False, allow_blank=True, max_length=100)
    assignee = Assignee(required=False, help_text=ASSIGNEE)
    external_id = identifier(required=False, help_text="The ticket's id in your own system.")
    allow_erased = Flag(required=False, help_text=ALLOW_ERASED)
    created_at = Time(required=False, help_text="When it was written; now if missing.")
    resolved_at = Time(required=False, help_text="With the status resolved; now if missing.")


class TicketUpdate(StrictSerializer):
    """A change of a ticket; what is missing stays as it is."""

    subject = Text(required=False, max_length=MAX_SUBJECT)
    status = serializers.ChoiceField(TicketStatus.choices, required=False)
    priority = serializers.ChoiceField(TicketPriority.choices, required=False)
    category = Text(required=False, allow_blank=True, max_length=100)
    inbox = Text(required=False, allow_blank=True, max_length=100)
    assignee = Assignee(required=False, help_text=ASSIGNEE)
    external_id = identifier(required=False, help_text="The ticket's id in your own system.")
    resolved_at = Time(required=False, help_text="With the status resolved; now if missing.")


class TicketReply(StrictSerializer):
    """A message in a ticket."""

    message = Text(max_length=tickets.MAX_MESSAGE)
    author = serializers.ChoiceField(AuthorKind.choices, required=False)
    author_name = Text(required=False, allow_blank=True, max_length=MAX_NAME)
    internal = Flag(required=False, help_text="A note that the customer never sees.")


class EventSerializer(StrictSerializer):
    """Something that a person did."""

    event_type = Text(
        max_length=100, help_text="click, page_view, form_submit, error, or your own."
    )
    id = Text(
        required=False,
        max_length=100,
        help_text="Your id; the same event is stored once, another one with this id is 409.",
    )
    at = Time(required=False, help_text="When it happened; now if missing.")
    user_id = identifier(required=False, help_text="The customer; a visitor if missing.")
    session_id = identifier(required=False, allow_blank=True)
    page_url = Text(required=False, allow_blank=True, max_length=2048)
    element_selector = Text(required=False, allow_blank=True, max_length=500)
    metadata = Fields(events.MAX_METADATA_BYTES, required=False, help_text="10,000 bytes.")


class EventBatch(StrictSerializer):
    """Events; all or none are stored. The keys are for sendBeacon, which sends no headers."""

    events = serializers.ListField(
        child=EventSerializer(), min_length=1, max_length=events.MAX_BATCH
    )
    sent_at = Time(required=False, help_text=SENT_AT)
    allow_erased = Flag(required=False, help_text=ALLOW_ERASED)
    api_key = Text(
        required=False, max_length=200, help_text="The widget key, instead of X-Api-Key."
    )
    user_token = Text(
        required=False, max_length=8192, help_text="The identity token, instead of Authorization."
    )


class TranscriptMessage(StrictSerializer):
    """A message of a conversation."""

    author = serializers.ChoiceField(AuthorKind.choices)
    text = Text(allow_blank=True, max_length=conversations.MAX_MESSAGE)
    author_name = Text(required=False, allow_blank=True, max_length=MAX_NAME)
    at = Time(
        required=False, help_text="When it was written; if missing, now or when it was sent first."
    )
    sentiment = Sentiment(required=False, help_text="From -1 (bad) to 1 (good).")


class TranscriptRating(StrictSerializer):
    """A rating of one message."""

    position = Position(help_text="The number of the message, from 1.")
    rating = serializers.ChoiceField(Rating.choices)
    comment = Text(required=False, allow_blank=True, max_length=conversations.MAX_MESSAGE)
    given_by = serializers.ChoiceField(GivenBy.choices, required=False)
    at = Time(required=False, help_text="When it was given; with the message if missing.")


class TranscriptUpsert(StrictSerializer):
    """A conversation, or a part of it."""

    session_id = identifier(help_text="The conversation; sending it again changes it.")
    user_id = identifier(required=False, help_text="The customer; set once.")
    agent_id = serializers.UUIDField(required=False, help_text="The AI agent that answered.")
    mode = serializers.ChoiceField(Mode.choices, required=False)
    mood = serializers.ChoiceField(Mood.choices, required=False)
    outcome = serializers.ChoiceField(ConversationOutcome.choices, required=False)
    confidence = Percentage(required=False)
    score = Percentage(required=False)
    started_at = Time(
        required=False,
        help_text="Set once; if missing, the earliest time of messages and ended_at.",
    )
    ended_at = Time(required=False)
    sent_at = Time(required=False, help_text=SENT_AT)
    allow_erased = Flag(required=False, help_text=ALLOW_ERASED)
    offset = Whole(required=False, help_text="How many messages precede these; 0 if missing.")
    complete = Flag(
        required=False, help_text="These are the last messages: stored ones after them are deleted."
    )
    messages = serializers.ListField(
        child=TranscriptMessage(), required=False, max_length=conversations.MAX_MESSAGES
    )
    ratings = serializers.ListField(
        child=TranscriptRating(), required=False, max_length=conversations.MAX_MESSAGES
    )


class IgnoredFieldSerializer(serializers.Serializer):
    """A field that was not stored."""

    field = serializers.CharField(help_text="Such as traits.mrr or events[3].")
    reason = serializers.CharField()


class Done(serializers.Serializer):
    """The request was stored, but for what `ignored` names: 100 at most of `ignored_count`."""

    success = serializers.BooleanField()
    ignored = IgnoredFieldSerializer(many=True)
    ignored_count = serializers.IntegerField()


class JoinSerializer(serializers.Serializer):
    """What belonged to no customer, or to another id, and is the customer's now."""

    id = serializers.CharField(help_text="By which the join can be undone.")
    rule = serializers.ChoiceField(JoinRule.choices)
    rows = serializers.DictField(
        child=serializers.IntegerField(), help_text="All that it joined so far, such as events: 3."
    )


class Identified(Done):
    """`id` is the customer's id in Halo, or the lead's or the company's."""

    id = serializers.CharField()
    stored = serializers.ListField(
        child=serializers.CharField(), help_text="Such as name, company_id or custom_fields.seats."
    )
    joins = JoinSerializer(many=True, required=False, help_text=JOINS)


class CustomersMerged(Done):
    """`id` is the customer who stays. `joins` is missing if both were one already."""

    id = serializers.CharField()
    joins = JoinSerializer(many=True, required=False, help_text=JOINS)


class JoinUndone(Done):
    """The customer whose rows were given back, and how many rows the join had."""

    id = serializers.CharField()
    joins = JoinSerializer(many=True)


class EventsRecorded(Done):
    """How many events were stored; those that were stored already are in `ignored`."""

    stored = serializers.IntegerField()
    joins = JoinSerializer(many=True, required=False, help_text=JOINS)


class UsersUpdated(Done):
    """How many customers existed, and how many were added."""

    updated = serializers.IntegerField()
    created = serializers.IntegerField()
    joins = JoinSerializer(many=True, required=False, help_text=JOINS)


class TicketCreated(Done):
    """The new ticket, and the id in Halo of the customer that it belongs to."""

    ticket_id = serializers.CharField()
    customer_id = serializers.CharField(allow_null=True)


class TicketUpdated(Done):
    """The fields that have another value than before."""

    changed = serializers.ListField(child=serializers.CharField())


class TicketReplied(Done):
    """`position` is the number of the new message in the ticket."""

    ticket_id = serializers.CharField()
    position = serializers.IntegerField()


class TranscriptStored(Done):
    """`messages` is how many the conversation has: the next `offset`."""

    transcript_id = serializers.CharField()
    messages = serializers.IntegerField()
    joins = JoinSerializer(many=True, required=False, help_text=JOINS)


class Deleted(Done):
    """How many rows were deleted: 1, or 0 if nothing has the id."""

    deleted = serializers.IntegerField()


class CustomerErased(Done):
    """How far the erasure is, and the rows by table that it has removed until now."""

    state = serializers.ChoiceField(["under_way", "erased", "unknown"])
    id = serializers.CharField(
        allow_null=True, help_text="The former id in Halo; null if it is not known any more."
    )
    erased = serializers.DictField(child=serializers.IntegerField())


class Config(serializers.Serializer):
    """What a page needs to know before it sends anything."""

    org_id = serializers.UUIDField()
    identity_verification = serializers.BooleanField()
    max_events = serializers.IntegerField(help_text="Events in a batch.")


class FieldProblemSerializer(serializers.Serializer):
    """What is wrong with one field."""

    field = serializers.CharField()
    reason = serializers.CharField()


class ProblemSerializer(serializers.Serializer):
    """An error; `field` is the first that is wrong."""

    error = serializers.CharField(help_text="invalid_request, forbidden and so on, by status.")
    reason = serializers.CharField(help_text="One sentence.")
    field = serializers.CharField(required=False, help_text="Such as events[3].event_type.")
    fields = FieldProblemSerializer(
        many=True, required=False, help_text="Every field that is wrong."
    )
