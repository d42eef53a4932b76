"""How long a metadata document may be used before it is fetched again (RFC 9111).

Invalid headers count as stale (RFC 9111 section 4.2.1). The result is between FLOOR and CAP, as the
draft allows (section 4.4).
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

# One sign-in opens the authorization page twice, and a burst of them must not cause a burst of
# fetches. Even a document with `no-store` is used this long.
FLOOR: Final = timedelta(minutes=1)
CAP: Final = timedelta(hours=24)
# Without directives: a heuristic (RFC 9111 section 4.2.2).
UNSAID: Final = timedelta(hours=1)

STALE: Final = timedelta(0)
# The stored document is shared by users, so the directive for shared caches has precedence, and
# `private` prevents storing (RFC 9111 sections 5.2.2.7 and 5.2.2.10).
FORBIDDING: Final = frozenset({"no-store", "no-cache", "private"})
AGES: Final = ("s-maxage", "max-age")
SECONDS: Final = re.compile(r'"?0*([0-9]+)"?', re.ASCII)
MAX_DIGITS: Final = 9  # thirty years; larger values are cut (RFC 9111 section 1.2.2)


def lifetime(headers: Mapping[str, str], *, now: datetime) -> timedelta:
    """Returns how long after `now` a response with these headers (lower-case names) is fresh."""
    # The time in caches on the way counts (RFC 9111 section 4.2.3).
    left = _stated_lifetime(headers, now) - _seconds(headers.get("age", "0"))
    return max(FLOOR, min(left, CAP))


def _stated_lifetime(headers: Mapping[str, str], now: datetime) -> timedelta:
    directives = _directives(headers.get("cache-control", ""))
    if FORBIDDING & directives.keys():
        return STALE
    for name in AGES:
        if name in directives:
            return _seconds(directives[name])
    return _lifetime_by_expires(headers, now) if "expires" in headers else UNSAID


def _directives(value: str) -> dict[str, str]:
    """Returns the directives by name in lower case; of repeated ones the first is used."""
    found: dict[str, str] = {}
    for part in value.split(","):
        name, _, argument = part.partition("=")
        found.setdefault(name.strip().lower(), argument.strip())
    return found


def _seconds(text: str) -> timedelta:
    match = SECONDS.fullmatch(text.strip())
    return timedelta(seconds=int(match[1][:MAX_DIGITS])) if match else STALE


def _lifetime_by_expires(headers: Mapping[str, str], now: datetime) -> timedelta:
    expires = _moment(headers["expires"])
    if expires is None:
        return STALE
    # Relative to the Date header, which has the same clock, if present (RFC 9111 section 4.2.1).
    return expires - (_moment(headers.get("date", "")) or now)


def _moment(text: str) -> datetime | None:
    with suppress(ValueError, OverflowError):
        moment = parsedate_to_datetime(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None
