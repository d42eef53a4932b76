"""Erasures and exports of customers: sessions of agents that name one.

A session keeps what tools answered: whole records of customers, in the words of people and of a
model. No part of it is the customer's alone, and it is sent to the model with each turn. An
erasure therefore deletes it. A turn that is running loses its session, and ends.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q

from agents import sessions
from agents.models import Session, SessionMessage
from customers.privacy.redaction import Redaction
from customers.privacy.subject import Subject
from customers.privacy.text_columns import id_and_email_redaction


class AgentSessions:
    """Sessions that name the customer by the internal id or the email address."""

    name = "agent_sessions"
    model = Session
    effect = "deleted"

    def erase(self, subject: Subject) -> Iterator[int]:
        for session in _find_sessions(subject):
            sessions.delete(session)
            yield 1

    def export_rows(self, subject: Subject) -> Iterator[Mapping[str, Any]]:
        for session in _find_sessions(subject):
            yield {
                "id": session.pk,
                "agent": session.agent,
                "created_at": session.created_at,
                "messages": sessions.messages(session.pk),
            }


def _find_sessions(subject: Subject) -> Iterator[Session]:
    redaction = id_and_email_redaction(subject)
    messages = SessionMessage.objects.filter(session__organization=subject.organization_id)
    naming = messages.filter(redaction.json_condition("content", "state")).values("session")
    own = Session.objects.filter(organization=subject.organization_id)
    may_name = Q(pk__in=naming) | redaction.json_condition("options", "client_tools")
    for key in list(own.filter(may_name).order_by("pk").values_list("pk", flat=True)):
        session = own.filter(pk=key).first()
        if session is not None and _names(session, redaction):
            yield session


def _names(session: Session, redaction: Redaction) -> bool:
    """Whether a session names the customer, and not somebody with a longer address."""
    rows = SessionMessage.objects.filter(session=session).values_list("content", "state")
    return redaction.finds([session.options, session.client_tools, *map(list, rows)])
