"""What the pages of personal tokens and of tokens for projects have in common."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from oauth import mcp_tokens
from oauth.endpoints import replies
from oauth.mcp_tokens import NewToken
from workspace.models import User

MAX_LISTED: Final = 200
DEFAULT_DAYS: Final = 90

# Creates the token that the values of a form describe.
Issue: TypeAlias = Callable[[Mapping[str, Any]], NewToken]


def create(form: forms.Form, limited: str, issue: Issue) -> NewToken | None:
    """Returns a new token, or None if the form has errors.

    `limited` is the field of what may have no more tokens. Raises Http404 for a user who has left
    the organization.
    """
    if not form.is_valid():
        return None
    try:
        return issue(form.cleaned_data)
    except mcp_tokens.NotAMember as left:  # since the form was checked
        raise Http404 from left
    except mcp_tokens.TooManyTokens as refused:
        form.add_error(limited, str(refused))
        return None


def revoke(
    request: HttpRequest, user: User, tokens: QuerySet[Any], *, listed_at: str, revoked_at: str
) -> HttpResponse:
    """Confirms and revokes one of the user's tokens. If there is none in `tokens`: 404."""
    row = tokens.first()
    if row is None:
        raise Http404
    if request.method != "POST":
        context = {"token": row, "listed_at": listed_at, "revoked_at": revoked_at}
        return render(request, "console/gateway/token_revoke.html", context)
    if mcp_tokens.revoke(row, user=user, address=replies.address_of(request)):
        messages.success(request, _("Revoked. Requests with this token are refused."))
    else:
        messages.info(request, _("This token was already revoked."))
    return redirect(listed_at)
