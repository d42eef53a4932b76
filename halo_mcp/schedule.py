"""The schedule of the background worker's tasks, in UTC."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from celery.schedules import crontab

BEAT: Final[Mapping[str, Mapping[str, Any]]] = {
    "prune-unused-clients": {
        "task": "oauth.prune_unused_clients",
        "schedule": crontab(hour="3", minute="10"),
    },
    "prune-spent-credentials": {
        "task": "oauth.prune_spent_credentials",
        "schedule": crontab(hour="3", minute="25"),
    },
    "remove-obsolete-scopes": {
        "task": "oauth.remove_obsolete_scopes",
        "schedule": crontab(hour="3", minute="20"),
    },
    "prune-asking": {
        "task": "tools_registry.prune_asking",
        "schedule": crontab(hour="3", minute="40"),
    },
    "settle-approval-requests": {
        "task": "approvals.settle",
        "schedule": timedelta(minutes=5),
    },
    "mail-waiting-approvers": {
        "task": "gateway.mail_waiting",
        "schedule": timedelta(minutes=1),
    },
    "forget-replies": {
        "task": "oauth.forget_replies",
        "schedule": timedelta(minutes=5),
    },
    "finish-interrupted-calls": {
        "task": "audit.finish_interrupted",
        "schedule": timedelta(minutes=5),
    },
    "prune-audit": {
        "task": "audit.prune",
        "schedule": crontab(hour="4", minute="10"),
    },
    "prune-sessions-of-agents": {
        "task": "agents.prune_sessions",
        "schedule": crontab(hour="4", minute="20"),
    },
    "prune-data": {
        "task": "workspace.prune_data",
        "schedule": crontab(hour="4", minute="30"),
    },
    "finish-erasures": {
        "task": "workspace.finish_erasures",
        "schedule": timedelta(minutes=5),
    },
    "prune-sessions": {
        "task": "console.prune_sessions",
        "schedule": crontab(hour="3", minute="55"),
    },
    # Every hour, because days begin at another hour in each time zone.
    "refresh-kpis": {
        "task": "workspace.refresh_kpis",
        "schedule": timedelta(hours=1),
    },
    "count-teams": {
        "task": "workspace.count_teams",
        "schedule": timedelta(hours=1),
    },
    # First responses, spam and earlier sign-ups become known later.
    "refresh-older-kpis": {
        "task": "workspace.refresh_older_kpis",
        "schedule": crontab(hour="2", minute="20"),
    },
    # Every night, because leave years begin on another day in each organization.
    "carry-over-leave": {
        "task": "people.carry_over",
        "schedule": crontab(hour="3", minute="45"),
    },
    "prune-use-of-personal-data": {
        "task": "people.prune_data_use",
        "schedule": crontab(hour="3", minute="50"),
    },
    "prune-repeatable-requests": {
        "task": "ingestion.prune_repeatable_requests",
        "schedule": timedelta(hours=1),
    },
    "pick-up-knowledge": {
        "task": "workspace.pick_up_knowledge",
        "schedule": timedelta(minutes=2),
    },
    "pick-up-imports": {
        "task": "workspace.pick_up_imports",
        "schedule": timedelta(minutes=2),
    },
    "prune-rate-counters": {
        "task": "foundation.prune_rate_counters",
        "schedule": timedelta(hours=1),
    },
}
