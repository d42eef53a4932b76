"""The page about scopes says what the code does."""

import re
from pathlib import Path

import pytest

from oauth import scopes
from oauth.errors import InvalidScope

PAGE = (Path(__file__).parents[2] / "docs" / "scopes.md").read_text(encoding="utf-8")
# The smallest scopes that a use case needs (the scopes document, last table).
SMALLEST_SETS = {
    "Walk a customer through the widget's installation": "setup:read docs:read",
    "Read product insight without changing anything": "data:read docs:read",
    "Look customers up and act for them": "actions:* data:read",
    "Search the documentation": "docs:read",
    "Work with one integration": "actions:hubspot:*",
    "Run one action": "actions:hubspot:create_deal",
}


@pytest.mark.parametrize(("use_case", "needed"), SMALLEST_SETS.items())
def test_the_page_carries_every_smallest_set(use_case: str, needed: str) -> None:
    assert f"| {use_case} | `{needed}` |" in PAGE


@pytest.mark.parametrize("needed", SMALLEST_SETS.values())
def test_a_smallest_set_is_known_to_the_grammar(needed: str) -> None:
    assert str(scopes.parse(needed)) == needed


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
