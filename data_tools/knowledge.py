"""data_search_knowledge: passages of the organization's documents."""

from typing import Final

import knowledge
from data_tools.query import DataToolCall, data_tool, integer, invalid_argument, results, text
from knowledge import KnowledgeHit
from tools_registry.api import Facts, Json, Toolset
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
    arguments={
        "query": {**text("A question or words"), "minLength": 2},
        "source": text("Id or title of one document or site", longest=300),
        "page_size": integer(1, 20, default=5),
    },
    required=("query",),
)
def data_search_knowledge(call: DataToolCall) -> Facts:
    query, source = call.arguments["query"].strip(), call.arguments.get("source", "")
    if not query:
        raise invalid_argument("query", "must not be empty.")
    hits = knowledge.search(
        call.access, query, source=source, limit=int(call.arguments["page_size"])
    )
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


def _hints(call: DataToolCall, source: str, found: int, sent: int) -> list[str]:
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
