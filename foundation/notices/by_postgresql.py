"""Notices through PostgreSQL's LISTEN and NOTIFY."""

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Final

from django.db import connection, connections

CHANNEL: Final = "halo_notices"
STOPS_WITHIN: Final = 1.0  # seconds


class PostgresqlCarrier:
    """Notifies through the thread's connection; listens on one of its own."""

    def send(self, topic: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, topic])

    def receive(self, deliver: Callable[[str | None], None], stopping: threading.Event) -> None:
        with closing(connections.create_connection("default")) as own:
            own.connect()
            own.set_autocommit(True)
            own.connection.execute(f"LISTEN {CHANNEL}")
            deliver(None)
            while not stopping.is_set():
                for notice in own.connection.notifies(timeout=STOPS_WITHIN):
                    deliver(notice.payload)
                own.connection.execute("SELECT 1")  # a connection that died says so
