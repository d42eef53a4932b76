"""The Connections pages: a user lists, narrows and disconnects the clients they approved."""

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
from audit.usage import ConnectionUsage
from console import personal_tokens
from oauth import scopes
from oauth.consent import scope_choices
from oauth.endpoints import replies
from oauth.grants import connections
from oauth.grants.connections import ClientGroup, ConnectionEnded, NoSuchConnection, UserConnection
from oauth.scopes import ScopeDescription, ScopeSet
from workspace.models import User

Given = ParamSpec("Given")
Page: TypeAlias = Callable[Concatenate[HttpRequest, User, Given], HttpResponse]
View: TypeAlias = Callable[Concatenate[HttpRequest, Given], HttpResponse]

JUST_NOW: Final = 60  # seconds
RECENT_CALLS: Final = 10
READING_FIRST: Final = ("read", "act")


@dataclass(frozen=True, slots=True)
class Card:
    """The context of a connection: its scopes in words, and its usage."""

    connection: UserConnection
    may: tuple[ScopeDescription, ...]
    used: ConnectionUsage

    @property
    def last_used(self) -> str:
        return _ago(self.used)

    @property
    def calls(self) -> str:
        """The number of calls, or that there are more than are counted."""
        if self.used.calls < usage.MAX_CALLS:
            return str(self.used.calls)
        return _("%(n)d or more") % {"n": usage.MAX_CALLS}


@dataclass(frozen=True, slots=True)
class ClientCard:
    """A client in the list: its latest connection, and the earlier ones in brief."""

    latest: Card
    earlier: tuple[Card, ...]
    total: int
    unlisted: int


def _for_its_person(page: Page[Given]) -> View[Given]:
    """Requires sign-in. Another user's connection is a 404, like one that does not exist."""

    @wraps(page)
    def wrapper(request: HttpRequest, /, *args: Given.args, **kwargs: Given.kwargs) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        try:
            response = page(request, request.user, *args, **kwargs)
        except NoSuchConnection as missing:
            raise Http404 from missing
        except ConnectionEnded:
            messages.info(request, _("This connection was already disconnected."))
            response = redirect("connections")
        return replies.private(response)

    return wrapper


