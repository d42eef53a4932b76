"""POST /api/mcp/oauth/consent: the person's decision.

The form carries a request id, an organization and the scopes left ticked. Everything else comes
from the row that was written when the page was shown, so nothing in the form can widen it.
"""

import uuid

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from audit import record
from oauth import authorizations, codes, consent_page, pages, replies, scopes
from oauth.authorization_request import ReturnAddress
from oauth.authorize import session_digest
from oauth.errors import AccessDenied
from oauth.models import AuthorizationRequest
from oauth.page_limits import limited
from oauth.scopes import ScopeSet
from workspace.models import Membership


@require_http_methods(["POST"])
@limited("consent")
def consent(request: HttpRequest) -> HttpResponse:
    """Take the decision once, within its time, from the browser that was asked."""
    asked = _open_request(request)
    if asked is None:
        return _alarm(request, "consent_stale", pages.stale_decision(request))
    if request.POST.get("decision") != "approve":
        return _deny(request, asked)
    ticked = dict.fromkeys(request.POST.getlist("scope"))  # a box repeated is one box
    offered = scopes.parse(asked.scope)
    if not {*ticked} <= {str(scope) for scope in offered}:
        return _alarm(request, "consent_forged", pages.tampered_decision(request))
    if not ticked:
        problem = _("Tick at least one thing, or cancel.")
        return consent_page.show_again(request, asked, problem=problem)
    return _approve(request, asked, scopes.parse(" ".join(ticked)))


def _open_request(request: HttpRequest) -> AuthorizationRequest | None:
    try:
        request_id = uuid.UUID(request.POST.get("request", ""))
    except ValueError:
        return None
    rows = AuthorizationRequest.objects.select_related("client", "user")
    return rows.filter(
        pk=request_id,
        user=request.user.pk,
        session_sha256=session_digest(request),
        decided_at__isnull=True,
        expires_at__gt=timezone.now(),
        client__disabled_at__isnull=True,
    ).first()


def _close(asked: AuthorizationRequest) -> bool:
    """Mark the request decided; False for the second of two clicks."""
    fresh = AuthorizationRequest.objects.filter(pk=asked.pk, decided_at__isnull=True)
    return bool(fresh.update(decided_at=timezone.now()))


def _deny(request: HttpRequest, asked: AuthorizationRequest) -> HttpResponse:
    if not _close(asked):
        return pages.stale_decision(request)
    record.security_event(
        "consent_denied",
        address=replies.address_of(request),
        client_id=asked.client.client_id,
        user_id=str(asked.user_id),
    )
    denied = AccessDenied("The person did not approve.")
    return replies.redirect(_back(asked).location(list(denied.body().items())))


def _approve(request: HttpRequest, asked: AuthorizationRequest, scope: ScopeSet) -> HttpResponse:
    membership = _membership(request, asked)
    if membership is None:
        return _alarm(request, "consent_forged", pages.foreign_organization(request))
    code = _issue(asked, membership, scope)
    if code is None:
        return pages.stale_decision(request)
    return replies.redirect(_back(asked).location([("code", code)]))


def _issue(asked: AuthorizationRequest, membership: Membership, scope: ScopeSet) -> str | None:
    """A code for the one decision that came first; None for all others."""
    try:
        with transaction.atomic():
            if not _close(asked):
                return None
            return codes.issue(authorizations.give(asked, membership, scope), asked)
    except IntegrityError:  # the client or the membership went while the person was deciding
        return None


def _membership(request: HttpRequest, asked: AuthorizationRequest) -> Membership | None:
    chosen = request.POST.get("organization", "")
    places = consent_page.open_memberships(asked.user)
    return next((place for place in places if str(place.organization_id) == chosen), None)


def _back(asked: AuthorizationRequest) -> ReturnAddress:
    return ReturnAddress(asked.client, asked.redirect_uri, asked.state)


def _alarm(request: HttpRequest, kind: str, response: HttpResponse) -> HttpResponse:
    record.security_event(
        kind, address=replies.address_of(request), user_id=str(request.user.pk or "")
    )
    return response
