"""Responses of the authorization server: JSON that is not cached, and redirects to any scheme."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from audit import record
from foundation import limits, peer, store_failures
from foundation.limits import Bucket, LimitStoreDown, Verdict
from oauth.errors import (
    BodyTooLarge,
    InvalidClient,
    OAuthError,
    ServerBusy,
    TooManyRequests,
    UnsupportedMethod,
)

log = structlog.get_logger(__name__)

Given = ParamSpec("Given")
View = Callable[[HttpRequest], HttpResponse]
LENGTH: Final = re.compile(r"[0-9]{1,15}")


def address_of(request: HttpRequest) -> str:
    """Returns the client's address; forwarded headers are used only from trusted proxies."""
    return peer.client_address(
        request.META.get("REMOTE_ADDR", ""), request.headers.get("X-Forwarded-For")
    )


def private(response: HttpResponse) -> HttpResponse:
    """Marks a response that contains or concerns credentials (RFC 6749 section 5.1)."""
    response["Cache-Control"] = "no-store"
    response["Pragma"] = "no-cache"
    return response


def json(body: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    return private(JsonResponse(body, status=status))


def error(problem: OAuthError) -> HttpResponse:
    """Returns an error as JSON (RFC 6749 section 5.2)."""
    response = json(problem.body(), status=problem.status)
    if isinstance(problem, InvalidClient):
        response["WWW-Authenticate"] = 'Basic realm="halo-mcp"'
    if isinstance(problem, ServerBusy):
        response["Retry-After"] = str(store_failures.RETRY_AFTER_SECONDS)
    if isinstance(problem, RateLimitExceeded):
        for name, value in problem.headers.items():
            response[name] = value
    return response


def redirect(location: str) -> HttpResponse:
    """A 302 to any scheme: Django's own class refuses cursor:// and similar ones."""
    return private(HttpResponse(status=302, headers={"Location": location}))


class RateLimitExceeded(TooManyRequests):
    """A rate limit refused the request; has the headers for the client."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("Too many requests. Try again later.")
        self.headers = headers


def spend(*buckets: Bucket, address: str) -> None:
    """Charges buckets, all or none.

    Raises RateLimitExceeded, or ServerBusy when the store is down: authentication fails closed.
    """
    for known in filter(None, map(limits.still_refused, buckets)):
        # Recorded already: a flood of requests must not cause a flood of writes.
        raise RateLimitExceeded(known.headers())
    verdict = _charge(buckets)
    if verdict is not None:
        kind = verdict.bucket.key.partition(":")[0]
        record.security_event("rate_limited", address=address, detail=kind)
        raise RateLimitExceeded(verdict.headers())


def _charge(buckets: Sequence[Bucket]) -> Verdict | None:
    try:
        return limits.charge(buckets)
    except LimitStoreDown as down:
        log.error("limit_store_down")  # noqa: TRY400  the traceback names the store's address
        raise ServerBusy("Rate limits cannot be checked at the moment. Try again.") from down


def accepts(
    *methods: str,
) -> Callable[
    [Callable[Concatenate[HttpRequest, Given], HttpResponse]],
    Callable[Concatenate[HttpRequest, Given], HttpResponse],
]:
    """Responds to the other methods of a JSON endpoint with 405, and to OPTIONS with Allow.

    Source: RFC 9110 sections 9.3.7 and 15.5.6.
    """
    allowed = ", ".join([*methods, "OPTIONS"])

    def wrap(
        view: Callable[Concatenate[HttpRequest, Given], HttpResponse],
    ) -> Callable[Concatenate[HttpRequest, Given], HttpResponse]:
        @wraps(view)
        def answering(
            request: HttpRequest, /, *args: Given.args, **kwargs: Given.kwargs
        ) -> HttpResponse:
            if request.method in methods:
                return view(request, *args, **kwargs)
            refusal = error(UnsupportedMethod(f"Use {allowed}."))
            response = HttpResponse(status=204) if request.method == "OPTIONS" else refusal
            response["Allow"] = allowed
            return response

        return answering

    return wrap


def endpoint(kind: str) -> Callable[[View], View]:
    """Wraps a JSON endpoint: every OAuthError becomes a response, a log line and a counted event.

    `kind` names the event, such as `token_rejected`.
    """

    def wrap(view: View) -> View:
        @wraps(view)
        def answering(request: HttpRequest) -> HttpResponse:
            try:
                return view(request)
            except OAuthError as problem:
                return _refuse_request(kind, request, problem)

        return answering

    return wrap


def _refuse_request(kind: str, request: HttpRequest, problem: OAuthError) -> HttpResponse:
    log.info(kind, error=problem.code, hint=problem.hint, debug=problem.debug)
    if not isinstance(problem, TooManyRequests):
        record.security_event(kind, address=address_of(request), detail=problem.code)
    return error(problem)


def body(request: HttpRequest, *, max_bytes: int) -> bytes:
    """Returns the body. Raises BodyTooLarge, unread, when Content-Length exceeds the limit."""
    declared = request.META.get("CONTENT_LENGTH") or "0"
    # LENGTH allows fifteen digits: `int` itself refuses a string of thousands.
    if not LENGTH.fullmatch(declared) or int(declared) > min(
        max_bytes, settings.HALO_MAX_BODY_BYTES
    ):
        raise BodyTooLarge(f"The request body is longer than {max_bytes} bytes.")
    return request.read(max_bytes + 1)[: max_bytes + 1]
