"""Middleware of every page: threads, addresses, openers, X-Forwarded-Proto, Cache-Control, Host."""

import re
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware

from foundation import peer
from foundation.concurrency import page_threads
from halo_mcp.server import health
from oauth import addresses

FORWARDED_PROTO = "HTTP_X_FORWARDED_PROTO"
# From the authorization endpoint to the redirect to the client: sign-in and its second step too,
# and signing out, by which a person changes the account.
AUTHORIZATION_PAGES: Final = re.compile(
    r"(?:/api/mcp)?/oauth/(?:authorize|consent)|/signin(?:/.*)?|/signout"
)


def threads(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Lets no page send requests to other servers, except views that `may_wait`."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with page_threads.enter():
            return answer(request)

    return middleware


def trusted_scheme(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Removes X-Forwarded-Proto unless a proxy of HALO_TRUSTED_PROXIES sent it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not peer.is_trusted(request.META.get("REMOTE_ADDR", "")):
            request.META.pop(FORWARDED_PROTO, None)
        return answer(request)

    return middleware


def client_addresses(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answers the address of a client's endpoint with a trailing slash as without it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        path = addresses.strip_slash(request.path_info)
        if path != request.path_info:
            request.path, request.path_info = request.path.removesuffix("/"), path
        return answer(request)

    return middleware


def openers(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Lets the page of a client that opened the authorization in a popup keep its window.

    Every other value of Cross-Origin-Opener-Policy on a page or redirect of the flow makes the
    popup look closed to the client, which reports a cancelled sign-in (HTML, "Cross-origin opener
    policies"). `frame-ancestors` protects these pages against clickjacking.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if AUTHORIZATION_PAGES.fullmatch(request.path_info):
            response.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
        return response

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
    """Django's check of `Host`, for all but /health, /healthz and /readyz.

    Load balancers send an IP address as host, and the responses contain no host.
    """

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        return None if request.path in health.PATHS else super().process_request(request)
