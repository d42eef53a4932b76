"""The pages of the authorization server that only explain."""

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from foundation import ids
from oauth import durations, replies

log = structlog.get_logger(__name__)


def explain(
    request: HttpRequest, *, title: str, explanation: str, steps: list[str], status: int
) -> HttpResponse:
    """A page that says what happened and how to recover; never a redirect."""
    reference = ids.uuid7().hex
    # What the person will quote must be found in the log.
    log.info("page_explained", reference=reference, title=title, status=status)
    context = {
        "title": title,
        "explanation": explanation,
        "steps": steps,
        "reference": reference,
    }
    return replies.private(render(request, "oauth/error.html", context, status=status))


def unreadable_request(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("This connection request cannot be read"),
        explanation=_("The address that led you here is damaged or too long. Nothing was shared."),
        steps=[_("Go back to your AI client and start connecting again.")],
        status=400,
    )


def unregistered_redirect(request: HttpRequest) -> HttpResponse:
    """Explain here what must not be answered by redirect (RFC 6749 section 4.1.2.1)."""
    return explain(
        request,
        title=_("This connection request is not safe to answer"),
        explanation=_(
            "The program that sent you here asked for the answer to go to an address it did "
            "not register. Nothing was shared."
        ),
        steps=[
            _("Go back to your AI client and start connecting again."),
            _("If this comes back, remove this server there and add it again."),
        ],
        status=400,
    )


def unknown_client(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("We do not know this client"),
        explanation=_(
            "The program that sent you here is not registered, or its registration has lapsed "
            "because it was never used. Nothing was shared."
        ),
        steps=[
            _("In your AI client, remove this server."),
            _("Add it again with the same address: the client then registers anew."),
            _("Approve the request that follows."),
        ],
        status=400,
    )


def unacceptable_client(request: HttpRequest, why: str) -> HttpResponse:
    """For a client that describes itself at an address; `why` is in words of ours."""
    return explain(
        request,
        title=_("We cannot accept this client"),
        explanation=_(
            "The program that sent you here names an address at which it describes itself, and "
            "that description cannot be used. Nothing was shared."
        ),
        steps=[
            _("Wait a minute, go back to your AI client and start connecting again."),
            _("If this comes back, tell the makers of the client: %(why)s") % {"why": why},
        ],
        status=400,
    )


def no_organization(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("You do not belong to an organization"),
        explanation=_("A client works with an organization's tools, and you are in none."),
        steps=[_("Ask an admin of your organization to add you, then connect again.")],
        status=403,
    )


def foreign_organization(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("You cannot grant access to that organization"),
        explanation=_("You do not belong to it, or it is suspended. Nothing was shared."),
        steps=[_("Start connecting again and choose one of your organizations.")],
        status=403,
    )


def stale_decision(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("This request is no longer open"),
        explanation=_(
            "It was answered already, it is older than %(span)s, it was opened in another browser, "
            "or its page was opened anew. Nothing was shared."
        )
        % {"span": durations.in_words(settings.HALO_CONSENT_SECONDS)},
        steps=[_("Go back to your AI client and start connecting again.")],
        status=400,
    )


def tampered_decision(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("That was not on the page"),
        explanation=_("The form named something that was not offered. Nothing was shared."),
        steps=[_("Go back to your AI client and start connecting again.")],
        status=400,
    )


def sent_by_another_site(request: HttpRequest) -> HttpResponse:
    """For what a web site made the browser send unseen: an image, a frame, a form of its own."""
    return explain(
        request,
        title=_("Open this page by itself"),
        explanation=_(
            "Another web site asked for it from within a page of its own, and here that is not "
            "answered. Nothing was shared."
        ),
        steps=[_("Go back to your AI client and start connecting again.")],
        status=403,
    )


def too_many(request: HttpRequest) -> HttpResponse:
    return explain(
        request,
        title=_("Too many requests"),
        explanation=_("There were too many requests from here in the last minute."),
        steps=[_("Wait a minute, then go back and try again.")],
        status=429,
    )


def busy(request: HttpRequest) -> HttpResponse:
    """Limits cannot be counted, so nothing is opened (the store is down)."""
    response = explain(
        request,
        title=_("Try again in a moment"),
        explanation=_("Something this page needs does not answer right now. Nothing was lost."),
        steps=[_("Wait a few seconds and reload this page.")],
        status=503,
    )
    response["Retry-After"] = "5"
    return response
