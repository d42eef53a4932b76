"""The embedder and the reranker that the settings name."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from django.conf import settings

from retrieval.hashed import HashedEmbedder
from retrieval.hosted import OpenAIEmbedder, Service, VoyageEmbedder, VoyageReranker
from retrieval.interfaces import Embedder, Reranker

OPENAI: Final = "https://api.openai.com/v1"
VOYAGE: Final = "https://api.voyageai.com/v1"

Choice = tuple[str, str, str, str]

EMBEDDERS: Final[Mapping[str, Callable[[Choice], Embedder]]] = {
    "offline": lambda _choice: HashedEmbedder(),
    "voyage": lambda choice: VoyageEmbedder(_service(choice, VOYAGE, "voyage-3.5")),
    "openai": lambda choice: OpenAIEmbedder(_service(choice, OPENAI, "text-embedding-3-small")),
}
OFFLINE: Final = "offline"
RERANKERS: Final[Mapping[str, Callable[[Choice], Reranker | None]]] = {
    OFFLINE: lambda _choice: None,
    "voyage": lambda choice: VoyageReranker(_service(choice, VOYAGE, "rerank-2.5")),
    "none": lambda _choice: None,
}


def embedder() -> Embedder:
    """Returns the embedder of HALO_EMBEDDER."""
    return _embedder(
        (
            settings.HALO_EMBEDDER,
            settings.HALO_EMBEDDER_URL,
            settings.HALO_EMBEDDER_MODEL,
            settings.HALO_EMBEDDER_KEY,
        )
    )


def reranker() -> Reranker | None:
    """Returns the model of HALO_RERANKER, or None if it names none."""
    return _reranker(
        (
            settings.HALO_RERANKER,
            settings.HALO_RERANKER_URL,
            settings.HALO_RERANKER_MODEL,
            settings.HALO_RERANKER_KEY,
        )
    )


def ranks_by_words() -> bool:
    """Whether passages are ranked by how much of the question they have."""
    return bool(settings.HALO_RERANKER == OFFLINE)


def is_offline() -> bool:
    """Whether no model is used: then only passages with the words of a question fit it."""
    return ranks_by_words() and bool(settings.HALO_EMBEDDER == OFFLINE)


@lru_cache(maxsize=4)
def _embedder(choice: Choice) -> Embedder:
    return EMBEDDERS[choice[0]](choice)


@lru_cache(maxsize=4)
def _reranker(choice: Choice) -> Reranker | None:
    return RERANKERS[choice[0]](choice)


def _service(choice: Choice, url: str, model: str) -> Service:
    _, named_url, named_model, key = choice
    return Service(
        url=named_url.rstrip("/") or url,
        model=named_model or model,
        key=key,
        is_private=bool(named_url),
    )
