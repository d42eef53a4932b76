"""The offline embedder and reranker, fusion, and the search over vectors in memory."""

import threading

import numpy as np
import pytest

from retrieval.fusion import fuse_rankings
from retrieval.hashed import DIMENSIONS, HashedEmbedder
from retrieval.interfaces import Passage, encode_vector
from retrieval.lexical import LexicalReranker
from retrieval.vectors import IndexCache, VectorIndex
from retrieval.words import groups_of, stems

REFUNDS = Passage("Billing", "Refund policy", "You can have your money back within 14 days.")
SLACK = Passage("Integrations", "Slack", "Each board can post new cards into one channel.")
EMBEDDER = HashedEmbedder()
# The two largest values of a vector. Where they change, the embedder needs another name.
PINNED = {59: -0.1527, 119: 0.171}


@pytest.mark.parametrize(
    ("query", "nearest"),
    [
        ("refunding", REFUNDS),
        ("reimbursement", REFUNDS),
        ("channels for cards", SLACK),
        ("slack", SLACK),
    ],
)
def test_the_nearest_passage_shares_words_parts_of_words_or_synonyms(
    query: str, nearest: Passage
) -> None:
    both = [REFUNDS, SLACK]
    cosines = EMBEDDER.passages(both) @ EMBEDDER.query(query)
    assert both[int(cosines.argmax())] is nearest


def test_vectors_are_the_same_on_every_machine_and_have_length_one() -> None:
    vector = EMBEDDER.query("single sign-on")
    assert vector.shape == (DIMENSIONS,)
    assert float(np.linalg.norm(vector)) == pytest.approx(1)
    assert [round(float(vector[place]), 4) for place in PINNED] == list(PINNED.values())


@pytest.mark.parametrize("text", ["", "the of", "\0\ud800", "日本語", "x" * 100_000, "🙂 " * 9_000])
def test_any_text_has_a_vector(text: str) -> None:
    passage = Passage(text, text, text)
    assert np.isfinite(EMBEDDER.passages([passage])).all()
    assert np.isfinite(EMBEDDER.query(text)).all()
    assert len(LexicalReranker().scores(text, [passage])) == 1


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        ("refund refunds refunded refunding", "refund"),
        ("plan plans planning planned", "plan"),
        ("policy policies", "polici"),
        ("export exports exporting exporter", "export"),
    ],
)
def test_inflections_have_one_stem(words: str, stem: str) -> None:
    assert set(stems(words)) == {stem}


def test_a_group_of_synonyms_may_have_phrases() -> None:
    assert set(groups_of("refund")) & set(groups_of(" ".join(stems("money back"))))


def test_the_reranker_prefers_the_passage_that_has_more_of_the_query() -> None:
    far = Passage("Days", "", "Money. " + "Other words. " * 40 + "It was given back.")
    scores = LexicalReranker().scores("money back", [far, REFUNDS])
    assert scores[1] > scores[0]
    assert LexicalReranker().scores("money", []) == []


def test_fusion_prefers_what_both_lists_have() -> None:
    merged = fuse_rankings([([1, 2, 3], 1.0), ([4, 2, 5], 1.0)])
    assert merged[0][0] == 2
    assert [each for each, _ in merged] == [2, 1, 4, 3, 5]
    assert fuse_rankings([([1], 1.0), ([2], 2.0)])[0][0] == 2
    assert fuse_rankings([]) == []


def index(*rows: tuple[int, list[float]]) -> VectorIndex:
    return VectorIndex.from_rows(
        (number, encode_vector(np.array(row, np.float32))) for number, row in rows
    )


def test_the_nearest_vectors_come_first_and_opposite_ones_not_at_all() -> None:
    found = index((3, [1, 0]), (5, [0.6, 0.8]), (8, [-1, 0]))
    query = np.array([1, 0], np.float32)
    assert [number for number, _ in found.nearest(query, 10)] == [3, 5]
    assert [number for number, _ in found.nearest(query, 1)] == [3]
    assert [number for number, _ in found.nearest(query, 10, among=[5, 8, 99])] == [5]
    assert found.nearest(query, 10, among=[]) == []
    assert found.nearest(np.array([1, 0, 0], np.float32), 10) == []
    assert index().nearest(query, 10) == []


def test_an_index_is_loaded_once_for_a_version() -> None:
    cache, loads = IndexCache(1_000), []

    def load() -> VectorIndex:
        loads.append(1)
        return index((1, [1, 0]))

    for version in ("a", "a", "b", "b"):
        cache.get_or_load("owner", version, load)
    assert len(loads) == 2


def test_the_cache_stays_within_its_bytes() -> None:
    each = index((1, [1, 0]))
    cache, loads = IndexCache(2 * each.size), []

    def load() -> VectorIndex:
        loads.append(1)
        return each

    for owner in ("a", "b", "a", "c", "a", "b"):
        cache.get_or_load(owner, 1, load)
    # c replaced b, which was used longest ago, and b has to be loaded again.
    assert len(loads) == 4


def test_threads_that_need_the_same_index_load_it_once() -> None:
    cache, loads, waiting = IndexCache(1_000), [], threading.Barrier(4)

    def load() -> VectorIndex:
        loads.append(1)
        return index((1, [1, 0]))

    def ask() -> None:
        waiting.wait()
        cache.get_or_load("owner", 1, load)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
