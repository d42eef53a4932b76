"""GET /api/mcp/oauth/authorize: from a client's request to the page that asks the person.

Or, where the person said that they need not be asked for exactly this again, straight to a code.
That is a change by a GET, and no harm: what a forged link brings about is a code at the client's
own redirect address, which the client refuses for its `state` and cannot redeem without its
verifier (RFC 9700 section 4.7).
"""

import hashlib
from datetime import timedelta
from typing import Final
from urllib.parse import quote

from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from audit import record
from oauth import (
    authorization_request,
    authorizations,
    codes,
    consent_page,
    forms,
    pages,
    remembered,
    replies,
)
from oauth.authorization_request import Asked, ReturnAddress, UnsafeRequest
from oauth.errors import InteractionRequired, InvalidClient, OAuthError, ServerBusy
from oauth.models import Authorization, AuthorizationRequest
from oauth.page_limits import limited
from workspace.models import User

MOST: Final = 16_384  # bytes of a request sent by POST


@csrf_exempt  # RFC 6749 section 3.1 wants POST too, and it does no more than a GET
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
        asker, address = str(request.user.pk), replies.address_of(request)
        back = authorization_request.return_address(query, asker=asker, address=address)
    except (UnsafeRequest, OAuthError) as problem:
        return _unsafe(request, problem)
    try:
        asked = authorization_request.read(query, back)
    except OAuthError as problem:
        return send_back(request, back, problem)
    if isinstance(request.user, User):
        return _answer(request, asked, request.user)
    return _needs_a_page(request, asked) or _to_signin(request, parameters)


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
    """The request's parameters as they were sent, still encoded.

    Raises BodyTooLarge, and InvalidRequest for a body that is no form.
    """
    if request.method == "GET":
        return str(request.META.get("QUERY_STRING", ""))
    forms.check_media_type(request.META.get("CONTENT_TYPE", ""))
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


def _answer(request: HttpRequest, asked: Asked, user: User) -> HttpResponse:
    wanted = _put_down(request, asked, user)
    root = None if asked.must_ask else remembered.find(wanted)
    code = _silent_code(request, root, wanted) if root else None
    if code is not None:
        return replies.redirect(asked.back.location([("code", code)]))
    refusal = _needs_a_page(request, asked)
    if refusal is not None:
        return refusal
    wanted.save(force_insert=True)
    return consent_page.show(request, wanted)


def _needs_a_page(request: HttpRequest, asked: Asked) -> HttpResponse | None:
    if not asked.must_not_ask:
        return None
    return send_back(request, asked.back, InteractionRequired("The person has to be asked."))


def _silent_code(
    request: HttpRequest, root: Authorization, wanted: AuthorizationRequest
) -> str | None:
    """A code under a remembered consent, and a row that says so; None if it went meanwhile."""
    try:
        with transaction.atomic():
            code = codes.issue(root, wanted)
            authorizations.report("consent_reused", root, address=replies.address_of(request))
    except IntegrityError:
        return None
    return code


def _put_down(request: HttpRequest, asked: Asked, user: User) -> AuthorizationRequest:
    return AuthorizationRequest(
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
