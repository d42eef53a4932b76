"""Decides whether a request may be repeated, and after which delay."""

import random
import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

# Status codes of temporary failures (RFC 9110 sections 15.6.1, 15.6.3 to 15.6.5).
TRANSIENT: Final = frozenset({500, 502, 503, 504})
# Safe methods, which request no change (RFC 9110 section 9.2.1).
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Idempotent methods: repeating a request has no further effect (RFC 9110 section 9.2.2).
IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})

FIRST_DELAY: Final = 0.25
SECONDS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds of a Retry-After header, at least 0; None if it is missing or invalid.

    Source: RFC 9110 section 10.2.3, seconds or a date.
    """
    text = headers.get("retry-after", "").strip()
    if SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    # A date without a zone is in GMT (RFC 9110 section 5.6.7).
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(moment.timestamp() - time.time(), 0.0)


def backoff(tries: int) -> float:
    """Returns the delay before the next attempt: exponential, with random jitter."""
    return FIRST_DELAY * 2.0 ** (tries - 1) * random.uniform(0.5, 1.5)  # noqa: S311  spreads load, hides nothing
