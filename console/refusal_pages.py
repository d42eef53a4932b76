"""Pages for people whose request was refused: why, who can change it, and how to go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from audit import record
from console import kept_forms
from console.page_notices import MAX_ADMINS
from oauth.consent import consent_page, decisions
from oauth.endpoints import replies
from workspace.administration.access import list_admins
from workspace.models import ACTIVE_MEMBERSHIP, User


@dataclass(frozen=True, slots=True)
class HeldRole:
    """A role that does not open the page, and who may give another one."""

    organization: str
    role: str
    admins: Sequence[User]


@dataclass(frozen=True, slots=True)
class AccessRefusal:
    """Why a page is refused: the sentence of the view, if it has one, and the roles held."""

    message: str
    roles: Sequence[HeldRole]


def show_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Returns the page of a missing right, with who can give it."""
    # Only what a view wrote for people; other exceptions have texts of libraries.
    message = str(exception) if isinstance(exception, PermissionDenied) else ""
    refusal = AccessRefusal(message, _find_roles(getattr(request, "user", None)))
    return render(request, "403.html", {"refusal": refusal}, status=HTTPStatus.FORBIDDEN)


def _find_roles(user: Any) -> list[HeldRole]:
    if not isinstance(user, User):
        return []
    rows = user.memberships.filter(ACTIVE_MEMBERSHIP).select_related("organization")
    return [
        HeldRole(
            row.organization.name,
            row.get_role_display(),
            [one for one in list_admins([row.organization_id]) if one != user][:MAX_ADMINS],
        )
        for row in rows.order_by("organization__name")
    ]


def show_refused_form(request: HttpRequest) -> HttpResponse:
    """Returns the answer to a form whose CSRF token is not that of the session.

    What was entered is kept if it can be, and leads back to its page. Else a page says why: the
    session ended, another account is signed in, or the page was open for too long; each has its
    way on.
    """
    if request.path == reverse("oauth_consent"):
        # This may be an attempt to approve a client in another user's name.
        record.security_event("consent_csrf", address=replies.address_of(request))
        address = _find_consent_of_another(request)
        if address:
            return _show_another_account(request, address)
    if kept := kept_forms.keep(request):
        return kept
    page = kept_forms.find_page(request) or reverse("home")
    user = getattr(request, "user", None)
    if isinstance(user, User):
        heading = _("You signed in after this page was opened")
        words = _("You are signed in as %(email)s. Open the page again and send the form from it.")
        return _render_form_page(request, heading, words % {"email": user.email}, page)
    if request.path.startswith(reverse("account_login")):
        heading = _("This form expired")
        words = _(
            "The page was open for too long, or your browser keeps no cookies of this site. Go "
            "back, reload the page and try again."
        )
    else:
        heading = _("You are signed out")
        words = _("Your session ended before the form was sent.")
    return _render_form_page(request, heading, words, page)


def _show_another_account(request: HttpRequest, address: str) -> HttpResponse:
    words = _(
        "The client asked while another account was signed in in this browser. You are signed in "
        "as %(email)s now. Continue with this account to see what the client requests of it."
    )
    return _render_form_page(
        request,
        _("You are signed in with another account"),
        words % {"email": getattr(request.user, "email", "")},
        address,
        _("Continue as %(email)s") % {"email": getattr(request.user, "email", "")},
    )


def _render_form_page(
    request: HttpRequest, heading: str, words: str, page: str, continue_label: str = ""
) -> HttpResponse:
    context = {
        "heading": heading,
        "words": words,
        "page": page,
        "continue_label": continue_label or _("Open the page again"),
    }
    return render(request, "403_csrf.html", context, status=HTTPStatus.FORBIDDEN)


def _find_consent_of_another(request: HttpRequest) -> str:
    """The address at which the open request of another account is shown to this one, if it is."""
    user = getattr(request, "user", None)
    try:
        key = UUID(request.POST.get("request", ""))
    except ValueError:
        return ""
    asked = decisions.find_open_of_another(key, user) if isinstance(user, User) else None
    return "" if asked is None else consent_page.same_request(asked)
