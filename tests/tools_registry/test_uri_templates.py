"""Templates of URIs: what they match, what they decode to, and what is no template here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools_registry.api.uri_templates import compile_template, expand_template

TEMPLATE = "lab://shelf-{shelf}/{book}.txt"


@pytest.mark.parametrize(
    ("uri", "values"),
    [
        ("lab://shelf-3/bees.txt", {"shelf": "3", "book": "bees"}),
        (
            "lab://shelf-%C3%A9/a%20b.txt",
            {"shelf": "\N{LATIN SMALL LETTER E WITH ACUTE}", "book": "a b"},
        ),
        ("lab://shelf-3/a%2Fb.txt", {"shelf": "3", "book": "a/b"}),
        ("lab://shelf-/bees.txt", None),
        ("lab://shelf-3/.txt", None),
        ("lab://shelf-3/a/b.txt", None),
        ("lab://shelf-3/bees.txt?x", None),
        ("lab://shelf-3/bees.txt\n", None),
        ("lab://shelf-3/bees", None),
        ("xlab://shelf-3/bees.txt", None),
        ("lab://shelf-3/%ff.txt", None),
        ("lab://shelf-3/%2.txt", None),
        ('lab://shelf-3/".txt', None),
        ("lab://shelf-3/a b.txt", None),
        ("lab://shelf-3/a:b.txt", None),
        ("lab://shelf-3/\N{SNOWMAN}.txt", None),
    ],
)
def test_a_uri_matches_as_a_whole_or_not_at_all(uri: str, values: dict[str, str] | None) -> None:
    assert compile_template(TEMPLATE).match(uri) == values


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_what_is_expanded_is_matched_back(value: str) -> None:
    uri = expand_template("docs://{page}", {"page": value})
    assert compile_template("docs://{page}").match(uri) == {"page": value}


@pytest.mark.parametrize(
    "template",
    ["docs://page", "docs://{a}/{a}", "docs://{a}{b}", "docs://{+a}", "docs://{a", "docs://a}", ""],
)
def test_what_cannot_be_matched_is_no_template(template: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compile_template(template)
