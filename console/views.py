"""The pages of the console: the way in, and the documentation."""

from collections.abc import Iterable
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import connect
from console import documentation as docs
from tools_registry.documentation import markdown
from workspace.models import Membership

MCP_PATH: Final = "/api/mcp"


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Say what this is and how to connect to it, and to whom it is known, where they belong."""
    mcp_url = settings.HALO_PUBLIC_URL + MCP_PATH
    context = {
        "mcp_url": mcp_url,
        "clients": connect.clients(mcp_url),
        "memberships": _memberships(request),
    }
    return render(request, "console/home.html", context)


@require_safe
def documentation_index(request: HttpRequest) -> HttpResponse:
    """List every page, or with `?q=` the passages that answer."""
    context: dict[str, object] = {"pages": docs.links()}
    question = docs.asked(request.GET.get("q", ""))
    if not question:
        return render(request, "console/documentation_index.html", context)
    context |= {"query": question, "passages": docs.passages(question)}
    return render(request, "console/documentation_results.html", context)


@require_safe
def documentation(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one page. Raises Http404 for a slug that names none."""
    source = docs.source(slug)
    if source is None:
        raise Http404
    context = {
        "pages": docs.links(),
        "page": markdown.read_page(slug, source),
        "content": markdown.render_html(source),
    }
    return render(request, "console/documentation_page.html", context)


def _memberships(request: HttpRequest) -> Iterable[Membership]:
    if not request.user.is_authenticated:
        return ()
    mine = request.user.memberships.select_related("organization")
    return mine.order_by("organization__name")
