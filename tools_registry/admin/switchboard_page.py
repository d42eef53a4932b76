"""The page with all switches of an organization, and the list of organizations before it.

It works without JavaScript: every switch is a form of its own that names the wanted state, so a
page that was left open never flips a switch the other way. A command that changes several actions
or stops the MCP server is confirmed first, and every change can be undone from the next page.
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
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from foundation import admin_urls
from tools_registry import registry
from tools_registry.admin import switchboard, switches
from tools_registry.admin.access import (
    VIEW_SWITCHES,
    for_staff,
    organization_or_404,
    recorded_refusal,
    require,
)
from tools_registry.admin.switchboard import ActionSwitch, Switchboard
from tools_registry.admin.switches import OFF, ON, Change, NoSuchSwitch, Operator
from workspace import flags
from workspace.administration.access import reach
from workspace.administration.scoped import events_url
from workspace.models import Agent, Organization

PAGE_OF: Final = 50
MAX_NAMED: Final = 1_000  # actions in one command
CONFIRM: Final = "admin/tools_registry/switch_confirm.html"
FLAG: Final = "workspace.change_featureflag"
MODE: Final = "tools_registry.change_integrationmode"
ACTION: Final = "tools_registry.change_actiontoggle"


UNDO: Final = "switch_undo"  # the key of the session that holds the form of the last change


@dataclass(frozen=True, slots=True)
class SwitchCommand:
    """A switch command of a form: the kind of switch, which one, and the wanted state.

    Of kind `actions` the name is a list of tools, separated by commas.
    """

    kind: str
    name: str
    to: str

    @property
    def anchor(self) -> str:
        """The fragment of the page to return to."""
        if self.kind == "actions" or not self.name:
            return ""
        return f"mode-{self.name}" if self.kind == "shown" else f"{self.kind}-{self.name}"

    @property
    def inverse(self) -> "SwitchCommand":
        return SwitchCommand(self.kind, self.name, OFF if self.to == ON else ON)


@for_staff
@require_http_methods(["GET", "HEAD"])
def index(request: HttpRequest) -> HttpResponse:
    """List the organizations; redirect to the switches where there is only one."""
    require(request, *VIEW_SWITCHES)
    own = reach(request.user, *VIEW_SWITCHES).limit(Organization.objects.all(), "pk")
    found = own.order_by("name", "pk")
    search = request.GET.get("q", "").replace("\0", "")[: switchboard.MAX_SEARCH_LENGTH]
    if not search and found.count() == 1:
        return redirect("admin:tools_registry_switchboard", found.get().pk)
    pages = Paginator(found.filter(name__icontains=search), PAGE_OF)
    context = {"page": pages.get_page(request.GET.get("page")), "search": search}
    return _page(request, "admin/tools_registry/switchboards.html", _("Switches"), context)


@for_staff
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, organization_id: UUID) -> HttpResponse:
    """Show all switches of one organization; a POST changes one, or those that a search shows."""
    organization = organization_or_404(request, organization_id, *VIEW_SWITCHES)
    given = request.POST if request.method == "POST" else request.GET
    agent = _agent(organization, given.get("agent", ""))
    board = switchboard.read(organization, agent, given.get("q", ""))
    if request.method == "POST":
        return _apply_command(request, board)
    context = {
        "board": board,
        "undo": _undo(request, organization),
        "recent": switchboard.recent(organization),
        "events_url": events_url(request, organization=str(organization.pk), topic="switches"),
        "may": {
            "flag": reach(request.user, FLAG).includes(organization.pk),
            "mode": reach(request.user, MODE).includes(organization.pk),
            "action": reach(request.user, ACTION).includes(organization.pk),
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


def _apply_command(request: HttpRequest, board: Switchboard) -> HttpResponse:
    command = _parse_command(request.POST)
    permission, act = VERBS[command.kind]
    if not reach(request.user, permission).includes(board.organization.pk):
        raise recorded_refusal(request)
    affected = _affected_actions(board, command)
    if _needs_confirmation(command, affected) and "confirmed" not in request.POST:
        return _confirmation_page(request, board, command, affected)
    try:
        turned = act(board, command, switches.operator_of(request))
    except NoSuchSwitch as unknown:
        raise BadRequest(f"There is no switch {str(unknown)!r}.") from unknown
    if turned:
        _offer_undo(request, board, command, affected)
    _say(request, turned, command)
    return _back(board, command)


def _affected_actions(board: Switchboard, command: SwitchCommand) -> list[ActionSwitch]:
    """The actions whose state a command for several actions would change."""
    if command.kind != "shown":
        return []
    return [
        one
        for panel in board.panels
        for one in panel.actions
        if command.name in {"", panel.integration}
        and not one.action.destructive
        and one.on != (command.to == ON)
    ]


def _needs_confirmation(command: SwitchCommand, affected: list[ActionSwitch]) -> bool:
    stops_a_feature = command.kind == "flag" and command.to == OFF and command.name in flags.TITLES
    return stops_a_feature or len(affected) > 1


def _confirmation_page(
    request: HttpRequest, board: Switchboard, command: SwitchCommand, affected: list[ActionSwitch]
) -> HttpResponse:
    context = {
        "board": board,
        "command": command,
        "affected": affected,
        "writing": sum(one.action.mutates for one in affected),
        "back": _path(board, command),
    }
    return _page(request, CONFIRM, _question(command, affected), context)


def _question(command: SwitchCommand, affected: list[ActionSwitch]) -> str:
    if command.kind == "flag":
        return _("Turn off the %(name)s?") % {"name": flags.TITLES[command.name]}
    words = (
        ngettext("Turn on %(n)d action?", "Turn on %(n)d actions?", len(affected))
        if command.to == ON
        else ngettext("Turn off %(n)d action?", "Turn off %(n)d actions?", len(affected))
    )
    return words % {"n": len(affected)}


def _offer_undo(
    request: HttpRequest, board: Switchboard, command: SwitchCommand, affected: list[ActionSwitch]
) -> None:
    """Keep the command that reverses this one for the page that comes next."""
    if command.kind == "shown":
        command = SwitchCommand(
            "actions", ",".join(one.action.tool for one in affected), command.to
        )
    undo = command.inverse
    request.session[UNDO] = {
        "organization": str(board.organization.pk),
        "agent": str(board.agent.pk),
        "switch": f"{undo.kind}:{undo.name}",
        "to": undo.to,
        "q": board.search,
    }


def _undo(request: HttpRequest, organization: Organization) -> Mapping[str, str] | None:
    """The fields of the Undo form, once; None where the last change was made elsewhere."""
    kept: dict[str, str] | None = request.session.pop(UNDO, None)
    return kept if kept and kept["organization"] == str(organization.pk) else None


def _parse_command(form: Mapping[str, str]) -> SwitchCommand:
    kind, _colon, name = form.get("switch", "").partition(":")
    to = form.get("to", "")
    if kind not in VERBS or to not in {ON, OFF}:
        raise BadRequest("The form names no switch or no state.")
    return SwitchCommand(kind, name, to)


def _turn_flag(board: Switchboard, command: SwitchCommand, operator: Operator) -> list[Change]:
    return switches.set_flag(board.organization, command.name, command.to, operator=operator)


def _turn_mode(board: Switchboard, command: SwitchCommand, operator: Operator) -> list[Change]:
    return switches.set_mode(board.organization, command.name, command.to, operator=operator)


def _turn_action(board: Switchboard, command: SwitchCommand, operator: Operator) -> list[Change]:
    integration, _dot, action = command.name.partition(".")
    return switches.set_actions(board.agent, [(integration, action)], command.to, operator=operator)


def _turn_actions(board: Switchboard, command: SwitchCommand, operator: Operator) -> list[Change]:
    named = [tool.partition(".") for tool in command.name.split(",")[:MAX_NAMED]]
    chosen = [(integration, action) for integration, _dot, action in named]
    return switches.set_actions(board.agent, chosen, command.to, operator=operator)


def _turn_shown(board: Switchboard, command: SwitchCommand, operator: Operator) -> list[Change]:
    """Change the actions that the search shows, of one integration if one is named."""
    chosen = [one for one in board.switchable_actions if command.name in {"", one[0]}]
    return switches.set_actions(board.agent, chosen, command.to, operator=operator)


VERBS: Final[
    Mapping[str, tuple[str, Callable[[Switchboard, SwitchCommand, Operator], list[Change]]]]
] = {
    "flag": (FLAG, _turn_flag),
    "mode": (MODE, _turn_mode),
    "action": (ACTION, _turn_action),
    "actions": (ACTION, _turn_actions),
    "shown": (ACTION, _turn_shown),
}


def _say(request: HttpRequest, turned: list[Change], command: SwitchCommand) -> None:
    if not turned:
        messages.info(request, _("No change: already set."))
    elif command.kind in {"actions", "shown"}:
        words = (
            ngettext("Turned on %(n)d action.", "Turned on %(n)d actions.", len(turned))
            if command.to == ON
            else ngettext("Turned off %(n)d action.", "Turned off %(n)d actions.", len(turned))
        )
        messages.success(request, words % {"n": len(turned)})
    else:
        words = _("Turned on: %(name)s") if command.to == ON else _("Turned off: %(name)s")
        messages.success(request, words % {"name": _switch_title(command)})


def _switch_title(command: SwitchCommand) -> str:
    if command.kind == "flag":
        return str(flags.TITLES[command.name])
    if command.kind == "mode":
        title = registry.title(command.name)
        return _("Actions mode of %(integration)s") % {"integration": title}
    return command.name


def _back(board: Switchboard, command: SwitchCommand) -> HttpResponseRedirect:
    return HttpResponseRedirect(_path(board, command))


def _path(board: Switchboard, command: SwitchCommand) -> str:
    """The page that the command came from, at the switch that it names."""
    path = admin_urls.page_url("tools_registry_switchboard", board.organization.pk)
    kept = {"q": board.search}
    if not board.decides:
        kept["agent"] = str(board.agent.pk)
    query = urlencode({name: value for name, value in kept.items() if value})
    anchor = f"#{command.anchor}" if command.anchor else ""
    return f"{path}{'?' if query else ''}{query}{anchor}"


def _page(
    request: HttpRequest, template: str, title: str, context: Mapping[str, Any]
) -> TemplateResponse:
    given = {**admin.site.each_context(request), "title": title, **context}
    return TemplateResponse(request, template, given)
