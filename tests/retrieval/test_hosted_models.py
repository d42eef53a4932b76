"""Hosted embedders and rerankers, against a site on the loopback."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from foundation.outbound import retry
from foundation.outbound.breaker import FAILURES, Breakers
from retrieval import configured, hosted
from retrieval.hashed import HashedEmbedder
from retrieval.interfaces import Passage, RetrievalUnavailable
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import GARBAGE, Site, saying

KEY = "model-key-nobody-may-see"
PASSAGES = [Passage("Billing", "Refunds", "Within 14 days."), Passage("Sign-in", "", "Okta.")]


@pytest.fixture
def provider(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The provider's site; requests that are repeated hardly pause, and no breaker is open."""
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(hosted, "breakers", Breakers())
    with site.serving(Site()) as serving:
        for name in ("EMBEDDER", "RERANKER"):
            setattr(settings, f"HALO_{name}", "voyage")
            setattr(settings, f"HALO_{name}_URL", f"{serving.url}/v1/")
            setattr(settings, f"HALO_{name}_KEY", KEY)
        yield serving


def vectors(*found: list[float]) -> site.Answer:
    # The order of an answer is not that of the texts.
    listed = [{"index": place, "embedding": each} for place, each in enumerate(found)]
    return saying({"data": listed[::-1]})


def test_voyage_embeds_documents_and_queries_differently(provider: Site) -> None:
    provider.script(vectors([3, 4], [0, 2]), vectors([1, 0]))
    embedder = configured.embedder()
    assert embedder.passages(PASSAGES) == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))
    assert embedder.query("money back").tolist() == [1, 0]
    documents, query = provider.seen
    assert (documents.path, documents.headers["authorization"]) == (
        "/v1/embeddings",
        f"Bearer {KEY}",
    )
    assert documents.json == {
        "model": "voyage-3.5",
        "input": ["Billing\nRefunds\nWithin 14 days.", "Sign-in\nOkta."],
        "input_type": "document",
    }
    assert query.json["input_type"] == "query"
    assert embedder.name == "voyage:voyage-3.5"


def test_an_openai_compatible_server_needs_no_key(provider: Site, settings: Any) -> None:
    settings.HALO_EMBEDDER, settings.HALO_EMBEDDER_KEY = "openai", ""
    settings.HALO_EMBEDDER_MODEL = "nomic-embed-text"
    provider.script(vectors([0, 5]))
    assert configured.embedder().query("x").tolist() == [0, 1]
    (seen,) = provider.seen
    assert "authorization" not in seen.headers
    assert seen.json["model"] == "nomic-embed-text"


def test_many_passages_are_embedded_in_batches(provider: Site) -> None:
    provider.script(vectors(*[[1.0, 0.0]] * 64), vectors([0.0, 1.0]))
    matrix = configured.embedder().passages([PASSAGES[0]] * 65)
    assert matrix.shape == (65, 2)
    assert [len(seen.json["input"]) for seen in provider.seen] == [64, 1]


def test_voyage_scores_passages_in_their_order(provider: Site) -> None:
    scored = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]
    provider.script(saying({"data": scored}))
    reranker = configured.reranker()
    assert reranker is not None
    assert reranker.scores("sso", PASSAGES) == [0.2, 0.9]
    assert provider.seen[0].json["documents"] == [passage.whole for passage in PASSAGES]


def test_the_worker_repeats_a_request_that_a_search_does_not(provider: Site) -> None:
    provider.script(site.busy(), vectors([1, 0]))
    assert configured.embedder().passages(PASSAGES[:1]).shape == (1, 2)
    provider.script(site.busy())
    with pytest.raises(RetrievalUnavailable, match="status 429"):
        configured.embedder().query("x")


ODD = {
    "no JSON": GARBAGE,
    "another form": saying({"embeddings": []}),
    "too few": saying({"data": []}),
    "no numbers": saying({"data": [{"index": 0, "embedding": ["a"]}]}),
    "infinite": saying({"data": [{"index": 0, "embedding": [1e400]}]}),
    "no vector": saying({"data": [{"index": 0, "embedding": 3}]}),
    "a failure": saying({"detail": KEY}, 401),
    "too large": site.sending(b" " * (hosted.MAX_ANSWER_BYTES + 1)),
    "a reset": site.resetting,
}


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_an_odd_answer_is_one_error_without_the_key(provider: Site, answer: site.Answer) -> None:
    provider.script(answer)
    with pytest.raises(RetrievalUnavailable) as refused:
        configured.embedder().query("x")
    assert KEY not in str(refused.value)
    assert KEY not in repr(configured.embedder())


def test_a_provider_that_fails_is_left_alone_for_a_while(provider: Site) -> None:
    provider.usual = saying({}, 503)
    for _ in range(FAILURES + 3):
        with pytest.raises(RetrievalUnavailable):
            configured.embedder().query("x")
    assert len(provider.seen) == FAILURES


def test_the_public_providers_are_reached_by_https_only() -> None:
    service = hosted.Service("http://127.0.0.1:1", "model", KEY)
    with pytest.raises(RetrievalUnavailable, match="only https"):
        service.ask("/embeddings", {}, 1)


def test_nothing_is_sent_anywhere_by_default(settings: Any) -> None:
    assert (settings.HALO_EMBEDDER, settings.HALO_RERANKER) == ("offline", "offline")
    assert isinstance(configured.embedder(), HashedEmbedder)
    assert configured.reranker() is None
    assert configured.ranks_by_words()
    settings.HALO_RERANKER = "none"
    assert configured.reranker() is None
