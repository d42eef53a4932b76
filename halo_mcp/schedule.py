"""What the background worker does by the clock (UTC), a task each."""

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
    "prune-asking": {
        "task": "tools_registry.prune_asking",
        "schedule": crontab(hour="3", minute="40"),
    },
    "settle-billing-requests": {
        "task": "tools_registry.settle_billing_requests",
        "schedule": timedelta(minutes=5),
    },
    "forget-replies": {
        "task": "oauth.forget_replies",
        "schedule": timedelta(minutes=5),
    },
    "finish-interrupted-calls": {
        "task": "audit.finish_interrupted",
        "schedule": timedelta(minutes=5),
    },
    "prune-sessions": {
        "task": "console.prune_sessions",
        "schedule": crontab(hour="3", minute="55"),
    },
    "prune-rate-counters": {
        "task": "foundation.prune_rate_counters",
        "schedule": timedelta(hours=1),
    },
}
