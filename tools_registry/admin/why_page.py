"""The page that explains why a token can or cannot use a tool, layer by layer."""

from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from oauth.grants import token_status
from oauth.grants.token_status import TokenStatus
from tools_registry.admin import why
from tools_registry.admin.access import VIEW_SWITCHES, for_staff, require
from tools_registry.admin.why import UnknownTool
from tools_registry.pipeline import surfaces
from workspace.administration.access import Reach, reach

VIEW_TOKENS: Final = ("oauth.view_accesstoken", "oauth.view_authorization")
# Prefixes of tokens: a pasted token must not be shown on a page.
SECRETS: Final = ("halo_", "bearer ")


@for_staff
@require_http_methods(["GET", "HEAD"])
def page(request: HttpRequest) -> TemplateResponse:
    """Ask with an id of a token or an authorization, and a tool; changes nothing.

    `authorization` is looked up where the token is gone: expired ones are deleted.
    """
    require(request, *VIEW_SWITCHES, *VIEW_TOKENS)
    reference, tool = (request.GET.get(name, "").strip() for name in ("token", "tool"))
    own = reach(request.user, *VIEW_SWITCHES, *VIEW_TOKENS)
    status = _own(token_status.explain(reference), own) or _own(
        token_status.explain(request.GET.get("authorization", "")), own
    )
    is_secret = reference.lower().startswith(SECRETS)
    context = {
        **admin.site.each_context(request),
        "title": _("Why can't this token see that tool?"),
        "token": _token_reference(reference, status, is_secret=is_secret),
        "tool": tool,
        "status": status,
        "problem": _problem(reference, status, is_secret=is_secret),
        "choices": [] if status or is_secret else token_status.newest(reference, own),
        **_explanation_context(status, tool),
    }
    return TemplateResponse(request, "admin/tools_registry/why.html", context)


def _own(status: TokenStatus | None, own: Reach) -> TokenStatus | None:
    """Returns None for another organization's token, as for an unknown one."""
    return status if status is not None and own.includes(status.organization_id) else None


def _token_reference(reference: str, status: TokenStatus | None, *, is_secret: bool) -> str:
    if status is not None:
        return status.token_id or status.authorization_id
    return "" if is_secret else reference


def _problem(reference: str, status: TokenStatus | None, *, is_secret: bool) -> str:
    if is_secret:
        return _("This looks like a token. Enter its id instead, which the audit log shows.")
    if reference and status is None:
        return _("No token or authorization has this id. Expired tokens are deleted.")
    return ""


def _explanation_context(status: TokenStatus | None, tool: str) -> dict[str, Any]:
    if status is None:
        return {}
    workspace = surfaces.get_mounted(surfaces.WORKSPACE_NAME)
    names = {"tool_names": why.tool_names(status, workspace)}
    if not tool:
        return names
    try:
        return {**names, "explanation": why.explain(status, tool, workspace)}
    except UnknownTool:
        return {**names, "unknown_tool": tool}
