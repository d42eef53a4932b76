"""“Ask your organization”: a signed-in person calls a tool by a form and reads the answer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from console.ask import answers, calling, fields
from console.ask.calling import CallReply
from foundation.concurrency import page_threads
from oauth import memberships
from oauth.endpoints import replies
from oauth.principal import Principal, Unauthenticated
from tools_registry.api import Tool
from tools_registry.pipeline import gate
from workspace.models import Organization, User

Given = ParamSpec("Given")
View: TypeAlias = Callable[Concatenate[HttpRequest, Given], HttpResponse]
Page: TypeAlias = Callable[Concatenate[HttpRequest, User, Given], HttpResponse]


@dataclass(frozen=True, slots=True)
class AskContext:
    """Whose tools are called, and as whom. `is_only` if the person has one organization."""

    principal: Principal
    organization: Organization
    is_only: bool


def _for_members(page: Page[Given]) -> View[Given]:
    """Requires sign-in. An organization of others is a 404, like one that does not exist."""

    @wraps(page)
    def wrapper(request: HttpRequest, /, *args: Given.args, **kwargs: Given.kwargs) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        try:
            return replies.private(page(request, request.user, *args, **kwargs))
        except Unauthenticated:
            raise Http404 from None

    return wrapper


@require_safe
@_for_members
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the person's organizations, or opens the only one."""
    mine = _organizations(user)
    if len(mine) == 1:
        return redirect("ask_tools", mine[0].pk)
    return render(request, "console/ask.html", {"organizations": mine})


@require_safe
@_for_members
def tools(request: HttpRequest, user: User, organization_id: UUID) -> HttpResponse:
    """Lists the tools that the person can call in an organization."""
    place = _place(user, organization_id)
    context = {
        "place": place,
        "groups": calling.groups(place.principal),
        "problem": gate.flag(mcp_server_on=place.principal.mcp_server_on).message,
    }
    return render(request, "console/ask_tools.html", context)


@page_threads.may_wait
@require_http_methods(["GET", "HEAD", "POST"])
@_for_members
def tool(request: HttpRequest, user: User, organization_id: UUID, name: str) -> HttpResponse:
    """Shows the form of a tool; POST calls it and shows the answer below the form."""
    place = _place(user, organization_id)
    found = calling.SURFACE.catalogue.find(name, organization_id)
    if found is None:
        raise Http404
    if request.method != "POST":
        problem = calling.refusal(place.principal, found)
        reply = CallReply(status=403, problem=problem) if problem else CallReply()
        return _page(request, place, found, reply)
    sent = fields.arguments(found.input_schema, request.POST)
    reply = calling.call(place.principal, found, sent, replies.address_of(request))
    return _page(request, place, found, reply, answers.curl(found.name, sent))


def _page(
    request: HttpRequest, place: AskContext, tool: Tool, reply: CallReply, curl: str = ""
) -> HttpResponse:
    posted = request.POST if request.method == "POST" else None
    form = fields.build_form(tool.input_schema, posted, reply.failure)
    context = {
        "place": place,
        "tool": tool,
        # A tool that would be refused has no form.
        "form": None if posted is None and reply.problem else form,
        # An error shown at a field is not repeated above the form.
        "problem": "" if form.has_errors else reply.problem,
        "answer": None if reply.result is None else answers.from_result(reply.result),
        "is_first_page": posted is None or not posted.get(fields.PREFIX + fields.CURSOR),
        "cursor_name": fields.PREFIX + fields.CURSOR,
        "curl": curl,
    }
    response = render(request, "console/ask_tool.html", context, status=reply.status)
    for name, value in reply.headers.items():
        response[name] = value
    return response


def _place(user: User, organization_id: UUID) -> AskContext:
    """The organization by its id. Raises Unauthenticated."""
    principal = memberships.principal(user.pk, organization_id)
    mine = _organizations(user)
    organization = next((one for one in mine if one.pk == organization_id), None)
    if organization is None:
        raise Unauthenticated
    return AskContext(principal, organization, len(mine) == 1)


def _organizations(user: User) -> list[Organization]:
    return list(Organization.objects.filter(pk__in=user.active_roles).order_by("name"))
