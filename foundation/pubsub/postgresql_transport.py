"""Notifications through LISTEN and NOTIFY of PostgreSQL."""

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Final

from django.db import connection, connections

CHANNEL: Final = "halo_notices"
POLL_SECONDS: Final = 1.0


class PostgresqlTransport:
    """Notifies on the connection of the thread; listens on a connection of its own."""

    def send(self, topic: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, topic])

    def receive(self, deliver: Callable[[str | None], None], stopping: threading.Event) -> None:
        with closing(connections.create_connection("default")) as own:
            # One that listens must not be given to another thread.
            own.uses_pool = False  # type: ignore[attr-defined]  # of our own backend
            own.connect()
            own.set_autocommit(True)
            own.connection.execute(f"LISTEN {CHANNEL}")
            deliver(None)
            while not stopping.is_set():
                for notification in own.connection.notifies(timeout=POLL_SECONDS):
                    deliver(notification.payload)
                own.connection.execute("SELECT 1")  # raises if the connection is broken
