"""Each kind of data is deleted once it is older than its setting says, and no other."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import call_command

from customers import tasks
from customers.privacy import retention
from tests.drivers.grants import Grant, make_grant
from workspace.models import (
    Conversation,
    ConversationMessage,
    Event,
    Feedback,
    Lead,
    LeadStatus,
    Ticket,
    TicketMessage,
    TicketStatus,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
OLD, NEW = NOW - timedelta(days=31), NOW - timedelta(days=29)
SETTINGS = [kind.setting for kind in retention.OWN_KINDS]


@pytest.fixture(autouse=True)
def _now() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


def add(grant: Grant, at: datetime) -> None:
    """A row of each kind and state, all of them of this time."""
    own = {"organization": grant.organization}
    Event.objects.create(**own, event_type="x", at=at)
    conversation = Conversation.objects.create(
        **own, started_at=at, updated_at=at, question="How?", mood="angry", message_count=1
    )
    said = {**own, "position": 1, "author_kind": "customer"}
    ConversationMessage.objects.create(**said, conversation=conversation)
    Feedback.objects.create(**own, conversation=conversation, position=1, rating="good", at=at)
    for status in (TicketStatus.RESOLVED, TicketStatus.SPAM, TicketStatus.OPEN):
        ticket = Ticket.objects.create(
            **own,
            subject=status,
            status=status,
            created_at=at,
            updated_at=at,
            resolved_at=at if status == TicketStatus.RESOLVED else None,
            conversation=conversation,
        )
        TicketMessage.objects.create(**said, ticket=ticket)
    for lead_status in LeadStatus:
        Lead.objects.create(**own, status=lead_status, created_at=at)


def counts() -> dict[str, int]:
    models = (Event, Conversation, ConversationMessage, Feedback, Ticket, TicketMessage, Lead)
    return {model.__name__: model._default_manager.count() for model in models}


def command(*options: str) -> list[str]:
    out = StringIO()
    call_command("prune_data", *options, stdout=out)
    return out.getvalue().splitlines()


GONE = {
    "HALO_RETENTION_EVENTS_DAYS": {"Event": 1},
    "HALO_RETENTION_FEEDBACK_DAYS": {"Feedback": 1},
    "HALO_RETENTION_MESSAGES_DAYS": {"ConversationMessage": 1},
    "HALO_RETENTION_CONVERSATIONS_DAYS": {
        "Conversation": 1,
        "ConversationMessage": 1,
        "Feedback": 1,
    },
    "HALO_RETENTION_TICKETS_DAYS": {"Ticket": 2, "TicketMessage": 2},
    "HALO_RETENTION_LEADS_DAYS": {"Lead": 1},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_older_than_its_period_is_deleted(grant: Grant, settings: Any, name: str) -> None:
    setattr(settings, name, 30)
    for each in (grant, make_grant()):
        add(each, OLD)
        add(each, NEW)
    before = counts()
    assert tasks.prune_data() > 0
    gone = {name: before[name] - many for name, many in counts().items() if before[name] != many}
    # In both organizations.
    assert gone == {name: 2 * many for name, many in GONE[name].items()}
    assert tasks.prune_data() == 0


@pytest.mark.django_db
def test_nothing_is_deleted_by_default(grant: Grant) -> None:
    add(grant, NOW - timedelta(days=9000))
    before = counts()
    assert tasks.prune_data() == 0
    assert command()[0] == "events: kept, HALO_RETENTION_EVENTS_DAYS is 0"
    assert counts() == before


def test_a_conversation_that_goes_on_is_kept(grant: Grant, settings: Any) -> None:
    settings.HALO_RETENTION_CONVERSATIONS_DAYS = settings.HALO_RETENTION_MESSAGES_DAYS = 30
    own = {"organization": grant.organization}
    conversation = Conversation.objects.create(**own, started_at=OLD, updated_at=NEW)
    ConversationMessage.objects.create(
        **own, conversation=conversation, position=1, author_kind="customer"
    )
    assert tasks.prune_data() == 0


def test_a_conversation_without_its_messages_keeps_what_it_is_counted_by(
    grant: Grant, settings: Any
) -> None:
    settings.HALO_RETENTION_MESSAGES_DAYS = 30
    add(grant, OLD)
    add(grant, NEW)
    tasks.prune_data()
    rows = Conversation.objects.order_by("started_at")
    kept = rows.values_list("mood", "message_count", "question", "feedback__rating", "updated_at")
    assert list(kept) == [("angry", 1, "", "good", OLD), ("angry", 1, "How?", "good", NEW)]


def test_rows_are_deleted_in_batches_and_a_stopped_run_is_continued(
    grant: Grant, settings: Any
) -> None:
    settings.HALO_RETENTION_EVENTS_DAYS = 30
    Event.objects.bulk_create(
        Event(organization=grant.organization, event_type="x", at=OLD) for _ in range(5)
    )
    kind = retention.RetentionKind(
        Event, "HALO_RETENTION_EVENTS_DAYS", retention.OWN_KINDS[0].older, batch=2
    )
    assert next(retention.prune_kind(kind)) == 2
    assert list(retention.prune_kind(kind)) == [2, 1]


def test_the_command_counts_with_dry_run_and_deletes_without(grant: Grant, settings: Any) -> None:
    for name in SETTINGS:
        setattr(settings, name, 30)
    add(grant, OLD)
    first = [("events", 1), ("feedback", 1), ("conversation messages", 1)]
    then = [("conversations", 1), ("tickets", 2), ("leads", 1)]
    for options, word in ((("--dry-run",), "due"), ((), "deleted")):
        expected = [f"{name}: {many} {word}" for name, many in (*first, *then)]
        assert command(*options)[: len(expected)] == expected
    assert counts()["Ticket"] == 1