@require_safe
@_for_its_person
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the connections by client, and those that ended within 30 days."""
    search = request.GET.get("q", "").replace("\0", "")
    found = connections.living(user, search=search, number=request.GET.get("page", "1"))
    used = usage.summarize([one.id for one in found.connections])
    context = {
        "found": found,
        "clients": [_client_card(group, used) for group in found.groups],
        "ended": connections.list_ended(user),
        "tokens": personal_tokens.active(user),
    }
    return render(request, "console/connections.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def connection(request: HttpRequest, user: User, connection_id: UUID) -> HttpResponse:
    """Shows one connection; POST keeps the selected scopes, and never adds one."""
    shown = connections.mine(user, connection_id)
    if request.method != "POST":
        return _connection_page(request, shown)
    try:
        taken = _narrow(request, user, connection_id)
    except connections.NothingKept:
        problem = _("Select at least one permission, or disconnect the client.")
        return _connection_page(request, shown, problem)
    except connections.ScopeNotHeld:
        return _connection_page(request, connections.mine(user, connection_id), _stale_message())
    _tell(request, connections.mine(user, connection_id), taken)
    return redirect("connection", connection_id)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def revoke(request: HttpRequest, user: User, connection_id: UUID) -> HttpResponse:
    """Confirms and disconnects one connection; with `all` in the form, all of its client."""
    every_one = "all" in (request.POST if request.method == "POST" else request.GET)
    shown = connections.mine(user, connection_id)
    if request.method != "POST":
        total = len(connections.list_by_client(user, connection_id)) if every_one else 1
        context = {"card": _only_card(shown), "of_client": total if total > 1 else 0}
        return render(request, "console/connection_revoke.html", context)
    address = replies.address_of(request)
    client = {"client": _isolate_name(shown.client_name)}
    if every_one:
        count = connections.revoke_client(user, connection_id, address=address)
        text = ngettext(
            "Disconnected %(n)d connection of %(client)s. It no longer has access.",
            "Disconnected %(n)d connections of %(client)s. It no longer has access.",
            count,
        )
        messages.success(request, text % {"n": count, **client})
    else:
        connections.revoke(user, connection_id, address=address)
        messages.success(request, _("Disconnected %(client)s. It no longer has access.") % client)
    return redirect("connections")


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def ask_again(request: HttpRequest, user: User, connection_id: UUID) -> HttpResponse:
    """Ends “Don't ask again” for one connection, which stays connected.

    GET, the request after signing in again, shows the connection with its button.
    """
    if request.method != "POST":
        return redirect("connection", connections.mine(user, connection_id).id)
    now = connections.ask_again(user, connection_id, address=replies.address_of(request))
    text = _("You will be asked the next time %(client)s connects.")
    messages.success(request, text % {"client": _isolate_name(now.client_name)})
    return redirect("connection", connection_id)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_its_person
def revoke_all(request: HttpRequest, user: User) -> HttpResponse:
    """Confirms and disconnects every client."""
    if request.method != "POST":
        context = {"total": connections.total(user)}
        return render(request, "console/connection_revoke.html", context)
    count = connections.revoke_all(user, address=replies.address_of(request))
    text = ngettext("Disconnected %(n)d client.", "Disconnected %(n)d connections.", count)
    messages.success(request, text % {"n": count})
    return redirect("connections")


def _connection_page(
    request: HttpRequest, shown: UserConnection, problem: str = ""
) -> HttpResponse:
    context = {
        "card": _only_card(shown),
        "scope_groups": scope_choices.groups(shown.scope, shown.organization_id),
        "calls": usage.recent(shown.id, limit=RECENT_CALLS),
        "is_of_project": any(scope.project is not None for scope in shown.scope),
        "problem": problem,
    }
    status = HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK
    return render(request, "console/connection.html", context, status=status)


def _narrow(request: HttpRequest, user: User, connection_id: UUID) -> ScopeSet:
    ticked = request.POST.getlist("scope")
    return connections.narrow(user, connection_id, ticked, address=replies.address_of(request))


def _stale_message() -> str:
    return _(
        "No change: this connection no longer has one of the permissions you sent. It may have "
        "been changed in another tab. The current permissions are shown below."
    )


def _tell(request: HttpRequest, now: UserConnection, taken: ScopeSet) -> None:
    if not taken:
        messages.info(request, _("No change: nothing was unticked."))
        return
    implied = ScopeSet(tuple(scope for scope in taken if now.scope.covers(scope)))
    gone = ScopeSet(tuple(scope for scope in taken if scope not in implied))
    if gone:
        text = _("Saved. Removed with immediate effect: %(titles)s.")
        messages.success(request, text % {"titles": _titles(gone)})
    if implied:
        # A wider scope that is kept still includes it.
        text = _("Still allowed, because a remaining permission includes it: %(titles)s.")
        messages.warning(request, text % {"titles": _titles(implied)})


def _client_card(group: ClientGroup, used: Mapping[UUID, ConnectionUsage]) -> ClientCard:
    latest, *earlier = (_card(one, used) for one in group.shown_connections)
    return ClientCard(latest, tuple(earlier), group.total, group.unlisted_count)


def _only_card(shown: UserConnection) -> Card:
    return _card(shown, usage.summarize([shown.id]))


def _card(shown: UserConnection, used: Mapping[UUID, ConnectionUsage]) -> Card:
    return Card(shown, _describe_scope(shown.scope), used.get(shown.id, usage.NEVER_USED))


def _describe_scope(scope: ScopeSet) -> tuple[ScopeDescription, ...]:
    names = scope_choices.names(scope)
    described = [scopes.describe(one, names) for one in scope]
    return tuple(sorted(described, key=lambda words: READING_FIRST.index(words.kind)))


def _titles(scope: ScopeSet) -> str:
    return ", ".join(words.title for words in _describe_scope(scope))


def _ago(used: ConnectionUsage) -> str:
    if used.last_at is None:
        return _("Never")
    if (timezone.now() - used.last_at).total_seconds() < JUST_NOW:
        return _("Just now")
    return _("%(span)s ago") % {"span": timesince(used.last_at, depth=1)}


def _isolate_name(name: str) -> str:
    # A client chooses its name: isolated, it cannot change the direction of the sentence (Unicode
    # UAX 9, 2.4).
    return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
