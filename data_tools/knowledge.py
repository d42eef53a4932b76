"""data_search_knowledge: passages of the organization's documents."""

from typing import Annotated, Final

import knowledge
from data_tools.query import (
    DataToolCall,
    data_tool,
    invalid_argument,
    listing,
    number_limits,
    results,
    text,
)
from knowledge import AmbiguousSource, KnowledgeAnswer, KnowledgeHit
from tools_registry.api import Facts, Json, Keywords, Toolset
from workspace import access
from workspace.models import SourceStatus

TOOLSET: Final = Toolset(scope="data:read", title="Knowledge")

MAX_TITLES: Final = 20
MAX_WORDS: Final = 10
NEAREST: Final = "`nearest` has passages that do not fit: do not cite them as an answer."
RESULT: Final = results.schema(**results.LISTED, fits=results.TRUTH, nearest=results.LIST)


@data_tool(
    TOOLSET,
    title="Search the knowledge base",
    description=(
        "Search the knowledge base by meaning and words; passages to cite. "
        "For the documentation of Halo use search_docs."
    ),
    result=RESULT,
)
def data_search_knowledge(
    call: DataToolCall,
    query: Annotated[str, text(200, "A question or words"), Keywords(minLength=2)],
    source: Annotated[str, text(300, "Id or title of one document or site")] | None = None,
    page_size: Annotated[int, number_limits(1, 20)] = 5,
) -> Facts:
    if not query.strip():
        raise invalid_argument("query", "must not be empty.")
    try:
        found = knowledge.search(call.access, query.strip(), source=source or "", limit=page_size)
    except AmbiguousSource as ambiguous:
        raise invalid_argument("source", _describe_candidates(call, ambiguous)) from None
    items = [_item(call, hit) for hit in found.hits]
    sent = results.fitting(items)
    return results.answer(
        call,
        items=items[:sent],
        fits=sent > 0,
        returned=sent,
        searched={"ignored_words": [*found.ignored]},
        hints=_hints(call, source, found, sent),
        rows=sent + len(found.nearest),
        last={"nearest": [_item(call, hit) for hit in found.nearest]},
    )


def _describe_candidates(call: DataToolCall, ambiguous: AmbiguousSource) -> str:
    newest, *others = ambiguous.candidates
    listed = [f"{newest.id} (the newest, added {call.when(newest.added_at)})"]
    listed += [f"{each.id} (added {call.when(each.added_at)})" for each in others[:MAX_WORDS]]
    return f"is the title of {len(others) + 1} documents. Send an id: {', '.join(listed)}."


def _item(call: DataToolCall, hit: KnowledgeHit) -> dict[str, Json]:
    title = f"{hit.title} - {hit.heading}" if hit.heading else hit.title
    return {
        "id": str(hit.id),
        "title": title,
        "path": hit.heading,
        "url": hit.url,
        "source": {"id": hit.source_id, "name": hit.source},
        "position": hit.position,
        "text": hit.text,
        "score": hit.score,
        "read_at": call.when(hit.read_at),
    }


def _hints(call: DataToolCall, source: str | None, found: KnowledgeAnswer, sent: int) -> list[str]:
    hints = _describe_words(found)
    if sent < len(found.hits):
        left = len(found.hits) - sent
        hints.append(f"{left} more passages did not fit. Use a smaller page_size.")
    if not found.hits:
        hints = [_describe_documents(call, source), *hints]
    if found.nearest:
        hints.append(NEAREST)
    return hints


def _describe_words(found: KnowledgeAnswer) -> list[str]:
    hints = []
    if found.missing:
        hints.append(f"No passage has: {', '.join(found.missing[:MAX_WORDS])}.")
    if found.ignored:
        hints.append(listing.IGNORED.format(words=", ".join(found.ignored[:MAX_WORDS])))
    return hints


def _describe_documents(call: DataToolCall, source: str | None) -> str:
    """Returns what the documents are that have no passage which fits."""
    ready = access.knowledge_sources(call.access).filter(status=SourceStatus.READY)
    titles = [str(each) for each in ready.only("title", "url").order_by("title")[:MAX_TITLES]]
    if not titles and access.knowledge_sources(call.access).exists():
        return "The documents are not indexed yet. Try again in a few minutes."
    if not titles:
        return "The knowledge base has no documents yet."
    advice = "Leave source out, or use one of" if source else "Use other words. Documents:"
    return f"Nothing in the knowledge base fits. {advice} {', '.join(titles)}."
