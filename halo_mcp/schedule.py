"""The schedule of the background worker's tasks, in UTC."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from celery.schedules import BaseSchedule, crontab, schedule

from foundation.scheduled_tasks import HEARTBEAT


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """A task, and when it is due."""

    task: str
    when: BaseSchedule


def every(interval: timedelta) -> BaseSchedule:
    return schedule(interval)


SCHEDULE: Final[Mapping[str, ScheduleEntry]] = {
    HEARTBEAT: ScheduleEntry("foundation.note_schedule", every(timedelta(minutes=1))),
    "prune-unused-clients": ScheduleEntry(
        "oauth.prune_unused_clients", crontab(hour="3", minute="10")
    ),
    "prune-spent-credentials": ScheduleEntry(
        "oauth.prune_spent_credentials", crontab(hour="3", minute="25")
    ),
    "remove-obsolete-scopes": ScheduleEntry(
        "oauth.remove_obsolete_scopes", crontab(hour="3", minute="20")
    ),
    "check-connections": ScheduleEntry(
        "tools_registry.check_connections", crontab(hour="5", minute="10")
    ),
    "prune-asking": ScheduleEntry("tools_registry.prune_asking", crontab(hour="3", minute="40")),
    # Those whose message was lost, and those that found no thread.
    "execute-approved-requests": ScheduleEntry(
        "approvals.execute_queued", every(timedelta(seconds=30))
    ),
    "follow-approved-requests": ScheduleEntry("approvals.follow", every(timedelta(minutes=15))),
    "settle-approval-requests": ScheduleEntry("approvals.settle", every(timedelta(minutes=1))),
    "end-abandoned-turns": ScheduleEntry("agents.end_abandoned", every(timedelta(minutes=1))),
    "mail-waiting-approvers": ScheduleEntry("gateway.mail_waiting", every(timedelta(minutes=1))),
    "send-mails": ScheduleEntry("workspace.send_mails", every(timedelta(seconds=20))),
    "forget-replies": ScheduleEntry("oauth.forget_replies", every(timedelta(minutes=5))),
    "replay-journal": ScheduleEntry("foundation.replay_journal", every(timedelta(minutes=1))),
    "finish-interrupted-calls": ScheduleEntry(
        "audit.finish_interrupted", every(timedelta(minutes=5))
    ),
    "prune-audit": ScheduleEntry("audit.prune", crontab(hour="4", minute="10")),
    "prune-documents-of-projects": ScheduleEntry(
        "gateway.prune_documents", crontab(hour="4", minute="20")
    ),
    "prune-data": ScheduleEntry("workspace.prune_data", crontab(hour="4", minute="30")),
    "finish-erasures": ScheduleEntry("workspace.finish_erasures", every(timedelta(minutes=5))),
    "prune-sessions": ScheduleEntry("console.prune_sessions", crontab(hour="3", minute="55")),
    # Every hour, because days begin at another hour in each time zone.
    "refresh-kpis": ScheduleEntry("workspace.refresh_kpis", every(timedelta(hours=1))),
    "count-teams": ScheduleEntry("workspace.count_teams", every(timedelta(hours=1))),
    # Until then, days with later imports or responses are counted when a tool is called.
    "refresh-changed-kpis": ScheduleEntry(
        "workspace.refresh_changed_kpis", every(timedelta(minutes=2))
    ),
    "refresh-older-kpis": ScheduleEntry(
        "workspace.refresh_older_kpis", crontab(hour="2", minute="20")
    ),
    # Days begin at another hour in each time zone.
    "apply-employment": ScheduleEntry("people.apply_employment", every(timedelta(hours=1))),
    "recount-requests": ScheduleEntry("people.recount", every(timedelta(minutes=1))),
    "fill-words-of-people": ScheduleEntry("people.fill_search_texts", every(timedelta(minutes=2))),
    "prune-use-of-personal-data": ScheduleEntry(
        "people.prune_data_use", crontab(hour="3", minute="50")
    ),
    "prune-repeatable-calls": ScheduleEntry(
        "tools_registry.prune_repeatable_calls", every(timedelta(hours=1))
    ),
    "prune-repeatable-requests": ScheduleEntry(
        "ingestion.prune_repeatable_requests", every(timedelta(hours=1))
    ),
    "pick-up-knowledge": ScheduleEntry("workspace.pick_up_knowledge", every(timedelta(minutes=1))),
    "embed-knowledge": ScheduleEntry("workspace.embed_missing", every(timedelta(minutes=2))),
    "fill-search-texts": ScheduleEntry("workspace.fill_search_texts", every(timedelta(minutes=2))),
    "renew-name-keys": ScheduleEntry("workspace.renew_name_keys", every(timedelta(hours=6))),
    "pick-up-imports": ScheduleEntry("workspace.pick_up_imports", every(timedelta(minutes=1))),
    "prune-rate-counters": ScheduleEntry(
        "foundation.prune_rate_counters", every(timedelta(hours=1))
    ),
}
