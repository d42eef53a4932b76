"""The lines that show why a section was found."""

import re

import pytest

from documentation.snippet import CLOSED, OPENED, snippet


def set_marks(text: str) -> str:
    """Marks as the databases set them, written as brackets."""
    return text.replace("[", OPENED).replace("]", CLOSED)


def test_a_short_text_is_shown_whole_with_its_matches() -> None:
    assert snippet(set_marks("[Revoke] a [token].")) == "**Revoke** a **token**."


def test_a_long_text_is_cut_around_the_match() -> None:
    shown = snippet(set_marks("before " * 100 + "the [token] " + "after " * 100))
    assert shown.startswith("…before ")
    assert "the **token** after" in shown
    assert shown.endswith(" after…")


def test_the_place_with_the_most_different_matches_is_shown() -> None:
    text = "[token] [token] " + "filler " * 60 + "[revoke] the [token] " + "filler " * 60
    assert "**revoke** the **token**" in snippet(set_marks(text))


def test_a_snippet_has_about_two_hundred_characters() -> None:
    shown = snippet(set_marks("some [token] words " * 100))
    assert 160 <= len(shown.replace("**", "")) <= 202


def test_without_a_match_the_beginning_is_shown() -> None:
    shown = snippet("first " + "word " * 100)
    assert shown.startswith("first word")
    assert shown.endswith("word…")


def test_lines_bullets_and_comment_signs_are_smoothed_away() -> None:
    assert snippet(set_marks("Do:\n\n- [one]\n  - two\n\n    # a [comment]\n    run")) == (
        "Do: **one** two a **comment** run"
    )


@pytest.mark.parametrize("text", ["call([f], **[options])", "2**[x]", "***[bold]*[er]***", "**"])
def test_every_other_piece_between_two_asterisks_is_a_match(text: str) -> None:
    words = [piece for piece in re.split(r"[^a-z]", text) if f"[{piece}]" in text]
    assert [piece.strip("*") for piece in snippet(set_marks(text)).split("**")[1::2]] == words


def test_a_word_without_end_is_cut() -> None:
    assert snippet("x" * 1000) == "x" * 200 + "…"


def test_an_empty_text_gives_an_empty_snippet() -> None:
    assert snippet("") == ""
