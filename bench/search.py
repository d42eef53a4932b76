"""`./run bench search`: how well and how fast the knowledge base is searched.

Every question of bench/retrieval is searched for in four ways: by words, by vectors, by both, and
by both with the reranker. recall@5 is the share of a question's passages among the first five hits,
MRR is one through the place of the first of them. Where nothing fits, the nearest passages count.
Latencies are those of a search in a knowledge base of so many passages. Exits with 1 unless both
together are better than words alone.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any, Final

from bench import harness
from bench.measures import percentile
from bench.servers import ROOT

SETS: Final = ROOT / "bench" / "retrieval"
KNOWLEDGE: Final = ROOT / "tests" / "fixtures" / "knowledge"
FIRST, DEPTH = 5, 20
SITE: Final = "https://pages.example/"
KEPT: Final = ("HALO_EMBEDDER", "HALO_RERANKER")


@dataclass(frozen=True)
class Question:
    """A question, and its passages as `page#heading`."""

    text: str
    passages: frozenset[str]


# Questions, and the folders of the pages that they are about.
Part = tuple[Sequence[Question], tuple[Path, ...]]
# The passages that a knowledge base has for a question, best first.
Search = Callable[[Any, str], list[str]]


def main() -> int:
    parser = harness.options_parser("search", __doc__, passages=20_000)
    parser.set_defaults(store="sqlite")
    options = parser.parse_args()
    with harness.prepare(options, kept=KEPT):
        rows = list(_rows(options.passages))
    lines = [
        f"on {options.store}, latency with {options.passages:,} passages",
        "| set | search | recall@5 | MRR | p50 ms | p95 ms |",
        "|---|---|---|---|---|---|",
    ]
    for part, way, recall, mrr, (p50, p95) in rows:
        lines.append(f"| {part} | {way} | {recall:.3f} | {mrr:.3f} | {p50:.1f} | {p95:.1f} |")
    sys.stdout.write("\n".join([*lines, ""]))
    words, *_, best = (row for row in rows if row[0] == "held out")
    is_better = best[2] > words[2] and best[3] > words[3]
    return harness.GOOD if is_better else harness.MISSED


def read_questions(name: str) -> list[Question]:
    """The questions of a set, in order."""
    lines = (SETS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines)
    return [Question(text, frozenset(passages.split(";"))) for text, passages in pairs]


def _parts() -> dict[str, Part]:
    """Every second question was held out while weights were chosen, and the demo data's are too."""
    questions, folders = read_questions("questions"), (ROOT / "docs", KNOWLEDGE)
    demo = (ROOT / "customers" / "demo" / "knowledge",)
    return {
        "tuned on": (questions[::2], folders),
        "held out": (questions[1::2], folders),
        "demo": (read_questions("questions-demo"), demo),
    }


def _rows(passages: int) -> Iterator[tuple[str, str, float, float, tuple[float, float]]]:
    """Set, search, recall, MRR, and the percentiles of the latency."""
    from bench import tenant  # noqa: PLC0415  settings first
    from workspace.access import Access  # noqa: PLC0415  the same

    large = tenant.create_organization("large")
    tenant.add_passages(large, passages)
    tenant.settle_tables()
    searches, questions = _searches(), read_questions("questions")
    latencies = {
        way: _latency(partial(search, Access(large.pk)), questions)
        for way, search in searches.items()
    }

    @cache
    def index(folders: tuple[Path, ...]) -> Any:
        organization = tenant.create_organization(folders[0].name)
        tenant.index_knowledge(organization, folders, SITE)
        return Access(organization.pk)

    for part, (questions, folders) in _parts().items():
        for way, search in searches.items():
            yield part, way, *_quality(partial(search, index(folders)), questions), latencies[way]


def _searches() -> dict[str, Search]:
    from django.test import override_settings  # noqa: PLC0415  settings first

    from knowledge import search, searching  # noqa: PLC0415  the same

    def read(access: Any, ids: Sequence[int]) -> list[str]:
        return _names(searching.read(access, ids))

    def find(access: Any, text: str) -> list[str]:
        answer = search(access, text, limit=DEPTH)
        return _names(answer.hits or answer.nearest)

    def hybrid(access: Any, text: str) -> list[str]:
        with override_settings(HALO_RERANKER="none"):
            return find(access, text)

    return {
        "words": lambda access, text: read(access, searching.rank_by_words(access, text, DEPTH)),
        "vectors": lambda access, text: read(
            access, searching.rank_by_vectors(access, text, DEPTH)
        ),
        "both": hybrid,
        "both, reranked": find,
    }


def _names(hits: Sequence[Any]) -> list[str]:
    return [f"{hit.url.removeprefix(SITE)}#{hit.heading.rpartition(' > ')[2]}" for hit in hits]


def _quality(
    search: Callable[[str], list[str]], questions: Sequence[Question]
) -> tuple[float, float]:
    """recall@5 and MRR."""
    recalls, ranks = [], []
    for question in questions:
        found, wanted = search(question.text)[:DEPTH], question.passages
        recalls.append(len(wanted & set(found[:FIRST])) / min(len(wanted), FIRST))
        places = [place for place, passage in enumerate(found, 1) if passage in wanted]
        ranks.append(1 / places[0] if places else 0.0)
    return mean(recalls), mean(ranks)


def _latency(
    search: Callable[[str], list[str]], questions: Sequence[Question]
) -> tuple[float, float]:
    """p50 and p95 in milliseconds, after a search that fills what is cached."""
    search(questions[0].text)
    taken = []
    for question in questions:
        start = time.perf_counter()
        search(question.text)
        taken.append((time.perf_counter() - start) * 1000)
    return percentile(taken, 50), percentile(taken, 95)


if __name__ == "__main__":
    harness.run(main)
