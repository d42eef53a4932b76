"""GET /api/mcp/oauth/authorize: validates the client's request and shows the consent page.

A remembered consent gets a code without the page. This is a state change by a GET, but harmless: a
forged link produces a code at the client's own redirect URI, which the client refuses for its
`state` and cannot redeem without its verifier (RFC 9700 section 4.7).
"""

import hashlib
from datetime import timedelta
from typing import Final
from urllib.parse import quote

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from audit import record
from foundation import store_failures
from foundation.concurrency import page_threads
from foundation.store_failures import is_store_failure
from oauth.consent import authorization_request, consent_page, remembered
from oauth.consent.authorization_request import (
    AuthorizationParameters,
    ReturnAddress,
    UnsafeRequest,
)
from oauth.endpoints import forms, pages, replies
from oauth.endpoints.page_limits import limit_requests
from oauth.errors import (
    InteractionRequired,
    InvalidClient,
    OAuthError,
    ServerBusy,
    UnreachableClient,
    UnreadableClient,
)
from oauth.grants import authorizations, codes
from oauth.models import Authorization, AuthorizationRequest
from workspace.models import User

log = structlog.get_logger(__name__)

MAX_BODY_BYTES: Final = 16_384  # bytes of a request sent by POST


@page_threads.may_wait
@csrf_exempt  # RFC 6749 section 3.1 requires POST too; it does the same as GET
@require_http_methods(["GET", "POST"])
@limit_requests("authorize")
def authorize(request: HttpRequest) -> HttpResponse:
    """Validates the request, requires sign-in, and shows the consent page."""
    try:
        parameters = _parameters(request)
        query = forms.parse_query(parameters)
        # Anonymous clients cannot make this server fetch anything: sign-in comes first.
        if not isinstance(request.user, User) and authorization_request.must_fetch(query):
            return _to_signin(request, parameters)
        asker, address = str(request.user.pk), replies.address_of(request)
        back = authorization_request.return_address(query, asker=asker, address=address)
    except (UnsafeRequest, OAuthError) as problem:
        return _unsafe(request, problem)
    try:
        requested = authorization_request.read(query, back)
        if isinstance(request.user, User):
            return _answer(request, requested, request.user)
        return _needs_a_page(request, requested) or _to_signin(request, parameters)
    except OAuthError as problem:
        return send_back(request, back, problem)
    except Exception as error:
        if not is_store_failure(error):
            raise
        # Not counted, which would take the store that is missing.
        log.exception("authorize_unavailable")
        busy = ServerBusy(store_failures.MESSAGE)
        return replies.redirect(back.location(list(busy.body().items())))


def send_back(request: HttpRequest, back: ReturnAddress, problem: OAuthError) -> HttpResponse:
    """Reports an error to the client by redirect, and counts it."""
    record.security_event(
        "authorize_rejected",
        address=replies.address_of(request),
        client_id=back.client.client_id,
        detail=problem.code,
    )
    return replies.redirect(back.location(list(problem.body().items())))


def session_digest(request: HttpRequest) -> str:
    """Returns a digest of the browser session, which binds a request to it."""
    return hashlib.sha256((request.session.session_key or "").encode()).hexdigest()


def _parameters(request: HttpRequest) -> str:
    """Returns the parameters of the request as they were sent, still encoded.

    Raises BodyTooLarge, and InvalidRequest for a body that is no form.
    """
    if request.method == "GET":
        return str(request.META.get("QUERY_STRING", ""))
    forms.check_media_type(request.META.get("CONTENT_TYPE", ""))
    return replies.body(request, max_bytes=MAX_BODY_BYTES).decode("latin-1")


def _unsafe(request: HttpRequest, problem: UnsafeRequest | OAuthError) -> HttpResponse:
    client = problem.client if isinstance(problem, UnsafeRequest) else None
    record.security_event(
        "authorize_rejected",
        address=replies.address_of(request),
        client_id=client.client_id if client else "",
        detail=str(problem),
    )
    if isinstance(problem, UnreachableClient):
        return pages.unreachable_client(request, problem.host, problem.client_id)
    if isinstance(problem, UnreadableClient):
        return pages.unreadable_client(request, problem.client_id)
    if isinstance(problem, InvalidClient):
        return pages.unacceptable_client(request, problem.hint)
    if isinstance(problem, ServerBusy):
        return pages.busy(request)
    if isinstance(problem, OAuthError):
        return pages.unreadable_request(request)
    return pages.unregistered_redirect(request) if client else pages.unknown_client(request)


def _to_signin(request: HttpRequest, parameters: str) -> HttpResponse:
    # The path is fixed, so that the redirect after sign-in stays on this server; the request is
    # validated again there.
    back_here = quote(f"{request.path}?{parameters}")
    return replies.redirect(f"{settings.LOGIN_URL}?next={back_here}")


def _answer(request: HttpRequest, requested: AuthorizationParameters, user: User) -> HttpResponse:
    wanted = _store(request, requested, user)
    root = None if requested.must_ask else remembered.find(wanted)
    code = _silent_code(request, root, wanted) if root else None
    if code is not None:
        return replies.redirect(requested.back.location([("code", code)]))
    refusal = _needs_a_page(request, requested)
    if refusal is not None:
        return refusal
    wanted.save(force_insert=True)
    replaced = _("None of the scopes that the client requested exists here. These are the default.")
    notice = replaced if requested.is_scope_replaced else ""
    return consent_page.show(request, wanted, requested.named, notice=notice)


def _needs_a_page(request: HttpRequest, requested: AuthorizationParameters) -> HttpResponse | None:
    if not requested.must_not_ask:
        return None
    return send_back(request, requested.back, InteractionRequired("The person has to be asked."))


def _silent_code(
    request: HttpRequest, root: Authorization, wanted: AuthorizationRequest
) -> str | None:
    """Returns a code under a remembered consent, or None if that ended meanwhile."""
    try:
        with transaction.atomic():
            code = codes.issue(root, wanted)
            authorizations.report("consent_reused", root, address=replies.address_of(request))
    except IntegrityError:
        return None
    return code


def _store(
    request: HttpRequest, requested: AuthorizationParameters, user: User
) -> AuthorizationRequest:
    return AuthorizationRequest(
        client=requested.back.client,
        user=user,
        session_sha256=session_digest(request),
        redirect_uri=requested.back.redirect_uri,
        state=requested.back.state,
        scope=str(requested.scope),
        resource=requested.resource,
        code_challenge=requested.code_challenge,
        expires_at=timezone.now() + timedelta(seconds=settings.HALO_CONSENT_SECONDS),
    )
