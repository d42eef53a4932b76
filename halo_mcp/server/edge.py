"""Middleware for X-Forwarded-Proto, Cache-Control and the check of Host."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware

from foundation import peer

FORWARDED_PROTO = "HTTP_X_FORWARDED_PROTO"
HEALTH = "/health"


def trusted_scheme(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Removes X-Forwarded-Proto unless a proxy of HALO_TRUSTED_PROXIES sent it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not peer.is_trusted(request.META.get("REMOTE_ADDR", "")):
            request.META.pop(FORWARDED_PROTO, None)
        return answer(request)

    return middleware


def private_by_default(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Sets `Cache-Control: private, no-cache` on responses without the header.

    Nearly every page contains the signed-in user and a CSRF token. Without the header a cache
    may store a page by heuristics, also with the status 404 or 405 (RFC 9111 section 4.2.2).
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    return middleware


class KnownHost(CommonMiddleware):
    """Django's check of `Host`, for all but /health.

    Load balancers send an IP address as host, and the response contains no host.
    """

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        return None if request.path == HEALTH else super().process_request(request)
