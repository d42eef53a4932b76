"""The page with all switches of an organization, and the list of organizations that leads to it.

It works without JavaScript: every switch is a form of its own, which says where it is to stand.
So a page that was left open turns nothing the other way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from tools_registry import switchboard, switches
from tools_registry.admin_access import VIEW_SWITCHES, for_staff, require
from tools_registry.switchboard import Switchboard
from tools_registry.switches import OFF, ON, Change, Hand, NoSuchSwitch
from workspace import flags
from workspace.models import Agent, Organization

PAGE_OF: Final = 50
FLAG: Final = "workspace.change_featureflag"
MODE: Final = "tools_registry.change_integrationmode"
ACTION: Final = "tools_registry.change_actiontoggle"


@dataclass(frozen=True, slots=True)
class Turn:
    """What a form asks for: a kind of switch, which one, and where it is to stand."""

    kind: str
    name: str
    to: str

    @property
    def anchor(self) -> str:
        """The place on the page to go back to."""
        return f"{self.kind}-{self.name}" if self.name else ""


@for_staff
@require_http_methods(["GET", "HEAD"])
def index(request: HttpRequest) -> HttpResponse:
    """The organizations whose switches there are; the page itself where there is just one."""
    require(request, *VIEW_SWITCHES)
    found = Organization.objects.order_by("name", "pk")
    search = request.GET.get("q", "").replace("\0", "")[: switchboard.MOST_SEARCHED]
    if not search and found.count() == 1:
        return redirect("admin:tools_registry_switchboard", found.get().pk)
    pages = Paginator(found.filter(name__icontains=search), PAGE_OF)
    context = {"page": pages.get_page(request.GET.get("page")), "search": search}
    return _page(request, "admin/tools_registry/switchboards.html", _("Switches"), context)


@for_staff
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, organization_id: UUID) -> HttpResponse:
    """All switches of one organization; a POST turns one, or those that the search shows."""
    require(request, *VIEW_SWITCHES)
    organization = get_object_or_404(Organization, pk=organization_id)
    given = request.POST if request.method == "POST" else request.GET
    agent = _agent(organization, given.get("agent", ""))
    board = switchboard.read(organization, agent, given.get("q", ""))
    if request.method == "POST":
        return _turned(request, board)
    context = {
        "board": board,
        "recent": switchboard.recent(organization),
        "may": {
            "flag": request.user.has_perm(FLAG),
            "mode": request.user.has_perm(MODE),
            "action": request.user.has_perm(ACTION),
        },
    }
    title = _("Switches of %(organization)s") % {"organization": organization}
    return _page(request, "admin/tools_registry/switchboard.html", title, context)


def _agent(organization: Organization, wanted: str) -> Agent:
    found = switchboard.agents(organization)
    chosen = (agent for agent in found if wanted in {"", str(agent.pk)})
    agent = next(chosen, None)
    if agent is None:
        raise Http404
    return agent


def _turned(request: HttpRequest, board: Switchboard) -> HttpResponse:
    turn = _parsed(request.POST)
    permission, act = VERBS[turn.kind]
    require(request, permission)
    try:
        turned = act(board, turn, switches.hand_of(request))
    except NoSuchSwitch as unknown:
        raise BadRequest(f"There is no switch {str(unknown)!r}.") from unknown
    _say(request, turned, turn)
    return _back(board, turn)


def _parsed(form: Mapping[str, str]) -> Turn:
    kind, _colon, name = form.get("switch", "").partition(":")
    to = form.get("to", "")
    if kind not in VERBS or to not in {ON, OFF}:
        raise BadRequest("The form names no switch, or not where it is to stand.")
    return Turn(kind, name, to)


def _turn_flag(board: Switchboard, turn: Turn, hand: Hand) -> list[Change]:
    return switches.set_flag(board.organization, turn.name, turn.to, hand=hand)


def _turn_mode(board: Switchboard, turn: Turn, hand: Hand) -> list[Change]:
    return switches.set_mode(board.organization, turn.name, turn.to, hand=hand)


def _turn_action(board: Switchboard, turn: Turn, hand: Hand) -> list[Change]:
    integration, _dot, action = turn.name.partition(".")
    return switches.set_actions(board.agent, [(integration, action)], turn.to, hand=hand)


def _turn_shown(board: Switchboard, turn: Turn, hand: Hand) -> list[Change]:
    """What the search shows, of one integration where one is named."""
    chosen = [one for one in board.shown if turn.name in {"", one[0]}]
    return switches.set_actions(board.agent, chosen, turn.to, hand=hand)


VERBS: Final[Mapping[str, tuple[str, Callable[[Switchboard, Turn, Hand], list[Change]]]]] = {
    "flag": (FLAG, _turn_flag),
    "mode": (MODE, _turn_mode),
    "action": (ACTION, _turn_action),
    "shown": (ACTION, _turn_shown),
}


def _say(request: HttpRequest, turned: list[Change], turn: Turn) -> None:
    if not turned:
        messages.info(request, _("Nothing changed: it stood so already."))
    elif turn.kind == "shown":
        words = (
            ngettext("%(n)d action is on now.", "%(n)d actions are on now.", len(turned))
            if turn.to == ON
            else ngettext("%(n)d action is off now.", "%(n)d actions are off now.", len(turned))
        )
        messages.success(request, words % {"n": len(turned)})
    else:
        words = _("Now on: %(name)s") if turn.to == ON else _("Now off: %(name)s")
        messages.success(request, words % {"name": _called(turn)})


def _called(turn: Turn) -> str:
    if turn.kind == "flag":
        return str(flags.TITLES[turn.name])
    if turn.kind == "mode":
        return _("Actions mode of %(integration)s") % {"integration": turn.name}
    return turn.name


def _back(board: Switchboard, turn: Turn) -> HttpResponseRedirect:
    path = reverse("admin:tools_registry_switchboard", args=[board.organization.pk])
    kept = {"q": board.search}
    if not board.decides:
        kept["agent"] = str(board.agent.pk)
    query = urlencode({name: value for name, value in kept.items() if value})
    anchor = f"#{turn.anchor}" if turn.anchor else ""
    return HttpResponseRedirect(f"{path}{'?' if query else ''}{query}{anchor}")


def _page(
    request: HttpRequest, template: str, title: str, context: Mapping[str, Any]
) -> TemplateResponse:
    given = {**admin.site.each_context(request), "title": title, **context}
    return TemplateResponse(request, template, given)
