"""The page about scopes says what the code does."""

import re
from pathlib import Path

import pytest

from oauth import scopes
from oauth.errors import InvalidScope
from oauth.scopes import SmallestSet

PAGE = (Path(__file__).parents[2] / "docs" / "scopes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("row", scopes.SMALLEST_SETS, ids=lambda row: row.scopes)
def test_the_page_carries_every_smallest_set(row: SmallestSet) -> None:
    assert f"| {row.use_case} | `{row.scopes}` |" in PAGE


@pytest.mark.parametrize("row", scopes.SMALLEST_SETS, ids=lambda row: row.scopes)
def test_a_smallest_set_is_known_to_the_grammar(row: SmallestSet) -> None:
    assert str(scopes.parse(row.scopes)) == row.scopes


@pytest.mark.parametrize("scope", list(scopes.SUPPORTED), ids=str)
def test_the_page_explains_every_advertised_scope(scope: scopes.Scope) -> None:
    assert f"| `{scope}` |" in PAGE


def test_the_page_answers_each_refresh_as_the_code_does() -> None:
    rows = re.findall(r"(?m)^\| `([^`]+)` \| `([^`]+)` \| (granted|`invalid_scope`)", PAGE)
    assert len(rows) == 5
    for held, asked, answer in rows:
        assert answer == _answer(held, asked), (held, asked)


def test_the_page_names_the_cap_and_the_chokepoint() -> None:
    assert f"{scopes.MAX_TEXT:,} characters" in PAGE
    assert f"oauth.scopes.{scopes.scope_allows_destructive.__name__}" in PAGE


def _answer(held: str, asked: str) -> str:
    try:
        scopes.parse(held).narrow(scopes.parse(asked))
    except InvalidScope as refused:
        return f"`{refused.code}`"
    return "granted"
