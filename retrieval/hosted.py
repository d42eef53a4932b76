"""Embedders and rerankers of hosted models, over the guarded HTTP client.

Voyage: https://docs.voyageai.com/reference. OpenAI-compatible: `POST /embeddings` of
https://platform.openai.com/docs/api-reference/embeddings, which many servers provide.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from foundation import json_text, outbound
from foundation.outbound import OutboundError, OutboundReply, Policy, retry
from foundation.outbound.breaker import Breakers
from retrieval.interfaces import Matrix, Passage, RetrievalUnavailable, Vector, normalize_rows

# Texts in one request; passages have at most 2,000 characters, so it stays below the token limits.
BATCH: Final = 64
MAX_ANSWER_BYTES: Final = 16 * 1_048_576
# A search waits this long for a model, and then does without it; the worker has more time.
QUERY_SECONDS: Final = 2.0
INDEXING_SECONDS: Final = 30.0
TRIES: Final = 4
BUSY: Final = retry.TRANSIENT | {429}
OK: Final = 200

breakers = Breakers()


@dataclass(frozen=True, slots=True)
class Service:
    """A hosted model: its base URL, its name and the key.

    `is_private` permits an address without https or in a private network, which an operator named.
    """

    url: str
    model: str
    key: str = field(repr=False)
    is_private: bool = False

    def ask(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        """Returns the JSON of one request. Raises RetrievalUnavailable."""
        if breakers.rest((self.url, path)):
            raise RetrievalUnavailable("The model did not answer several times in a row.")
        try:
            reply = self._send_request(path, body, seconds)
        except OutboundError as error:
            breakers.record_failure((self.url, path))
            raise RetrievalUnavailable(str(error)) from None
        if reply.status != OK:
            self._note(path, reply.status)
            raise RetrievalUnavailable(f"The model answered with status {reply.status}.")
        breakers.record_success((self.url, path))
        try:
            return json_text.parse(reply.body)
        except ValueError:
            raise RetrievalUnavailable("The model's answer is not JSON.") from None

    def ask_patiently(self, path: str, body: Mapping[str, Any]) -> Any:
        """Returns the JSON of one request, repeated after short delays. For the worker."""
        for attempt in range(1, TRIES):
            try:
                return self.ask(path, body, INDEXING_SECONDS)
            except RetrievalUnavailable:
                time.sleep(retry.backoff(attempt))
        return self.ask(path, body, INDEXING_SECONDS)

    def _send_request(self, path: str, body: Mapping[str, Any], seconds: float) -> OutboundReply:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        return outbound.fetch(
            "POST",
            f"{self.url}{path}",
            headers=headers if self.key else {"Content-Type": "application/json"},
            body=json.dumps(body).encode(),
            policy=self._policy(seconds),
        )

    def _policy(self, seconds: float) -> Policy:
        times: dict[str, Any] = {
            "deadline": seconds,
            "read_timeout": seconds,
            "max_bytes": MAX_ANSWER_BYTES,
        }
        if not self.is_private:
            return Policy(**times)
        named = urlsplit(self.url)
        is_https = named.scheme == "https"
        return Policy(
            https_only=is_https,
            allowed_private_hosts=frozenset({named.hostname or ""}),
            allowed_ports=frozenset({named.port or (443 if is_https else 80)}),
            **times,
        )

    def _note(self, path: str, status: int) -> None:
        if status in BUSY:
            breakers.record_failure((self.url, path))


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """An OpenAI-compatible embedder."""

    service: Service

    @property
    def name(self) -> str:
        return f"openai:{self.service.model}"

    def passages(self, passages: Sequence[Passage]) -> Matrix:
        return _embed_passages(passages, self._body, self.service.ask_patiently)

    def query(self, query: str) -> Vector:
        answer = self.service.ask("/embeddings", self._body([query]), QUERY_SECONDS)
        return _rows(answer, 1).reshape(-1)

    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        return {"model": self.service.model, "input": list(texts), "encoding_format": "float"}


@dataclass(frozen=True, slots=True)
class VoyageEmbedder:
    """Voyage AI's embedder, which distinguishes queries from documents."""

    service: Service

    @property
    def name(self) -> str:
        return f"voyage:{self.service.model}"

    def passages(self, passages: Sequence[Passage]) -> Matrix:
        return _embed_passages(
            passages, lambda texts: self._body(texts, "document"), self.service.ask_patiently
        )

    def query(self, query: str) -> Vector:
        answer = self.service.ask("/embeddings", self._body([query], "query"), QUERY_SECONDS)
        return _rows(answer, 1).reshape(-1)

    def _body(self, texts: Sequence[str], kind: str) -> dict[str, Any]:
        return {"model": self.service.model, "input": list(texts), "input_type": kind}


@dataclass(frozen=True, slots=True)
class VoyageReranker:
    """Voyage AI's reranker; its scores are from 0 to 1."""

    service: Service

    @property
    def name(self) -> str:
        return f"voyage:{self.service.model}"

    def scores(self, query: str, passages: Sequence[Passage]) -> list[float]:
        if not passages:
            return []
        body = {
            "model": self.service.model,
            "query": query,
            "documents": [passage.whole for passage in passages],
        }
        answer = self.service.ask("/rerank", body, QUERY_SECONDS)
        try:
            found = {int(one["index"]): float(one["relevance_score"]) for one in answer["data"]}
            return [found[place] for place in range(len(passages))]
        except (KeyError, TypeError, ValueError):
            raise RetrievalUnavailable("The reranker's answer has another form.") from None


def _embed_passages(
    passages: Sequence[Passage],
    body: Callable[[Sequence[str]], Mapping[str, Any]],
    ask: Callable[[str, Mapping[str, Any]], Any],
) -> Matrix:
    parts = [
        _rows(ask("/embeddings", body([passage.whole for passage in batch])), len(batch))
        for batch in _batches(passages)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)


def _batches(passages: Sequence[Passage]) -> list[Sequence[Passage]]:
    return [passages[start : start + BATCH] for start in range(0, len(passages), BATCH)]


def _rows(answer: Any, count: int) -> Matrix:
    """Returns the vectors of an answer in the order of the texts, normalized."""
    try:
        found = {int(one["index"]): one["embedding"] for one in answer["data"]}
        matrix = np.array([found[place] for place in range(count)], np.float32)
    except (KeyError, TypeError, ValueError):
        raise RetrievalUnavailable("The embedder's answer has another form.") from None
    if matrix.ndim != 2 or not matrix.shape[1] or not np.isfinite(matrix).all():  # noqa: PLR2004  rows and columns
        raise RetrievalUnavailable("The embedder's answer has another form.")
    return normalize_rows(matrix)
