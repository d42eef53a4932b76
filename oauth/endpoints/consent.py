"""POST /api/mcp/oauth/consent: the user's decision.

The form has a request id, an organization, the selected scopes and whether to remember the
decision. Everything else comes from the row that was stored when the page was shown, so the form
cannot extend the request.
"""

import uuid
from http import HTTPStatus
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from audit import record
from oauth.consent import consent_page, decisions, offered, remembered
from oauth.consent.authorization_request import ReturnAddress
from oauth.consent.consent_page import ConsentAnswer
from oauth.consent.decisions import Outcome
from oauth.endpoints import pages, replies
from oauth.endpoints.authorize import session_digest
from oauth.endpoints.page_limits import limit_requests
from oauth.errors import AccessDenied
from oauth.grants import authorizations, codes
from oauth.models import Authorization, AuthorizationRequest
from workspace.models import Membership

SWITCH: Final = "switch"  # show the tools of the chosen organization
APPROVE: Final = "approve"


@limit_requests("consent")
def consent(request: HttpRequest) -> HttpResponse:
    """Makes the decision, once, before the request expires, in the session that saw the page."""
    if request.method != "POST":
        return _only_posted(request)
    asked = _request_of(request)
    if asked is None:
        return _alarm(request, "consent_stale", pages.expired_request(request))
    return _answer_again(request, asked) if asked.outcome else _decide(request, asked)


def _decision(request: HttpRequest) -> str:
    return str(request.POST.get("decision", ""))


def _only_posted(request: HttpRequest) -> HttpResponse:
    # The page has this URL after it was shown again, and a restored tab, or Enter in the address
    # bar, opens it by GET.
    response = pages.expired_request(request)
    response.status_code = HTTPStatus.METHOD_NOT_ALLOWED
    response["Allow"] = "POST"
    return response


def _request_of(request: HttpRequest) -> AuthorizationRequest | None:
    """Returns the request of the form, open or decided, of the same user and session."""
    try:
        request_id = uuid.UUID(request.POST.get("request", ""))
    except ValueError:
        return None
    is_open = Q(decided_at__isnull=True, expires_at__gt=timezone.now())
    rows = AuthorizationRequest.objects.select_related("client", "user")
    return rows.filter(
        is_open | ~Q(outcome=""),
        pk=request_id,
        user=request.user.pk,
        session_sha256=session_digest(request),
        client__disabled_at__isnull=True,
    ).first()


def _answer_again(request: HttpRequest, asked: AuthorizationRequest) -> HttpResponse:
    """Responds to a second submit: the same redirect for the same button, else a page."""
    decision = _decision(request)
    if asked.outcome == Outcome.CANCELLED:
        same = decision not in {APPROVE, SWITCH} and decisions.is_recent(asked)
        return _redirect_with_denial(asked) if same else pages.already_cancelled(request)
    code = decisions.repeated_code(asked) if decision == APPROVE else None
    if code is not None:
        return _redirect_with_code(asked, code)
    return pages.already_approved(request, is_connected=decisions.is_connected(asked))


def _decided_meanwhile(request: HttpRequest) -> HttpResponse:
    """Responds to a submit that lost a race against another one, or against a change."""
    asked = _request_of(request)
    if asked is None or not asked.outcome:
        return pages.expired_request(request)
    return _answer_again(request, asked)


def _decide(request: HttpRequest, asked: AuthorizationRequest) -> HttpResponse:
    # Any value but these two cancels.
    if _decision(request) not in {APPROVE, SWITCH}:
        return _cancel(request, asked)
    ticked = frozenset(request.POST.getlist("scope"))
    choices = {str(scope) for scope in offered.get_scopes(asked)}
    has_changed = _has_changed(request, asked, choices)
    if not has_changed and not ticked <= choices:
        return _alarm(request, "consent_forged", pages.tampered_decision(request))
    place = _membership(request, asked)
    if place is None:
        return _alarm(request, "consent_forged", pages.foreign_organization(request))
    answer = ConsentAnswer(place, ticked & choices, "remember" in request.POST)
    if has_changed:
        notice = _("The tools of the project have changed. Check the list and approve again.")
        return consent_page.show_again(request, asked, answer, notice=notice)
    return _answer(request, asked, answer)


