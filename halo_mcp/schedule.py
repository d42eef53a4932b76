"""The schedule of the background worker's tasks, in UTC."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from celery.schedules import BaseSchedule, crontab, schedule

from foundation.scheduled_tasks import HEARTBEAT


@dataclass(frozen=True, slots=True)
class Entry:
    """A task, and when it is due."""

    task: str
    when: BaseSchedule


def every(interval: timedelta) -> BaseSchedule:
    return schedule(interval)


SCHEDULE: Final[Mapping[str, Entry]] = {
    HEARTBEAT: Entry("foundation.note_schedule", every(timedelta(minutes=1))),
    "prune-unused-clients": Entry("oauth.prune_unused_clients", crontab(hour="3", minute="10")),
    "prune-spent-credentials": Entry(
        "oauth.prune_spent_credentials", crontab(hour="3", minute="25")
    ),
    "remove-obsolete-scopes": Entry("oauth.remove_obsolete_scopes", crontab(hour="3", minute="20")),
    "prune-asking": Entry("tools_registry.prune_asking", crontab(hour="3", minute="40")),
    # Those whose message was lost, and those that found no thread.
    "execute-approved-requests": Entry("approvals.execute_queued", every(timedelta(seconds=30))),
    "settle-approval-requests": Entry("approvals.settle", every(timedelta(minutes=5))),
    "mail-waiting-approvers": Entry("gateway.mail_waiting", every(timedelta(minutes=1))),
    "send-mails": Entry("workspace.send_mails", every(timedelta(seconds=20))),
    "forget-replies": Entry("oauth.forget_replies", every(timedelta(minutes=5))),
    "replay-journal": Entry("foundation.replay_journal", every(timedelta(minutes=1))),
    "finish-interrupted-calls": Entry("audit.finish_interrupted", every(timedelta(minutes=5))),
    "prune-audit": Entry("audit.prune", crontab(hour="4", minute="10")),
    "prune-documents-of-projects": Entry("gateway.prune_documents", crontab(hour="4", minute="20")),
    "prune-data": Entry("workspace.prune_data", crontab(hour="4", minute="30")),
    "finish-erasures": Entry("workspace.finish_erasures", every(timedelta(minutes=5))),
    "prune-sessions": Entry("console.prune_sessions", crontab(hour="3", minute="55")),
    # Every hour, because days begin at another hour in each time zone.
    "refresh-kpis": Entry("workspace.refresh_kpis", every(timedelta(hours=1))),
    "count-teams": Entry("workspace.count_teams", every(timedelta(hours=1))),
    # First responses, spam and earlier sign-ups become known later.
    "refresh-older-kpis": Entry("workspace.refresh_older_kpis", crontab(hour="2", minute="20")),
    # Every night, because leave years begin on another day in each organization.
    "carry-over-leave": Entry("people.carry_over", crontab(hour="3", minute="45")),
    "prune-use-of-personal-data": Entry("people.prune_data_use", crontab(hour="3", minute="50")),
    "prune-repeatable-calls": Entry(
        "tools_registry.prune_repeatable_calls", every(timedelta(hours=1))
    ),
    "prune-repeatable-requests": Entry(
        "ingestion.prune_repeatable_requests", every(timedelta(hours=1))
    ),
    "pick-up-knowledge": Entry("workspace.pick_up_knowledge", every(timedelta(minutes=1))),
    "embed-knowledge": Entry("workspace.embed_missing", every(timedelta(minutes=2))),
    "pick-up-imports": Entry("workspace.pick_up_imports", every(timedelta(minutes=1))),
    "prune-rate-counters": Entry("foundation.prune_rate_counters", every(timedelta(hours=1))),
}
