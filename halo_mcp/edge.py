"""What is believed of a request before anything reads it, and what no answer leaves without."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware

from foundation import peer

FORWARDED_PROTO = "HTTP_X_FORWARDED_PROTO"
HEALTH = "/health"


def believed_scheme(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Forget X-Forwarded-Proto unless a proxy of HALO_TRUSTED_PROXIES sent it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not peer.is_trusted(request.META.get("REMOTE_ADDR", "")):
            request.META.pop(FORWARDED_PROTO, None)
        return answer(request)

    return middleware


def private_unless_said(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Let no shared cache keep an answer that does not say who may.

    Nearly every page names who is signed in and holds their CSRF token. Without the header a cache
    may judge for itself, for 404 and 405 too (RFC 9111 section 4.2.2).
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    return middleware


class KnownHost(CommonMiddleware):
    """Django's check of `Host`, for all but /health.

    Load balancers ask by address, and the answer names no host.
    """

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        return None if request.path == HEALTH else super().process_request(request)
