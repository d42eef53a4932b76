"""What is believed of a request before anything reads it: its scheme and its host."""

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


class KnownHost(CommonMiddleware):
    """Django's check of `Host`, for all but /health.

    Load balancers ask by address, and the answer names no host.
    """

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        return None if request.path == HEALTH else super().process_request(request)
