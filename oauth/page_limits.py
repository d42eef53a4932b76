"""Rate limits of the pages people open, on django-ratelimit, mended.

As it stands the library trips over a garbage address, puts every IPv4-mapped address into one
bucket and raises when its store is down. Here the address comes from `foundation/peer.py`, and a
store that is down closes the page with 503.
"""

from collections.abc import Callable
from functools import wraps
from typing import Final

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError

from audit import record
from foundation import peer
from foundation.limits import Limit
from oauth import pages, replies

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponseBase]
RATES: Final = {
    "authorize": "HALO_RATE_AUTHORIZE",
    "consent": "HALO_RATE_AUTHORIZE",
    "signin": "HALO_RATE_SIGNIN",
    "second_step": "HALO_RATE_SIGNIN",
    "passkey": "HALO_RATE_SIGNIN",
    "confirm": "HALO_RATE_SIGNIN",
    "security": "HALO_RATE_AUTHORIZE",
}


def limited(group: str) -> Callable[[View], View]:
    """Refuse a page with 429 once this person, or this address, opened it too often."""

    def wrap(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            refusal = _refusal(request, group)
            return refusal or view(request, *args, **kwargs)

        return guarded

    return wrap


def _refusal(request: HttpRequest, group: str) -> HttpResponse | None:
    try:
        usage = get_usage(request, group=group, key=_who, rate=_rate(group), increment=True)
    except (RedisError, OSError) as down:  # redis-py's ConnectionError is not Python's
        # No traceback and no text of the error: both name the store's address.
        log.error("page_limit_store_down", error=type(down).__name__)  # noqa: TRY400  as said
        return pages.busy(request)
    if not usage or not usage["should_limit"]:
        return None
    if usage["count"] == usage["limit"] + 1:
        # Once a window: a flood must not turn into a flood of writes.
        record.security_event("rate_limited", address=replies.address_of(request), detail=group)
    response = pages.too_many(request)
    response["Retry-After"] = str(max(1, int(usage["time_left"])))
    return response


def _who(_group: str, request: HttpRequest) -> str:
    if request.user.is_authenticated:
        return str(request.user.pk)
    return peer.rate_key(replies.address_of(request))


def _rate(group: str) -> str:
    limit: Limit = getattr(settings, RATES[group])
    return f"{limit.count}/{limit.seconds}s"
