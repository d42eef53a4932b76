"""The public documentation, the same for every organization: to search, and to read page by page.

Tools and `docs://` resources hold the same pages: some hosts show only one of the two.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from documentation import search
from tools_registry.api import (
    Facts,
    Keywords,
    ListedResource,
    NotFound,
    ResourceBody,
    ToolContext,
    Toolset,
    ValidationFailure,
)

TOOLSET: Final = Toolset(scope="docs:read", title="Documentation")

MAX_HITS: Final = 25
USUAL_HITS: Final = 5
MAX_QUERY_LENGTH: Final = 1_000
MAX_WORDS: Final = 10

TEXT: Final = {"type": "string"}
HIT: Final = {
    "page": TEXT,
    "title": TEXT,
    "heading": TEXT,
    "snippet": TEXT,
    "score": {"type": "number"},
    "url": TEXT,
}
HITS: Final = {
    "type": "object",
    "properties": {
        "query": TEXT,
        "results": {
            "type": "array",
            "items": {"type": "object", "properties": HIT, "required": list(HIT)},
        },
        "hints": {"type": "array", "items": TEXT},
    },
    "required": ["query", "results"],
}
PAGE: Final = {
    "type": "object",
    "properties": {"page": TEXT, "title": TEXT, "url": TEXT, "text": TEXT},
    "required": ["page", "title", "url", "text"],
}


@TOOLSET.tool(
    title="Search the documentation",
    description=(
        "Search the public Halo Agents documentation. Returns ranked sections with a snippet and "
        "the page to open with read_doc."
    ),
    output_schema=HITS,
)
def search_docs(context: ToolContext, query: str, page_size: float | None = None) -> Facts:
    query = query.strip()
    if not query:
        raise ValidationFailure(
            "The query must not be empty.", field="query", reason="must not be empty"
        )
    if len(query) > MAX_QUERY_LENGTH:
        why = f"must have at most {MAX_QUERY_LENGTH} characters"
        raise ValidationFailure("The query is too long.", field="query", reason=why)
    found = search.answer(query, USUAL_HITS if page_size is None else _page_size(page_size))
    hints = []
    if not found.fits:
        hints.append("Nothing in the documentation fits: no section has half of the question.")
    if found.missing:
        hints.append(f"No section has: {', '.join(found.missing[:MAX_WORDS])}.")
    return Facts(
        {
            "query": query,
            "hints": hints,
            "results": [
                {
                    "page": hit.page,
                    "title": hit.title,
                    "heading": hit.heading,
                    "snippet": hit.snippet,
                    "score": hit.score,
                    "url": _url(context, hit.page, hit.anchor),
                }
                for hit in found.hits
            ],
        }
    )


@TOOLSET.tool(
    title="Read a documentation page",
    description=(
        "Read one page of the public Halo Agents documentation as Markdown. Take the page's name "
        "from search_docs."
    ),
    output_schema=PAGE,
)
def read_doc(
    context: ToolContext,
    page: Annotated[str, Keywords(maxLength=200, description="Such as getting-started")],
) -> Facts:
    found = search.read(page)
    if found is None:
        raise NotFound(f"Page {page[:100]!r} does not exist. Use search_docs to find a page.")
    url = _url(context, found.slug, "")
    return Facts({"page": found.slug, "title": found.title, "url": url, "text": found.text})


def _pages(_context: ToolContext) -> list[ListedResource]:
    return [ListedResource({"page": slug}, slug, title) for slug, title in search.pages()]


def _slugs(_context: ToolContext, typed: str, _others: Mapping[str, str]) -> list[str]:
    slugs = sorted(slug for slug, _ in search.pages())
    fitting = [slug for slug in slugs if typed.lower() in slug]
    # Stable: those that begin so first, each part in the order of the alphabet.
    return sorted(fitting, key=lambda slug: not slug.startswith(typed.lower()))


@TOOLSET.template(
    uri_template="docs://{page}",
    title="A documentation page",
    description="One page of the public Halo Agents documentation.",
    mime_type="text/markdown",
    listed=_pages,
    completions={"page": _slugs},
)
def documentation_page(_context: ToolContext, variables: Mapping[str, str]) -> ResourceBody:
    page = search.read(variables["page"])
    if page is None:
        raise NotFound("The page does not exist.")
    return ResourceBody(page.text)


def page_text(name: str) -> str:
    """The text of a page for a skill. Raises NotFound."""
    page = search.read(name)
    if page is None:
        raise NotFound("The page does not exist.")
    return page.text


def reference_files(*names: str) -> Mapping[str, str]:
    """Pages as files of a skill, by their paths; a deployment may have other pages."""
    pages = {name: search.read(name) for name in names}
    return {f"references/{name}.md": page.text for name, page in pages.items() if page}


def _page_size(asked: float) -> int:
    if asked != int(asked) or not 1 <= asked <= MAX_HITS:
        why = f"must be a whole number from 1 to {MAX_HITS}"
        raise ValidationFailure("Invalid page size.", field="page_size", reason=why)
    return int(asked)


def _url(context: ToolContext, page: str, anchor: str) -> str:
    return f"{context.public_url}/docs/{page}" + (f"#{anchor}" if anchor else "")
