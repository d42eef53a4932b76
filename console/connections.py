"""What a person has let clients do: every connection, what it may still do, and its end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, Final, ParamSpec, TypeAlias
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from audit import usage
from audit.usage import Usage
from oauth import connections, consent_page, ports, replies, scopes
from oauth.connections import Connection, ConnectionEnded, NoSuchConnection
from oauth.scopes import Description, ScopeSet
from workspace.models import User

Given = ParamSpec("Given")
Page: TypeAlias = Callable[Concatenate[HttpRequest, User, Given], HttpResponse]
View: TypeAlias = Callable[Concatenate[HttpRequest, Given], HttpResponse]

JUST_NOW: Final = 60  # seconds
READING_FIRST: Final = ("read", "act")


@dataclass(frozen=True, slots=True)
class Card:
    """A connection in the list: what it may do, and how much it does."""

    connection: Connection
    may: tuple[Description, ...]
    used: Usage

    @property
    def last_used(self) -> str:
        return _ago(self.used)

    @property
    def calls(self) -> str:
        """How many, or that there are more than are counted."""
        if self.used.calls < usage.MOST_CALLS:
            return str(self.used.calls)
        return _("%(n)d or more") % {"n": usage.MOST_CALLS}


def _for_its_person(page: Page[Given]) -> View[Given]:
    """Show a page to whoever is signed in; nobody learns of connections that are not theirs."""

    @wraps(page)
    def guarded(request: HttpRequest, /, *args: Given.args, **kwargs: Given.kwargs) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        try:
            response = page(request, request.user, *args, **kwargs)
        except NoSuchConnection as missing:
            raise Http404 from missing
        except ConnectionEnded:
            messages.info(request, _("That connection has ended already."))
            response = redirect("connections")
        return replies.private(response)

    return guarded


@require_safe
@_for_its_person
def index(request: HttpRequest, user: User) -> HttpResponse:
    """List every living connection, and in brief those that ended within 30 days."""
    shelf = connections.living(user, request.GET.get("page", "1"))
    used = usage.of([one.id for one in shelf.connections])
    context = {
        "shelf": shelf,
        "cards": [_card(one, used) for one in shelf.connections],
        "ended": connections.ended(user),
    }
    return render(request, "console/connections.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def connection(request: HttpRequest, user: User, connection_id: UUID) -> HttpResponse:
    """Show one connection; POST leaves it the scopes that are ticked, and never gives it one."""
    shown = connections.mine(user, connection_id)
    if request.method != "POST":
        return _connection_page(request, shown)
    try:
        taken = _narrow(request, user, connection_id)
    except connections.NothingKept:
        problem = _("Leave at least one thing ticked, or disconnect the client.")
        return _connection_page(request, shown, problem)
    except connections.ScopeNotHeld:
        return _connection_page(request, connections.mine(user, connection_id), _out_of_date())
    _tell(request, connections.mine(user, connection_id), taken)
    return redirect("connection", connection_id)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def revoke(request: HttpRequest, user: User, connection_id: UUID) -> HttpResponse:
    """Ask whether to disconnect one client; POST does it."""
    if request.method != "POST":
        card = _only_card(connections.mine(user, connection_id))
        return render(request, "console/connection_revoke.html", {"card": card})
    was = connections.revoke(user, connection_id, address=replies.address_of(request))
    text = _("%(client)s is disconnected. Its access ended at once.")
    messages.success(request, text % {"client": _isolated(was.client_name)})
    return redirect("connections")


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def ask_again(request: HttpRequest, user: User, connection_id: UUID) -> HttpResponse:
    """Forget “don't ask again” of one connection, which goes on as it is.

    GET, by which one comes back from signing in again, shows the connection with its button.
    """
    if request.method != "POST":
        return redirect("connection", connections.mine(user, connection_id).id)
    now = connections.ask_again(user, connection_id, address=replies.address_of(request))
    text = _("%(client)s will ask again before it connects anew.")
    messages.success(request, text % {"client": _isolated(now.client_name)})
    return redirect("connection", connection_id)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def revoke_all(request: HttpRequest, user: User) -> HttpResponse:
    """Ask whether to disconnect every client; POST does it."""
    if request.method != "POST":
        context = {"total": connections.living(user).total}
        return render(request, "console/connection_revoke.html", context)
    count = connections.revoke_all(user, address=replies.address_of(request))
    text = ngettext("%(n)d client disconnected.", "%(n)d clients disconnected.", count)
    messages.success(request, text % {"n": count})
    return redirect("connections")


def _connection_page(request: HttpRequest, shown: Connection, problem: str = "") -> HttpResponse:
    context = {
        "card": _only_card(shown),
        "scope_groups": consent_page.scope_groups(shown.scope, shown.organization_id),
        "problem": problem,
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return render(request, "console/connection.html", context, status=status)


def _narrow(request: HttpRequest, user: User, connection_id: UUID) -> ScopeSet:
    ticked = request.POST.getlist("scope")
    return connections.narrow(user, connection_id, ticked, address=replies.address_of(request))


def _out_of_date() -> str:
    return _(
        "Nothing was changed: the form named something that this connection does not have. It may "
        "have been narrowed on another page since. This is what it has now."
    )


def _tell(request: HttpRequest, now: Connection, taken: ScopeSet) -> None:
    if not taken:
        messages.info(request, _("Nothing was unticked, so nothing changed."))
        return
    implied = ScopeSet(tuple(scope for scope in taken if now.scope.covers(scope)))
    gone = ScopeSet(tuple(scope for scope in taken if scope not in implied))
    if gone:
        text = _("Saved. From its next call on, the client can no longer use: %(titles)s.")
        messages.success(request, text % {"titles": _titles(gone)})
    if implied:
        # Unticked by name and held by meaning: silence would be a false promise.
        text = _("Unticked, and still allowed because what is left includes it: %(titles)s.")
        messages.warning(request, text % {"titles": _titles(implied)})


def _only_card(shown: Connection) -> Card:
    return _card(shown, usage.of([shown.id]))


def _card(shown: Connection, used: Mapping[UUID, Usage]) -> Card:
    return Card(shown, _in_words(shown.scope), used.get(shown.id, usage.NEVER_USED))


def _in_words(scope: ScopeSet) -> tuple[Description, ...]:
    names = ports.scope_explainer().integration_names()
    described = [scopes.describe(one, names) for one in scope]
    return tuple(sorted(described, key=lambda words: READING_FIRST.index(words.kind)))


def _titles(scope: ScopeSet) -> str:
    return ", ".join(words.title for words in _in_words(scope))


def _ago(used: Usage) -> str:
    if used.last_at is None:
        return _("Not yet")
    if (timezone.now() - used.last_at).total_seconds() < JUST_NOW:
        return _("Just now")
    return _("%(span)s ago") % {"span": timesince(used.last_at, depth=1)}


def _isolated(name: str) -> str:
    # A stranger's text: isolated, it cannot turn the direction of ours (Unicode UAX 9, 2.4).
    return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
