"""Conversations between customers and agents, their messages, and the feedback on them."""

from typing import Final

from django.db import models
from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from foundation.text.columns import SearchTextField
from workspace.models.columns import percentage
from workspace.models.customers import Company, Customer
from workspace.models.messages import Message
from workspace.models.people import Agent, Organization


def new_conversation_id() -> str:
    return ids.reference("conv_")


def new_feedback_id() -> str:
    return ids.reference("fb_")


class Mode(models.TextChoices):
    CHAT = "chat", _("Chat")
    VOICE = "voice", _("Voice")
    VIDEO = "video", _("Video")
    LIVEHELP = "livehelp", _("Live help")


class Mood(models.TextChoices):
    HAPPY = "happy", _("Happy")
    NEUTRAL = "neutral", _("Neutral")
    CONFUSED = "confused", _("Confused")
    FRUSTRATED = "frustrated", _("Frustrated")
    ANGRY = "angry", _("Angry")


class ConversationOutcome(models.TextChoices):
    RESOLVED = "resolved", _("Resolved")
    ESCALATED = "escalated", _("Escalated")
    ABANDONED = "abandoned", _("Abandoned")


# Worst first: the mood, and in a mood the lowest score of the agent.
BAD_MOODS: Final = (Mood.ANGRY, Mood.FRUSTRATED, Mood.CONFUSED)
MAX_SCORE: Final = 100
BADNESS: Final = Case(
    *(When(mood=mood, then=Value(place * (MAX_SCORE + 1))) for place, mood in enumerate(BAD_MOODS)),
    output_field=models.IntegerField(),
) + Coalesce("score", MAX_SCORE)


class Conversation(models.Model):
    """A conversation, also called transcript. `customers.conversations` writes it.

    `session_id` is the widget's, and unique in the organization where it is not empty. `question`
    is the first thing that the customer asked. `confidence` and `score` are the AI agent's, 0 to
    100. `outcome` is empty while the conversation goes on.
    """

    id = models.CharField(
        _("conversation id"),
        primary_key=True,
        max_length=64,
        default=new_conversation_id,
        editable=False,
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="conversations")
    session_id = models.CharField(_("session"), max_length=200, blank=True)
    mode = models.CharField(_("mode"), max_length=10, choices=Mode.choices, default=Mode.CHAT)
    agent = models.ForeignKey(
        Agent, models.SET_NULL, related_name="conversations", null=True, blank=True
    )
    customer = models.ForeignKey(
        Customer, models.SET_NULL, related_name="conversations", null=True, blank=True
    )
    company = models.ForeignKey(
        Company, models.SET_NULL, related_name="conversations", null=True, blank=True
    )
    question = models.TextField(_("question"), blank=True)
    mood = models.CharField(_("mood"), max_length=12, choices=Mood.choices, blank=True)
    outcome = models.CharField(
        _("outcome"), max_length=12, choices=ConversationOutcome.choices, blank=True
    )
    confidence = percentage("confidence")
    score = percentage("AI score")
    message_count = models.PositiveIntegerField(_("messages"), default=0, editable=False)
    started_at = models.DateTimeField(_("started"), default=timezone.now)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        indexes = [
            # What is included is counted by, without reading the rows.
            models.Index(
                fields=("organization", "-started_at", "id"),
                include=("outcome", "mood", "agent", "company"),
                name="workspace_conv_new",
            ),
            # For counting by one of the columns. An index of few different values is small.
            models.Index(
                fields=("organization", "agent", "outcome", "mood"), name="workspace_conv_by_kind"
            ),
            models.Index(fields=("organization", "score", "id"), name="workspace_conv_score"),
            models.Index(fields=("customer", "-started_at", "id"), name="workspace_conv_customer"),
            models.Index(fields=("company", "-started_at", "id"), name="workspace_conv_company"),
            models.Index(
                fields=("organization", "mood", "-started_at", "id"), name="workspace_conv_mood"
            ),
            models.Index(
                F("organization"),
                BADNESS,
                F("id"),
                name="workspace_conv_worst",
                condition=models.Q(mood__in=BAD_MOODS),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "session_id"),
                condition=~models.Q(session_id=""),
                name="workspace_one_session",
            ),
        ]

    def __str__(self) -> str:
        return self.question[:100] or self.id


class ConversationMessage(Message):
    """A message of a conversation. `sentiment` is from -1 (bad) to 1 (good)."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    search_text = SearchTextField(sources=("text",))
    sentiment = models.FloatField(_("sentiment"), null=True, blank=True)
    images = models.JSONField(_("images"), default=list, blank=True)

    class Meta:
        verbose_name = _("conversation message")
        verbose_name_plural = _("conversation messages")
        constraints = [
            models.UniqueConstraint(
                fields=("conversation", "position"), name="workspace_conv_position"
            ),
        ]
        indexes = [
            # The rows that have yet to be filled.
            models.Index(
                fields=("id",), name="workspace_conv_unfilled", condition=models.Q(search_text=None)
            ),
        ]


class Rating(models.TextChoices):
    GOOD = "good", _("Good")
    BAD = "bad", _("Bad")


class GivenBy(models.TextChoices):
    CUSTOMER = "customer", _("Customer")
    TRAINER = "trainer", _("Trainer")


class Feedback(models.Model):
    """A rating of one message of an agent, by the customer or by a trainer.

    `position` names the message; `agent`, `customer` and `company` are the conversation's.
    """

    id = models.CharField(primary_key=True, max_length=64, default=new_feedback_id, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="feedback")
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="feedback")
    position = models.PositiveIntegerField(_("message"))
    rating = models.CharField(_("rating"), max_length=4, choices=Rating.choices)
    comment = models.TextField(_("comment"), blank=True)
    given_by = models.CharField(
        _("given by"), max_length=10, choices=GivenBy.choices, default=GivenBy.CUSTOMER
    )
    agent = models.ForeignKey(Agent, models.SET_NULL, related_name="+", null=True, blank=True)
    customer = models.ForeignKey(
        Customer, models.SET_NULL, related_name="feedback", null=True, blank=True
    )
    company = models.ForeignKey(Company, models.SET_NULL, related_name="+", null=True, blank=True)
    at = models.DateTimeField(_("at"), default=timezone.now)

    class Meta:
        verbose_name = _("feedback")
        verbose_name_plural = _("feedback")
        indexes = [
            models.Index(
                fields=("organization", "rating", "-at", "id"), name="workspace_feedback_new"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("conversation", "position", "given_by"), name="workspace_one_rating"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rating}: {self.comment[:60]}"
