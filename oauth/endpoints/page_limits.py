"""Rate limits of pages, as an adapter of django-ratelimit.

The library fails on an invalid address, puts every IPv4-mapped address into one bucket and raises
when its store is down. Here the address comes from `foundation/peer.py`, and a page returns 503
while the store is down. Why there are two limiters: docs/decisions/0043-two-rate-limiters.md.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from time import time
from typing import Any, Final, NamedTuple

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django_ratelimit.core import get_usage

from audit import record
from foundation import peer
from foundation.cache_errors import get_cache_errors
from foundation.limits import Limit, LimitStoreDown, Outage
from oauth.endpoints import origins, pages, replies

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponseBase]

# Of the cache, which may be another store than that of the other limits.
outage: Final = Outage()


class PageLimit(NamedTuple):
    """The key of a page's limit, and the requests that count."""

    setting: str
    methods: frozenset[str]


POSTS: Final = frozenset({"POST"})
ALL: Final = frozenset({"GET", "HEAD", "POST"})
# A GET that only shows a form does not count: any web site can make its visitors send one, which
# would exhaust the limit of everybody with their address.
RULES: Final = {
    "authorize": PageLimit("HALO_RATE_AUTHORIZE", ALL),
    "consent": PageLimit("HALO_RATE_AUTHORIZE", POSTS),
    "signin": PageLimit("HALO_RATE_SIGNIN", POSTS),
    "second_step": PageLimit("HALO_RATE_SIGNIN", POSTS),
    "passkey": PageLimit("HALO_RATE_SIGNIN", ALL),
    "confirm": PageLimit("HALO_RATE_SIGNIN", POSTS),
    "security": PageLimit("HALO_RATE_AUTHORIZE", ALL),
}


def limit_requests(group: str) -> Callable[[View], View]:
    """Refuses a page with 429 once this user, or this address, is over its limit.

    Requests that other web sites cause are refused before they count.
    """

    def wrap(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            refusal = _refusal(request, group)
            return refusal or view(request, *args, **kwargs)

        return wrapper

    return wrap


def _refusal(request: HttpRequest, group: str) -> HttpResponse | None:
    if origins.is_part_of_a_foreign_page(request) or origins.is_posted_from_elsewhere(request):
        return pages.sent_by_another_site(request)
    if request.method not in RULES[group].methods:
        return None
    try:
        usage = _usage(request, group)
    except LimitStoreDown:
        return pages.busy(request)
    if not usage or not usage["should_limit"]:
        return None
    if not usage["limit"]:
        # The library's result if the store lost the count after it was written.
        log.error("page_limit_store_down", error="lost count")
        return pages.busy(request)
    if usage["count"] == usage["limit"] + 1:
        # Once a window, so that a flood of requests does not cause a flood of writes.
        record.security_event("rate_limited", address=replies.address_of(request), detail=group)
    return _too_many(request, usage)


def _usage(request: HttpRequest, group: str) -> dict[str, Any] | None:
    """Counts the request. Raises LimitStoreDown, without a try if the store failed recently."""
    if outage.skips_store():
        raise LimitStoreDown("The store of the page limits failed a moment ago.")
    try:
        usage: dict[str, Any] | None = get_usage(
            request, group=group, key=_who, rate=_rate(group), increment=True
        )
    except get_cache_errors() as down:
        outage.record_failure()
        # Without traceback and text of the error, which name the store's address.
        log.error("page_limit_store_down", error=type(down).__name__)  # noqa: TRY400  as said
        raise LimitStoreDown("The store of the page limits did not count.") from None
    outage.record_success()
    return usage


def _too_many(request: HttpRequest, usage: Mapping[str, int]) -> HttpResponse:
    """Returns the page with the headers that every 429 has.

    The library's window ends on a whole second and it truncates the current time to one, so that
    its remaining time is rounded up already.
    """
    wait = max(1, usage["time_left"])
    response = pages.too_many(request)
    response["Retry-After"] = str(wait)
    response["X-RateLimit-Limit"] = str(usage["limit"])
    response["X-RateLimit-Remaining"] = "0"
    response["X-RateLimit-Reset"] = str(int(time()) + wait)
    return response


def _who(_group: str, request: HttpRequest) -> str:
    if request.user.is_authenticated:
        return str(request.user.pk)
    return peer.rate_key(replies.address_of(request))


def _rate(group: str) -> str:
    limit: Limit = getattr(settings, RULES[group].setting)
    return f"{limit.count}/{limit.seconds}s"
