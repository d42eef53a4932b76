"""What becomes the target of a link goes through `foundation.links`."""

import re
from collections.abc import Iterator

import pytest

from tests.architecture import sources

ONLY = "foundation/links.py"
# An attribute that a browser follows or loads, in whatever quotes.
ATTRIBUTE = re.compile(
    r"\b(?:href|src|srcset|action|formaction|data|poster|cite|background|ping)\s*=\s*"
    r"(?:\"([^\"]*)\"|'([^']*)'|(\{\{.*?\}\}|[^\s>]+))"
)
VALUE = re.compile(r"\{\{\s*(.*?)\s*\}\}")
FILTERED = re.compile(r"\|\s*link_target$")
# A value after these is a part of a path, a query or a fragment of this server.
OWN = re.compile(r"(?:[?#]|/(?!/)|\{% (?:url|static|row_url|page_url) [^%]*%\}|\{\{[^}]*\}\})")
# Neither is text of others: the applications that the home page knows, and a picture that is made
# for the page.
OURS = {"client.install_link", "totp_svg_data_uri"}
IN_PYTHON = re.compile(r"\b(?:href|src|action|formaction)=\\?[\"']?\{")
# The text that an organization copies into its own pages.
COPIED = {"tools_registry/sources/setup.py"}


def problems(path: str, text: str) -> Iterator[str]:
    """The values of a file that become links without `foundation.links`."""
    if path.endswith(".html"):
        for found in ATTRIBUTE.finditer(text):
            yield from _unfiltered(next(filter(None, found.groups()), ""))
    elif path.endswith(".py") and path not in {ONLY, *COPIED}:
        yield from IN_PYTHON.findall(text)


def _unfiltered(attribute: str) -> Iterator[str]:
    without_conditions = re.sub(r"\{% (?:if|else|elif|endif)[^%]*%\}", "", attribute)
    first = VALUE.search(without_conditions)
    if first is None or OWN.match(without_conditions[: first.start()]):
        return
    if first[1] not in OURS and not FILTERED.search(first[1]):
        yield attribute


def test_every_value_that_becomes_a_link_is_filtered() -> None:
    made = [
        (path, found)
        for path, text in sources.texts()
        if not path.startswith(("tests/", "bench/"))
        for found in problems(path, text)
    ]
    assert made == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.html", '<a href="{{ row.page_url }}">page</a>'),
        ("a.html", "<a href='{{ row.page_url }}'>page</a>"),
        ("a.html", "<a href={{ row.page_url }}>page</a>"),
        ("a.html", '<a href="{{ row.page_url|urlencode }}">page</a>'),
        ("a.html", '<a href="{{ url|link_target|default:row.page_url }}">page</a>'),
        ("a.html", '<a href="{% if row %}{{ row.page_url }}{% endif %}">page</a>'),
        ("a.html", '<a href="//{{ row.host }}">page</a>'),
        ("a.html", '<img src="{{ client.logo }}">'),
        ("a.html", '<form action="{{ target }}">'),
        ("a.py", "format_html('<a href=\"{}\">{}</a>', row.page_url, row)"),
    ],
)
def test_a_value_that_is_not_filtered_is_found(path: str, text: str) -> None:
    assert [*problems(path, text)]
