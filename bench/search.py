"""`./run bench search`: how well and how fast the knowledge base is searched.

Every question of bench/retrieval is searched for in four ways: by words, by vectors, by both, and
by both with the reranker. recall@5 is the share of a question's passages among the first five hits,
MRR is one through the place of the first of them. Latencies are those of a search in a knowledge
base of so many passages; those of the documentation search are CPU times. Exits with 1 unless both
together are better than words alone.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import mean, quantiles
from typing import TYPE_CHECKING, Any, Final

from bench import starting
from bench.databases import Postgresql, Sqlite, Store
from bench.scratch import ROOT

if TYPE_CHECKING:
    from workspace.access import Access
    from workspace.models import Organization

SETS: Final = ROOT / "bench" / "retrieval"
# The pages that the questions of each set are about.
FOLDERS: Final[Mapping[str, Sequence[Path]]] = {
    "questions": (ROOT / "docs", ROOT / "tests" / "fixtures" / "knowledge"),
    "questions-demo": (ROOT / "workspace" / "demo" / "knowledge",),
}
POSTGRESQL: Final = "postgres://postgres@127.0.0.1:5432/postgres"
FIRST: Final = 5
DEPTH: Final = 20
SITE: Final = "https://pages.example/"
HEAD: Final = ("set", "search", "recall@5", "MRR", "p50 ms", "p95 ms")


@dataclass(frozen=True)
class Question:
    """A question, and its passages as `page#heading`."""

    text: str
    passages: frozenset[str]


@dataclass(frozen=True)
class Quality:
    recall: float
    mrr: float


Search = Callable[["Access", str], list[str]]


def questions(name: str) -> list[Question]:
    """The questions of a set, in order; every second one was held out while weights were chosen."""
    lines = (SETS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines)
    return [Question(text, frozenset(passages.split(";"))) for text, passages in pairs]


def measured(search: Callable[[str], list[str]], asked: Sequence[Question]) -> Quality:
    recalls, ranks = [], []
    for question in asked:
        found = search(question.text)[:DEPTH]
        wanted = question.passages
        recalls.append(len(wanted & set(found[:FIRST])) / min(len(wanted), FIRST))
        places = [place for place, passage in enumerate(found, 1) if passage in wanted]
        ranks.append(1 / places[0] if places else 0.0)
    return Quality(mean(recalls), mean(ranks))


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store: Store = Sqlite(folder) if options.store == "sqlite" else Postgresql(options.database)
        with store.empty() as database:
            starting.start(folder, database, kept=("HALO_EMBEDDER", "HALO_RERANKER"))
            rows = list(_rows(options.passages))
    _print(rows, options)
    by_words, *_, best = (row for row in rows if row["set"].startswith("held out"))
    is_better = best["recall"] > by_words["recall"] and best["mrr"] > by_words["mrr"]
    return 0 if is_better else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench search", description=__doc__)
    parser.add_argument("--store", choices=("postgresql", "sqlite"), default="sqlite")
    parser.add_argument("--passages", type=int, default=20_000, help="where latency is measured")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--database", default=os.environ.get("DATABASE_URL") or POSTGRESQL)
    return parser.parse_args()


def _rows(passages: int) -> Iterator[dict[str, Any]]:
    from django.db import connections  # noqa: PLC0415  settings first

    from bench import docsearch  # noqa: PLC0415  the same

    large = _large(passages)
    asked = [question.text for question in questions("questions")]
    latencies = {name: _latency(search, large, asked) for name, search in _searches().items()}
    for name, folders in FOLDERS.items():
        if not all(folder.is_dir() for folder in folders):
            continue
        access = _indexed(name, folders)
        for part, chosen in _parts(name).items():
            for way, search in _searches().items():
                quality = measured(partial(search, access), chosen)
                yield {"set": part, "search": way, **asdict(quality), **latencies[way]}
    found = docsearch.compared(ROOT / "docs", _parts("questions"), measured)
    for part, way, quality, cpu in found:
        yield {"set": part, "search": way, **asdict(quality), **cpu}
    connections.close_all()


def _parts(name: str) -> dict[str, list[Question]]:
    every = questions(name)
    if name != "questions":
        return {"demo": every}
    return {"tuned on": every[::2], "held out": every[1::2]}


def _searches() -> dict[str, Search]:
    from django.test import override_settings  # noqa: PLC0415  settings first

    from retrieval.fusion import fused  # noqa: PLC0415  the same
    from workspace.knowledge import full_text, search, searching  # noqa: PLC0415  the same

    def read(access: "Access", ids: Sequence[int]) -> list[str]:
        merged = fused([(ids, 1.0)])
        return _names(searching.read(access, merged))

    def hybrid(access: "Access", text: str) -> list[str]:
        with override_settings(HALO_RERANKER="none"):
            return _names(search(access, text, limit=DEPTH))

    return {
        "words": lambda access, text: read(access, full_text.ranked(access, text, "", DEPTH)),
        "vectors": lambda access, text: read(access, searching.nearest(access, text)[:DEPTH]),
        "both": hybrid,
        "both, reranked": lambda access, text: _names(search(access, text, limit=DEPTH)),
    }


def _names(hits: Sequence[Any]) -> list[str]:
    return [f"{hit.url.removeprefix(SITE)}#{hit.heading}" for hit in hits]


def _latency(search: Search, access: "Access", asked: Sequence[str]) -> dict[str, float]:
    search(access, asked[0])
    taken = []
    for text in asked:
        start = time.perf_counter()
        search(access, text)
        taken.append((time.perf_counter() - start) * 1000)
    cuts = quantiles(taken, n=20)
    return {"p50": cuts[9], "p95": cuts[18]}


def _indexed(name: str, folders: Sequence[Path]) -> "Access":
    """An organization whose knowledge base is the pages of the folders."""
    from workspace import knowledge  # noqa: PLC0415  settings first

    organization = _organization(name)
    for path in sorted(path for folder in folders for path in folder.glob("*.md")):
        if path.name == "README.md":
            continue
        source = knowledge.add(
            organization,
            kind="markdown",
            url=f"{SITE}{path.stem}",
            original=path.read_bytes(),
        )
        knowledge.index(source.pk)
    return _access(organization)


def _large(passages: int) -> "Access":
    """An organization with so many passages."""
    organization = _organization("large")
    fill(organization, passages)
    _analyze()
    return _access(organization)


def fill(organization: "Organization", passages: int) -> None:
    """Adds so many passages, of sentences from all pages of the documentation."""
    from retrieval import configured  # noqa: PLC0415  settings first
    from retrieval.interfaces import Passage, stored  # noqa: PLC0415  the same
    from workspace.knowledge import sources  # noqa: PLC0415  the same
    from workspace.models import KnowledgeChunk, KnowledgeSource  # noqa: PLC0415  the same

    source = KnowledgeSource.objects.create(
        organization=organization, kind="markdown", title="Large", status="ready"
    )
    made = list(_made_up(passages))
    embedder = configured.embedder()
    vectors = embedder.passages([Passage("Large", heading, text) for heading, text in made])
    KnowledgeChunk.objects.bulk_create(
        (
            KnowledgeChunk(
                organization=organization,
                source=source,
                position=position,
                title="Large",
                heading=heading,
                text=text,
                embedding=stored(vector),
                embedder=embedder.name,
            )
            for position, ((heading, text), vector) in enumerate(zip(made, vectors, strict=True), 1)
        ),
        batch_size=500,
    )
    sources.note_change(organization.pk)


def _made_up(passages: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(1)  # noqa: S311  figures that repeat
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    sentences = [line for page in pages for line in page.replace(". ", ".\n").splitlines()]
    kept = [sentence.strip() for sentence in sentences if len(sentence.split()) > FIRST]
    for number in range(passages):
        yield f"{chance.choice(kept)[:60]} {number}", " ".join(chance.choices(kept, k=8))


def _organization(name: str) -> "Organization":
    from workspace import organizations  # noqa: PLC0415  settings first
    from workspace.models import User  # noqa: PLC0415  the same

    owner = User.objects.create_user(f"{name}@example.com")
    return organizations.found(name, owner=owner)


def _access(organization: "Organization") -> "Access":
    from workspace.access import Access  # noqa: PLC0415  settings first

    return Access(organization.pk)


def _analyze() -> None:
    from django.db import connection  # noqa: PLC0415  settings first

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _print(rows: Sequence[Mapping[str, Any]], options: argparse.Namespace) -> None:
    out = sys.stdout
    out.write(f"on {options.store}, latency with {options.passages:,} passages\n")
    out.write("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|\n")
    for row in rows:
        numbers = f"{row['recall']:.3f} | {row['mrr']:.3f} | {row['p50']:.1f} | {row['p95']:.1f}"
        out.write(f"| {row['set']} | {row['search']} | {numbers} |\n")
    if options.json:
        Path(options.json).write_text(json.dumps(list(rows), indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
