"""data_search_knowledge: passages of the organization's documents."""

from typing import Annotated, Final

import knowledge
from data_tools.query import DataToolCall, data_tool, invalid_argument, number_limits, results, text
from knowledge import KnowledgeHit
from tools_registry.api import Facts, Json, Keywords, Toolset
from workspace import access
from workspace.models import SourceStatus

TOOLSET: Final = Toolset(scope="data:read", title="Knowledge")

MAX_TITLES: Final = 20


@data_tool(
    TOOLSET,
    title="Search the knowledge base",
    description=(
        "Search the knowledge base by meaning and words; passages to cite. "
        "For the documentation of Halo use search_docs."
    ),
)
def data_search_knowledge(
    call: DataToolCall,
    query: Annotated[str, text(200, "A question or words"), Keywords(minLength=2)],
    source: Annotated[str, text(300, "Id or title of one document or site")] | None = None,
    page_size: Annotated[int, number_limits(1, 20)] = 5,
) -> Facts:
    if not query.strip():
        raise invalid_argument("query", "must not be empty.")
    hits = knowledge.search(call.access, query.strip(), source=source or "", limit=page_size)
    items = [_item(hit) for hit in hits]
    sent = results.fitting(items)
    return results.answer(
        call,
        items=items[:sent],
        returned=sent,
        hints=_hints(call, source, len(hits), sent),
        rows=sent,
    )


def _item(hit: KnowledgeHit) -> dict[str, Json]:
    title = f"{hit.title} - {hit.heading}" if hit.heading else hit.title
    return {
        "id": str(hit.id),
        "title": title,
        "url": hit.url,
        "source": {"id": hit.source_id, "name": hit.source},
        "position": hit.position,
        "text": hit.text,
        "score": hit.score,
    }


def _hints(call: DataToolCall, source: str | None, found: int, sent: int) -> list[str]:
    if sent < found:
        return [f"{found - sent} more passages did not fit. Use a smaller page_size."]
    if found:
        return []
    ready = access.knowledge_sources(call.access).filter(status=SourceStatus.READY)
    titles = [str(each) for each in ready.only("title", "url").order_by("title")[:MAX_TITLES]]
    if not titles and access.knowledge_sources(call.access).exists():
        return ["The documents are not indexed yet. Try again in a few minutes."]
    if not titles:
        return ["The knowledge base has no documents yet."]
    advice = "Leave source out, or use one of" if source else "Use other words. Documents:"
    return [f"No passage was found. {advice} {', '.join(titles)}."]
