"""Writes that may be left out, because what they belong to must not fail with them."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import InterfaceError, OperationalError, connection

log = structlog.get_logger(__name__)


@contextmanager
def optional_write(event: str) -> Iterator[None]:
    """Logs `event` if the database fails in the block, and goes on with another connection.

    In a transaction the error is raised: nothing of it can be stored then.
    """
    try:
        yield
    except (InterfaceError, OperationalError) as error:
        if connection.in_atomic_block:
            raise
        log.warning(event, error=type(error).__name__)
        connection.close()
