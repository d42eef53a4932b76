"""The home page and the documentation."""

from collections.abc import Iterable, Sequence
from typing import Final

from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import connect
from console import documentation as docs
from documentation import markdown
from workspace.models import Membership

MCP_PATH: Final = "/api/mcp"
# How long a browser shows an image without asking again.
IMAGE_SECONDS: Final = 3600


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Shows what this is and how to connect; signed-in users also see links to their pages."""
    mcp_url = settings.HALO_PUBLIC_URL + MCP_PATH
    context = {
        "mcp_url": mcp_url,
        "clients": connect.clients(mcp_url),
        "memberships": _memberships(request),
    }
    return render(request, "console/home.html", context)


@require_safe
def documentation_index(request: HttpRequest) -> HttpResponse:
    """Lists every page, or the search results for `?q=`."""
    context: dict[str, object] = {"groups": _groups(request)}
    question = docs.clean_query(request.GET.get("q", ""))
    if not question:
        return render(request, "console/documentation_index.html", context)
    context |= {"query": question, "passages": docs.passages(question)}
    return render(request, "console/documentation_results.html", context)


@require_safe
def documentation(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows one public page. Raises Http404 for an unknown slug."""
    return _page(request, slug, folder="")


@require_safe
def staff_documentation(request: HttpRequest, folder: str, slug: str) -> HttpResponse:
    """Shows an operator or developer page to users who may open the admin.

    Raises Http404 for all others, as for a page that does not exist.
    """
    if folder not in markdown.STAFF_FOLDERS or not admin.site.has_permission(request):
        raise Http404
    return _page(request, slug, folder)


@require_safe
def documentation_image(request: HttpRequest, name: str) -> HttpResponse:  # noqa: ARG001  a view
    """Sends an image of the pages. Raises Http404 for an unknown name."""
    image = docs.image(name)
    if image is None:
        raise Http404
    headers = {"Cache-Control": f"public, max-age={IMAGE_SECONDS}"}
    return HttpResponse(image, content_type="image/png", headers=headers)


def _page(request: HttpRequest, slug: str, folder: str) -> HttpResponse:
    source = docs.source(slug, folder)
    if source is None:
        raise Http404
    context = {
        "groups": _groups(request),
        "here": docs.url_of(slug, folder),
        "page": markdown.read_page(slug, source),
        "content": markdown.render_html(source, folder),
    }
    return render(request, "console/documentation_page.html", context)


def _groups(request: HttpRequest) -> Sequence[docs.PageGroup]:
    return docs.groups(staff=admin.site.has_permission(request))


def _memberships(request: HttpRequest) -> Iterable[Membership]:
    if not request.user.is_authenticated:
        return ()
    mine = request.user.memberships.select_related("organization")
    return mine.order_by("organization__name")
