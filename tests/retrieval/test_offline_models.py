"""The offline embedder and reranker, fusion, and the search over vectors in memory."""

import threading

import numpy as np
import pytest

from foundation.text.words import make_index_words
from retrieval.fusion import fuse_rankings
from retrieval.hashed import DIMENSIONS, HashedEmbedder
from retrieval.interfaces import Passage, encode_vector
from retrieval.questions import PassageQuestion, QuestionScorer
from retrieval.spelling import Vocabulary
from retrieval.vectors import IndexCache, VectorIndex
from retrieval.words import groups_of, stems

REFUNDS = Passage("Billing", "Refund policy", "You can have your money back within 14 days.")
SLACK = Passage("Integrations", "Slack", "Each board can post new cards into one channel.")
EMBEDDER = HashedEmbedder()
# The two largest values of a vector. Where they change, the embedder needs another name.
PINNED = {59: -0.1465, 119: 0.1641}


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
    assert PassageQuestion.parse(text).ignored is not None


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


def match(query: str, *texts: str) -> list[float]:
    """How much of a query each of the texts has, which are all the passages there are."""
    question = PassageQuestion.parse(query)
    indexed = [f" {make_index_words(text)} " for text in texts]
    counts = [
        sum(any(f" {' '.join(form)} " in text for form in term.index_forms) for text in indexed)
        for term in question.terms
    ]
    scorer = QuestionScorer(question, counts, len(texts))
    return [round(scorer.match("", text).share, 2) for text in indexed]


def test_the_share_says_how_much_of_the_question_a_passage_has() -> None:
    shares = match("refund of gadgets", "A refund of gadgets.", "A refund of hats.", "Only hats.")
    assert shares[0] == 1
    assert 0 < shares[1] < 0.5
    assert shares[2] == 0


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Größe", "GROESSE"),
        ("e-mail", "an email"),
        ("退款政策", "我要退款。政策如下"),
        ("not working", "It is not working."),
        ("O\u2019Brien", "O'Brien"),
    ],
)
def test_other_spellings_of_a_word_count_in_full(query: str, text: str) -> None:
    assert match(query, text, "Other words.")[0] > 0.65


@pytest.mark.parametrize(
    ("query", "text"),
    [("encryption", "Data is encrypted."), ("Rechnung", "Alle Rechnungen"), ("mfa", "two factor")],
)
def test_derived_words_and_synonyms_count_for_less(query: str, text: str) -> None:
    assert 0 < match(query, text, "Other words.")[0] < 1


def test_words_that_differ_by_a_typing_error_are_near() -> None:
    vocabulary = Vocabulary([" encryption password rental "])
    assert vocabulary.find_near("encription") == ["encryption"]
    assert vocabulary.find_near("pasword") == ["password"]
    assert vocabulary.find_near("parental") == []


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
