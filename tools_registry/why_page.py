"""“Why can't this token see that tool?”: the answers of all layers, and how to change them."""

from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from oauth import standing
from oauth.standing import Standing
from tools_registry import why
from tools_registry.admin_access import VIEW_SWITCHES, for_staff, require
from tools_registry.why import UnknownTool

VIEW_TOKENS: Final = ("oauth.view_accesstoken", "oauth.view_authorization")
# What a token itself begins with: somebody pasted what must not stand on a page.
SECRETS: Final = ("halo_", "bearer ")


@for_staff
@require_http_methods(["GET", "HEAD"])
def page(request: HttpRequest) -> TemplateResponse:
    """Ask with an id of a token or an authorization, and a tool; changes nothing.

    `authorization` is looked up where the token is gone: expired ones are deleted.
    """
    require(request, *VIEW_SWITCHES, *VIEW_TOKENS)
    reference, tool = (request.GET.get(name, "").strip() for name in ("token", "tool"))
    behind = standing.behind(reference) or standing.behind(request.GET.get("authorization", ""))
    is_secret = reference.lower().startswith(SECRETS)
    context = {
        **admin.site.each_context(request),
        "title": _("Why can't this token see that tool?"),
        "token": _shown(reference, behind, is_secret=is_secret),
        "tool": tool,
        "standing": behind,
        "problem": _problem(reference, behind, is_secret=is_secret),
        "choices": [] if behind or is_secret else standing.newest(reference),
        **_explained(behind, tool),
    }
    return TemplateResponse(request, "admin/tools_registry/why.html", context)


def _shown(reference: str, behind: Standing | None, *, is_secret: bool) -> str:
    if behind is not None:
        return behind.token_id or behind.authorization_id
    return "" if is_secret else reference


def _problem(reference: str, behind: Standing | None, *, is_secret: bool) -> str:
    if is_secret:
        return _("That looks like a token. Give its id: the audit log has it.")
    if reference and behind is None:
        return _("No token and no authorization has this id. Expired tokens are deleted in time.")
    return ""


def _explained(behind: Standing | None, tool: str) -> dict[str, Any]:
    if behind is None:
        return {}
    names = {"tool_names": why.tool_names(behind)}
    if not tool:
        return names
    try:
        return {**names, "explanation": why.explain(behind, tool)}
    except UnknownTool:
        return {**names, "unknown_tool": tool}
