"""What an outage is: a store of this server that does not answer, or cannot be written to.

It passes by itself, so that the response says to try again, in the form of the surface
(`console/outages.py`, docs/outages.md).
"""

import sqlite3
import sys
from typing import Final

from django.db import DatabaseError, InterfaceError, OperationalError

from foundation.db.time_limit import TimeLimitExceeded
from foundation.limits.window import LimitStoreDown

MESSAGE: Final = "This server is temporarily unavailable. Try again."
# The code of RFC 6749, which the other surfaces use where theirs have none.
CODE: Final = "temporarily_unavailable"
# For programs. A person needs longer to read the page.
RETRY_AFTER_SECONDS: Final = 1
PAGE_RETRY_AFTER_SECONDS: Final = 5

# Errors of a transaction that psycopg counts as internal: the server has become read-only, as after
# a failover, or has ended a transaction that took too long (PostgreSQL 15, appendix A).
TRANSACTION_ENDED: Final = frozenset({"25006", "25P03", "25P04"})


def is_store_failure(error: BaseException) -> bool:
    """Returns whether an error is an outage of a store, and no fault of the request or the code."""
    if isinstance(error, LimitStoreDown | TimeLimitExceeded | InterfaceError):
        return True
    cause = error.__cause__
    if isinstance(error, OperationalError):
        # SQLite's code for what is wrong with a statement, such as a missing table.
        return getattr(cause, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR
    if isinstance(error, DatabaseError):
        return getattr(cause, "sqlstate", None) in TRANSACTION_ENDED
    # What nobody has imported can have raised nothing, and its import takes 40 ms.
    redis = sys.modules.get("redis")
    return redis is not None and isinstance(error, redis.RedisError)