def _has_changed(request: HttpRequest, asked: AuthorizationRequest, choices: set[str]) -> bool:
    """Whether the form was shown with other tools of a project than it has now.

    Without this, the only tool that was cleared could be switched off meanwhile, and the rest would
    count as all tools, for later ones too.
    """
    return offered.is_extensible(asked) and set(request.POST.get("offered", "").split()) != choices


def _answer(
    request: HttpRequest, asked: AuthorizationRequest, answer: ConsentAnswer
) -> HttpResponse:
    if _decision(request) == SWITCH:
        return consent_page.show_again(request, asked, answer, notice=_now_showing(answer))
    if not answer.ticked:
        problem = _("Select at least one permission, or cancel.")
        return consent_page.show_again(request, asked, answer, problem=problem)
    if notices := [*_unseen_place(request, answer), *_unseen_scopes(request, asked, answer)]:
        notice = " ".join([*notices, _("Approve again to confirm.")])
        return consent_page.show_again(request, asked, answer, notice=notice)
    return _approve(request, asked, answer)


def _unseen_place(request: HttpRequest, answer: ConsentAnswer) -> list[str]:
    """Returns a notice if the tools of the chosen organization were not shown yet."""
    seen = request.POST.get("shown") == str(answer.place.organization_id)
    return [] if seen else [_now_showing(answer)]


def _unseen_scopes(
    request: HttpRequest, asked: AuthorizationRequest, answer: ConsentAnswer
) -> list[str]:
    """Returns a notice for cleared scopes that a selected scope still includes."""
    said = request.POST.get("held", "").split()
    if consent_page.find_included_scopes(asked, answer.ticked).keys() <= set(said):
        return []
    return [_("A permission that you cleared is included in another one, so it is still allowed.")]


def _now_showing(answer: ConsentAnswer) -> str:
    name = answer.place.organization.name
    return _("The tools shown are now those of %(name)s.") % {"name": name}


def _cancel(request: HttpRequest, asked: AuthorizationRequest) -> HttpResponse:
    if not decisions.close(asked, Outcome.CANCELLED):
        return _decided_meanwhile(request)
    remembered.forget(asked)
    record.security_event(
        "consent_denied",
        address=replies.address_of(request),
        client_id=asked.client.client_id,
        user_id=str(asked.user_id),
    )
    return _redirect_with_denial(asked)


def _redirect_with_denial(asked: AuthorizationRequest) -> HttpResponse:
    denied = AccessDenied("The user did not approve.")
    return replies.redirect(_back(asked).location(list(denied.body().items())))


def _approve(
    request: HttpRequest, asked: AuthorizationRequest, answer: ConsentAnswer
) -> HttpResponse:
    code = _issue(asked, answer, replies.address_of(request))
    return _decided_meanwhile(request) if code is None else _redirect_with_code(asked, code)


def _redirect_with_code(asked: AuthorizationRequest, code: str) -> HttpResponse:
    return replies.redirect(_back(asked).location([("code", code)]))


def _issue(asked: AuthorizationRequest, answer: ConsentAnswer, address: str) -> str | None:
    """Issues a code if this is the first decision, else returns None."""
    try:
        with transaction.atomic():
            if not decisions.close(asked, Outcome.APPROVED):
                return None
            root = authorizations.give(
                asked, answer.place, offered.granted_scopes(asked, answer.ticked)
            )
            _remember(root, asked, answer, address)
            code = codes.issue(root, asked)
            decisions.keep_code(asked, root, code)
    except IntegrityError:  # the client or the membership was deleted meanwhile
        return None
    return code


def _remember(
    root: Authorization, asked: AuthorizationRequest, answer: ConsentAnswer, address: str
) -> None:
    # A remembered consent of an earlier decision, maybe for more scopes, must not remain.
    remembered.forget(asked)
    if answer.remember and remembered.may_be_kept(asked.client, asked.redirect_uri):
        remembered.keep(root, asked)
        authorizations.report("consent_remembered", root, address=address)


def _membership(request: HttpRequest, asked: AuthorizationRequest) -> Membership | None:
    chosen = request.POST.get("organization", "")
    places = consent_page.open_memberships(asked)
    return next((place for place in places if str(place.organization_id) == chosen), None)


def _back(asked: AuthorizationRequest) -> ReturnAddress:
    return ReturnAddress(asked.client, asked.redirect_uri, asked.state)


def _alarm(request: HttpRequest, kind: str, response: HttpResponse) -> HttpResponse:
    record.security_event(
        kind, address=replies.address_of(request), user_id=str(request.user.pk or "")
    )
    return response
