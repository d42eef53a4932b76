"""Work that a request hands to the background goes to the configured broker."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from celery import Celery
from django.conf import settings

from audit.tasks import finish_interrupted
from foundation.tasks import prune_rate_counters
from oauth.tasks import forget_replies, prune_spent_credentials, prune_unused_clients

TASKS = [
    finish_interrupted,
    forget_replies,
    prune_rate_counters,
    prune_spent_credentials,
    prune_unused_clients,
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_thread_sends_to_the_configured_broker(task: Celery) -> None:
    with ThreadPoolExecutor(1) as threads:
        brokers = [
            task.app.conf.broker_url,
            threads.submit(lambda: task.app.conf.broker_url).result(),
        ]

    assert brokers == [settings.CELERY_BROKER_URL] * 2
