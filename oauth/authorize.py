"""GET /api/mcp/oauth/authorize: from a client's request to the page that asks the person."""

import hashlib
from datetime import timedelta
from typing import Final
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from audit import record
from oauth import authorization_request, consent_page, forms, pages, replies
from oauth.authorization_request import Asked, ReturnAddress, UnsafeRequest
from oauth.errors import InvalidClient, OAuthError, ServerBusy
from oauth.models import AuthorizationRequest
from oauth.page_limits import limited
from workspace.models import User

MOST: Final = 16_384  # bytes of a request sent by POST


@csrf_exempt  # only shows a page; the decision is guarded (RFC 6749 section 3.1 wants POST too)
@require_http_methods(["GET", "POST"])
@limited("authorize")
def authorize(request: HttpRequest) -> HttpResponse:
    """Check the request, see to it that somebody is signed in, and ask."""
    try:
        parameters = _parameters(request)
        query = forms.parse_query(parameters)
        # A stranger cannot make this server fetch anything: they sign in first.
        if not isinstance(request.user, User) and authorization_request.must_fetch(query):
            return _to_signin(request, parameters)
        back = authorization_request.return_address(query, address=replies.address_of(request))
    except (UnsafeRequest, OAuthError) as problem:
        return _unsafe(request, problem)
    try:
        asked = authorization_request.read(query, back)
    except OAuthError as problem:
        return send_back(request, back, problem)
    if not isinstance(request.user, User):
        return _to_signin(request, parameters)
    return consent_page.show(request, _remember(request, asked, request.user))


def send_back(request: HttpRequest, back: ReturnAddress, problem: OAuthError) -> HttpResponse:
    """Tell the client of an error, by redirect, and keep count of it."""
    record.security_event(
        "authorize_rejected",
        address=replies.address_of(request),
        client_id=back.client.client_id,
        detail=problem.code,
    )
    return replies.redirect(back.location(list(problem.body().items())))


def session_digest(request: HttpRequest) -> str:
    """What ties a request to the browser session it was made in."""
    return hashlib.sha256((request.session.session_key or "").encode()).hexdigest()


def _parameters(request: HttpRequest) -> str:
    """The request's parameters as they were sent, still encoded. Raises BodyTooLarge."""
    if request.method == "GET":
        return str(request.META.get("QUERY_STRING", ""))
    return replies.body(request, most=MOST).decode("latin-1")


def _unsafe(request: HttpRequest, problem: UnsafeRequest | OAuthError) -> HttpResponse:
    client = problem.client if isinstance(problem, UnsafeRequest) else None
    record.security_event(
        "authorize_rejected",
        address=replies.address_of(request),
        client_id=client.client_id if client else "",
        detail=str(problem),
    )
    if isinstance(problem, InvalidClient):
        return pages.unacceptable_client(request, problem.hint)
    if isinstance(problem, ServerBusy):
        return pages.busy(request)
    if isinstance(problem, OAuthError):
        return pages.unreadable_request(request)
    return pages.unregistered_redirect(request) if client else pages.unknown_client(request)


def _to_signin(request: HttpRequest, parameters: str) -> HttpResponse:
    # A path of our own in front, so that the way back can lead nowhere else; the same request is
    # read and checked again there.
    back_here = quote(f"{request.path}?{parameters}")
    return replies.redirect(f"{settings.LOGIN_URL}?next={back_here}")


def _remember(request: HttpRequest, asked: Asked, user: User) -> AuthorizationRequest:
    return AuthorizationRequest.objects.create(
        client=asked.back.client,
        user=user,
        session_sha256=session_digest(request),
        redirect_uri=asked.back.redirect_uri,
        state=asked.back.state,
        scope=str(asked.scope),
        resource=asked.resource,
        code_challenge=asked.code_challenge,
        expires_at=timezone.now() + timedelta(seconds=settings.HALO_CONSENT_SECONDS),
    )
