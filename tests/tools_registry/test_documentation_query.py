"""Questions, cut into words that no index can misread."""

from hypothesis import given
from hypothesis import strategies as st

from documentation.query import MAX_WORD_LENGTH, MAX_WORDS, WORD, DocumentationQuery


def test_stop_words_do_not_count() -> None:
    assert DocumentationQuery.parse("How do I revoke the token?").words == ("revoke", "token")


def test_a_question_of_stop_words_alone_is_empty() -> None:
    assert DocumentationQuery.parse("what is it, and how?") == DocumentationQuery((), (), "")


def test_neighbours_keep_the_stop_words_between_them() -> None:
    pairs = DocumentationQuery.parse("Revoke a token of the client").pairs
    assert pairs == (("revoke", "a", "token"), ("token", "of", "the", "client"))


def test_words_far_apart_are_no_pair() -> None:
    assert DocumentationQuery.parse("token that is to be in the store").pairs == ()


def test_a_name_with_underscores_is_several_words_side_by_side() -> None:
    query = DocumentationQuery.parse("data_find_user")
    assert query.words == ("data", "user")
    assert query.pairs == (("data", "find", "user"),)


def test_a_repeated_word_counts_once_and_may_still_be_the_unfinished_one() -> None:
    query = DocumentationQuery.parse("token scope token")
    assert (query.words, query.beginning) == (("token", "scope"), "token")


def test_a_single_letter_is_no_beginning() -> None:
    assert DocumentationQuery.parse("plan b").beginning == ""


def test_only_the_first_words_of_a_very_long_question_count() -> None:
    query = DocumentationQuery.parse(" ".join(f"word{number}" for number in range(2000)))
    assert len(query.words) == MAX_WORDS
    assert query.words[-1] == "word31"


def test_an_endless_word_is_left_out() -> None:
    assert DocumentationQuery.parse("x" * 10_240).words == ()


@given(st.text())
def test_every_word_of_any_question_is_letters_and_digits(question: str) -> None:
    query = DocumentationQuery.parse(question)
    words = [*query.words, *(word for pair in query.pairs for word in pair)]
    assert all(WORD.fullmatch(word) and len(word) <= MAX_WORD_LENGTH for word in words)


@given(st.text())
def test_pairs_begin_and_end_with_words_that_count(question: str) -> None:
    query = DocumentationQuery.parse(question)
    assert all(pair[0] in query.words and pair[-1] in query.words for pair in query.pairs)
