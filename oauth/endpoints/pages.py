"""The error pages of the authorization server."""

from http import HTTPStatus
from typing import Final, NamedTuple

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from foundation import ids, store_failures
from oauth import durations
from oauth.clients.cimd import announcing
from oauth.endpoints import reconnecting, replies
from workspace.models import User

log = structlog.get_logger(__name__)


# How long a host that gave no answer is not tried again (oauth/clients/cimd/resolving.py).
UNREACHABLE_SECONDS: Final = "60"


class PageLink(NamedTuple):
    """A link on the page."""

    url: str
    label: str


def explain(
    request: HttpRequest,
    *,
    title: str,
    explanation: str,
    steps: list[str],
    status: int,
    link: PageLink | None = None,
) -> HttpResponse:
    """Returns a page that says what happened and how to recover; never a redirect."""
    # Users quote the reference, so it must be in the log. What passes by itself has none.
    reference = "" if status == HTTPStatus.SERVICE_UNAVAILABLE else ids.uuid7().hex
    log.info("page_explained", reference=reference, title=title, status=status)
    context = {
        "title": title,
        "explanation": explanation,
        "steps": steps,
        "reference": reference,
        "link": link,
    }
    return replies.private(render(request, "oauth/error.html", context, status=status))


def unreadable_request(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("We couldn't read this connection request"),
        explanation=_("The link is incomplete or too long. Nothing was shared."),
        steps=[_("Start again in your AI client.")],
        status=400,
    )


def unregistered_redirect(request: HttpRequest) -> HttpResponse:
    """Shows an error that must not be reported by redirect (RFC 6749 section 4.1.2.1)."""
    return explain(
        request,
        title=_("This connection request is not safe"),
        explanation=_(
            "The client asked to be redirected to an address that it did not register. Nothing "
            "was shared."
        ),
        steps=[
            _("Start again in your AI client."),
            _("If this happens again, remove this server from your AI client and add it again."),
        ],
        status=400,
    )


def unknown_client(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("Unknown client"),
        explanation=_(
            "The client is not registered, or its registration expired because it was never used. "
            "Nothing was shared."
        ),
        steps=[
            _("In your AI client, remove this server."),
            _("Add it again with the same address. The client then registers again."),
            _("Approve the request."),
        ],
        status=400,
    )


def unacceptable_client(request: HttpRequest, why: str) -> HttpResponse:
    """For a client with a metadata document; `why` is text of this server."""
    return explain(
        request,
        title=_("This client cannot be used"),
        explanation=_(
            "The client is described by a document that it publishes, and that document cannot be "
            "used. Nothing was shared."
        ),
        steps=[
            _("Wait a minute, then start again in your AI client."),
            _("If this happens again, report it to the developer of the client: %(why)s")
            % {"why": why},
        ],
        status=400,
    )


def unreadable_client(request: HttpRequest, client_id: str) -> HttpResponse:
    """For a client with a metadata document while HALO_CIMD is no."""
    return explain(
        request,
        title=_("This client has to register"),
        explanation=_(
            "Your AI client identifies itself by a document that it publishes. This server accepts "
            "no metadata documents. Nothing was shared."
        ),
        steps=reconnecting.steps(client_id),
        status=400,
    )


def unreachable_client(request: HttpRequest, host: str, client_id: str) -> HttpResponse:
    """For a client whose metadata document was not fetched, since its host gave no answer.

    A client that would register on a new start is helped by that, any other by waiting.
    """
    again = (
        [_("Wait a minute, then start again in your AI client.")]
        if announcing.is_announced()
        else reconnecting.steps(client_id)
    )
    response = explain(
        request,
        title=_("This server could not reach %(host)s") % {"host": host},
        explanation=_(
            "Your AI client publishes a description of itself there. This server has to read it "
            "before you can approve the connection. Nothing was shared."
        ),
        steps=[
            *again,
            _(
                "If this page appears again, tell the administrator of this server: it may have no "
                "access to the internet. The server log says what to change."
            ),
        ],
        status=HTTPStatus.SERVICE_UNAVAILABLE,
    )
    response["Retry-After"] = UNREACHABLE_SECONDS
    return response


