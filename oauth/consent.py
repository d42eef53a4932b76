"""POST /api/mcp/oauth/consent: the person's decision.

The form carries a request id, an organization, the scopes left ticked and whether to remember it.
Everything else comes from the row that was written when the page was shown, so nothing in the form
can widen it.
"""

import uuid
from http import HTTPStatus
from typing import Final

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from audit import record
from oauth import authorizations, codes, consent_page, pages, remembered, replies, scopes
from oauth.authorization_request import ReturnAddress
from oauth.authorize import session_digest
from oauth.consent_page import Answer
from oauth.errors import AccessDenied
from oauth.models import Authorization, AuthorizationRequest
from oauth.page_limits import limited
from oauth.scopes import ScopeSet
from workspace.models import Membership

SWITCH: Final = "switch"  # show what would be unlocked in the organization that is chosen
APPROVE: Final = "approve"


@limited("consent")
def consent(request: HttpRequest) -> HttpResponse:
    """Take the decision once, within its time, from the browser that was asked."""
    if request.method != "POST":
        return _only_posted(request)
    asked = _open_request(request)
    if asked is None:
        return _alarm(request, "consent_stale", pages.stale_decision(request))
    # Whatever is neither of these gives nothing away.
    if request.POST.get("decision") not in {APPROVE, SWITCH}:
        return _cancel(request, asked)
    ticked = frozenset(request.POST.getlist("scope"))
    if not ticked <= {str(scope) for scope in scopes.parse(asked.scope)}:
        return _alarm(request, "consent_forged", pages.tampered_decision(request))
    place = _membership(request, asked)
    if place is None:
        return _alarm(request, "consent_forged", pages.foreign_organization(request))
    return _answer(request, asked, Answer(place, ticked, "remember" in request.POST))


def _only_posted(request: HttpRequest) -> HttpResponse:
    # The page stands at this address once it was shown again, and a tab that is restored, or Enter
    # in the address bar, opens it by GET.
    response = pages.stale_decision(request)
    response.status_code = HTTPStatus.METHOD_NOT_ALLOWED
    response["Allow"] = "POST"
    return response


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


def _answer(request: HttpRequest, asked: AuthorizationRequest, answer: Answer) -> HttpResponse:
    if request.POST.get("decision") == SWITCH:
        return consent_page.show_again(request, asked, answer, notice=_now_showing(answer))
    if not answer.ticked:
        problem = _("Tick at least one thing, or cancel.")
        return consent_page.show_again(request, asked, answer, problem=problem)
    if notices := [*_unseen_place(request, answer), *_unseen_scopes(request, asked, answer)]:
        notice = " ".join([*notices, _("Approve once more.")])
        return consent_page.show_again(request, asked, answer, notice=notice)
    return _approve(request, asked, answer)


def _unseen_place(request: HttpRequest, answer: Answer) -> list[str]:
    """They would approve what they have not seen: the tools of another organization."""
    seen = request.POST.get("shown") == str(answer.place.organization_id)
    return [] if seen else [_now_showing(answer)]


def _unseen_scopes(request: HttpRequest, asked: AuthorizationRequest, answer: Answer) -> list[str]:
    """They would take away by name what the client keeps by meaning, and not know it."""
    said = request.POST.get("held", "").split()
    if consent_page.held(asked, answer.ticked).keys() <= set(said):
        return []
    return [_("Something you unticked is still allowed, because what is left includes it.")]


def _now_showing(answer: Answer) -> str:
    name = answer.place.organization.name
    return _("This page now shows what it unlocks at %(name)s.") % {"name": name}


def _close(asked: AuthorizationRequest) -> bool:
    """Mark the request decided; False for the second of two clicks."""
    fresh = AuthorizationRequest.objects.filter(pk=asked.pk, decided_at__isnull=True)
    return bool(fresh.update(decided_at=timezone.now()))


def _cancel(request: HttpRequest, asked: AuthorizationRequest) -> HttpResponse:
    if not _close(asked):
        return pages.stale_decision(request)
    remembered.forget(asked)
    record.security_event(
        "consent_denied",
        address=replies.address_of(request),
        client_id=asked.client.client_id,
        user_id=str(asked.user_id),
    )
    denied = AccessDenied("The person did not approve.")
    return replies.redirect(_back(asked).location(list(denied.body().items())))


def _approve(request: HttpRequest, asked: AuthorizationRequest, answer: Answer) -> HttpResponse:
    code = _issue(asked, answer, replies.address_of(request))
    if code is None:
        return pages.stale_decision(request)
    return replies.redirect(_back(asked).location([("code", code)]))


def _issue(asked: AuthorizationRequest, answer: Answer, address: str) -> str | None:
    """A code for the one decision that came first; None for all others."""
    try:
        with transaction.atomic():
            if not _close(asked):
                return None
            root = authorizations.give(asked, answer.place, _left(asked, answer))
            _remember(root, asked, answer, address)
            return codes.issue(root, asked)
    except IntegrityError:  # the client or the membership went while the person was deciding
        return None


def _left(asked: AuthorizationRequest, answer: Answer) -> ScopeSet:
    offered = scopes.parse(asked.scope)
    return ScopeSet(tuple(scope for scope in offered if str(scope) in answer.ticked))


def _remember(
    root: Authorization, asked: AuthorizationRequest, answer: Answer, address: str
) -> None:
    # An earlier decision on the same request, maybe for more, must not outlive this one.
    remembered.forget(asked)
    if answer.remember and remembered.may_be_kept(asked.client, asked.redirect_uri):
        remembered.keep(root, asked)
        authorizations.report("consent_remembered", root, address=address)


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
