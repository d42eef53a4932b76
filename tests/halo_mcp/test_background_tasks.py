"""Work for the background: it goes to the configured broker, and costs web processes nothing."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from celery import Celery
from django.conf import settings

from approvals.tasks import settle as settle_requests
from audit.tasks import finish_interrupted, prune
from console.tasks import prune_sessions
from foundation.tasks import prune_rate_counters
from oauth.tasks import (
    forget_replies,
    prune_spent_credentials,
    prune_unused_clients,
    remove_obsolete_scopes,
)
from tools_registry.tasks import prune_asking

TASKS = [
    finish_interrupted,
    prune,
    forget_replies,
    prune_asking,
    prune_rate_counters,
    prune_sessions,
    prune_spent_credentials,
    prune_unused_clients,
    remove_obsolete_scopes,
    settle_requests,
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_thread_sends_to_the_configured_broker(task: Celery) -> None:
    with ThreadPoolExecutor(1) as threads:
        brokers = [
            task.app.conf.broker_url,
            threads.submit(lambda: task.app.conf.broker_url).result(),
        ]

    assert brokers == [settings.CELERY_BROKER_URL] * 2


def test_a_web_process_does_without_what_only_the_worker_needs() -> None:
    look = "import sys, halo_mcp.asgi; print({'celery', 'kombu'} & set(sys.modules))"
    seen = subprocess.run(
        [sys.executable, "-c", look],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert seen.stdout.strip() == "set()"