def no_organization(request: HttpRequest) -> HttpResponse:
    """The notice of the page says whom to ask (`console.page_notices`)."""
    has_paused = isinstance(request.user, User) and request.user.memberships.exists()
    return explain(
        request,
        title=_("Your organization or membership is suspended")
        if has_paused
        else _("You don't belong to an organization"),
        explanation=_("Clients use the tools of an organization. Nothing was shared."),
        steps=[
            _("Have the membership restored by those whom the notice above names.")
            if has_paused
            else _("Have the operator of this server add you to an organization."),
            _("Start again in your AI client."),
        ],
        status=403,
    )


def no_project(request: HttpRequest) -> HttpResponse:
    """The page for a project that does not exist, and for one of another organization."""
    return explain(
        request,
        title=_("You can't use this project"),
        explanation=_(
            "The project does not exist, or you don't belong to its organization. Nothing was "
            "shared."
        ),
        steps=[
            _("Compare the address in your AI client with the one on the project's page."),
            _("If your account is another one, sign out and start again in your AI client."),
            _("Have the operator of this server add you to the organization, then connect again."),
        ],
        status=403,
    )


def foreign_organization(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("You can't grant access to that organization"),
        explanation=_("You don't belong to it, or it is suspended. Nothing was shared."),
        steps=[_("Start again in your AI client and choose one of your organizations.")],
        status=403,
    )


def expired_request(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("This request expired"),
        explanation=_(
            "A request can be answered once, within %(span)s, in the browser it was opened in. "
            "Nothing was shared."
        )
        % {"span": durations.to_words(settings.HALO_CONSENT_SECONDS)},
        steps=[_("Start again in your AI client.")],
        status=400,
    )


def already_approved(request: HttpRequest, *, is_connected: bool) -> HttpResponse:
    explanation = (
        _("The client is connected. You can return to it.")
        if is_connected
        else _("The connection has ended since. To connect again, start again in your AI client.")
    )
    return explain(
        request,
        title=_("You already approved this request"),
        explanation=explanation,
        steps=[],
        status=409,
        link=PageLink(reverse("connections"), _("Go to Connections")),
    )


def already_cancelled(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("You already cancelled this request"),
        explanation=_("Nothing was shared."),
        steps=[_("To connect after all, start again in your AI client.")],
        status=409,
    )


def tampered_decision(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("Invalid selection"),
        explanation=_(
            "The form contained a permission that was not requested. Nothing was shared."
        ),
        steps=[_("Start again in your AI client.")],
        status=400,
    )


def sent_by_another_site(request: HttpRequest) -> HttpResponse:
    """For requests from another site's page: an image, a frame or a form."""
    return explain(
        request,
        title=_("Open this page directly"),
        explanation=_(
            "Another website opened this page inside one of its own, which is not allowed. Nothing "
            "was shared."
        ),
        steps=[_("Start again in your AI client.")],
        status=403,
    )


def too_many(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("Too many requests"),
        explanation=_("You sent too many requests in the last minute."),
        steps=[_("Wait a minute, then go back and try again.")],
        status=429,
    )


def busy(request: HttpRequest) -> HttpResponse:
    """Rate limits cannot be checked, so the page is closed (the store is down)."""
    response = explain(
        request,
        title=_("Try again in a moment"),
        explanation=_("This page is temporarily unavailable. Nothing was lost."),
        steps=[_("Wait a few seconds and reload this page.")],
        status=HTTPStatus.SERVICE_UNAVAILABLE,
    )
    response["Retry-After"] = str(store_failures.PAGE_RETRY_AFTER_SECONDS)
    return response
