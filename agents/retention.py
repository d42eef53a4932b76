"""How long sessions of agents are kept, and the turns that outlive them."""

from datetime import datetime
from typing import Final

from django.db.models import Q

from agents import sessions
from agents.models import Session, SessionTurn
from customers.privacy.retention import RetentionKind

SETTING: Final = "HALO_RETENTION_AGENT_SESSIONS_DAYS"


def _orphaned_turns(moment: datetime) -> Q:
    return Q(session=None, started_at__lt=moment)


KINDS: Final = (
    RetentionKind(
        Session,
        SETTING,
        lambda moment: Q(updated_at__lt=moment),
        batch=100,
        before=sessions.prepare_deletion,
    ),
    # Turns outlive their sessions, since they say what was spent.
    RetentionKind(SessionTurn, SETTING, _orphaned_turns),
)
