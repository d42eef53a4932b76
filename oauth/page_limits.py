"""Rate limits of the pages people open, on django-ratelimit, mended.

As it stands the library trips over a garbage address, puts every IPv4-mapped address into one
bucket and raises when its store is down. Here the address comes from `foundation/peer.py`, and a
store that is down closes the page with 503.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from time import time
from typing import Final, NamedTuple

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError

from audit import record
from foundation import peer
from foundation.limits import Limit
from oauth import origins, pages, replies

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponseBase]


class Rule(NamedTuple):
    """Whose limit a page has, and which requests for it count."""

    setting: str
    methods: frozenset[str]


POSTS: Final = frozenset({"POST"})
ALL: Final = frozenset({"GET", "HEAD", "POST"})
# Where opening the page only shows a form it counts nothing: any web site can have its visitors
# open it, and would shut the page for everybody behind their address.
RULES: Final = {
    "authorize": Rule("HALO_RATE_AUTHORIZE", ALL),
    "consent": Rule("HALO_RATE_AUTHORIZE", POSTS),
    "signin": Rule("HALO_RATE_SIGNIN", POSTS),
    "second_step": Rule("HALO_RATE_SIGNIN", POSTS),
    "passkey": Rule("HALO_RATE_SIGNIN", ALL),
    "confirm": Rule("HALO_RATE_SIGNIN", POSTS),
    "security": Rule("HALO_RATE_AUTHORIZE", ALL),
}


def limited(group: str) -> Callable[[View], View]:
    """Refuse a page with 429 once this person, or this address, asked too often.

    What other web sites make a browser send is refused before it counts for anybody.
    """

    def wrap(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            refusal = _refusal(request, group)
            return refusal or view(request, *args, **kwargs)

        return guarded

    return wrap


def _refusal(request: HttpRequest, group: str) -> HttpResponse | None:
    if origins.is_part_of_a_foreign_page(request) or origins.is_posted_from_elsewhere(request):
        return pages.sent_by_another_site(request)
    if request.method not in RULES[group].methods:
        return None
    try:
        usage = get_usage(request, group=group, key=_who, rate=_rate(group), increment=True)
    except (RedisError, OSError) as down:  # redis-py's ConnectionError is not Python's
        # No traceback and no text of the error: both name the store's address.
        log.error("page_limit_store_down", error=type(down).__name__)  # noqa: TRY400  as said
        return pages.busy(request)
    if not usage or not usage["should_limit"]:
        return None
    if not usage["limit"]:
        # What the library says when the store took the count and lost it again.
        log.error("page_limit_store_down", error="lost count")
        return pages.busy(request)
    if usage["count"] == usage["limit"] + 1:
        # Once a window: a flood must not turn into a flood of writes.
        record.security_event("rate_limited", address=replies.address_of(request), detail=group)
    return _too_many(request, usage)


def _too_many(request: HttpRequest, usage: Mapping[str, int]) -> HttpResponse:
    """The page, with the headers that every 429 has.

    The library's window ends on a whole second and it cuts the time of day down to one, so that
    what it calls left is rounded up already.
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
