"""What becomes the target of a link goes through `foundation.links`."""

import re
from collections.abc import Iterator

import pytest

from tests.architecture import sources

ONLY = "foundation/links.py"
# An attribute that a browser follows or loads, in whatever quotes.
ATTRIBUTE = re.compile(
    r"\b(?:href|src|srcset|action|formaction|data|poster|cite|background|ping)\s*=\s*"
    r"(?:\"([^\"]*)\"|'([^']*)'|((?:\{\{.*?\}\}|\{%.*?%\}|[^\s>\"'])+))"
)
VALUE = re.compile(r"\{\{\s*(.*?)\s*\}\}")
FILTERED = re.compile(r"\|\s*link_target$")
# A value after these is a part of a path, a query or a fragment of this server. After a lone slash,
# one that begins with a slash names another host.
OWN = re.compile(r"[?#]|/[^/\\\s{]|\{% (?:url|static|row_url|page_url) [^%]*%\}[^{]")
# Empty for an address that no link may lead to: what follows then begins the target.
LEADING = re.compile(r"\A(?:\{\{[^}]*\|\s*link_target\s*\}\})+")
CONDITION = re.compile(r"\{% if [^%]*%\}((?:(?!\{% (?:if|endif) ).)*)\{% endif %\}", re.DOTALL)
BRANCH = re.compile(r"\{% (?:elif [^%]*|else )%\}")
# Neither is text of others: the applications that the home page knows, and a picture that is made
# for the page.
OURS = {"client.install_link", "totp_svg_data_uri"}
IN_PYTHON = re.compile(r"\b(?:href|src|action|formaction)=\\?[\"']?/?\{")
# The text that an organization copies into its own pages.
COPIED = {"tools_registry/sources/setup.py"}


def problems(path: str, text: str) -> Iterator[str]:
    """The values of a file that become links without `foundation.links`."""
    if path.endswith(".html"):
        for found in ATTRIBUTE.finditer(text):
            yield from _unfiltered_attributes(next(filter(None, found.groups()), ""))
    elif path.endswith(".py") and path not in {ONLY, *COPIED}:
        yield from IN_PYTHON.findall(text)


def _unfiltered_attributes(attribute: str) -> Iterator[str]:
    values = ((text, value) for text in _variants(attribute) for value in VALUE.finditer(text))
    if any(not _is_safe(text[: value.start()], value[1]) for text, value in values):
        yield attribute


def _is_safe(before: str, value: str) -> bool:
    if value in OURS or FILTERED.search(value):
        return True
    return bool(OWN.match(LEADING.sub("", before)))


def _variants(attribute: str) -> list[str]:
    """What an attribute may be, for each way through its conditions."""
    found = CONDITION.search(attribute)
    if found is None:
        return [attribute]
    branches = BRANCH.split(found[1])
    if "{% else %}" not in found[1]:
        branches.append("")
    before, after = attribute[: found.start()], attribute[found.end() :]
    return [one for branch in branches for one in _variants(f"{before}{branch}{after}")]


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
        ("a.html", '<a href="/{{ row.path }}">page</a>'),
        ("a.html", '<a href="{{ url|link_target }}/{{ row.path }}">page</a>'),
        ("a.html", '<a href="{{ url|link_target }}{{ row.path }}">page</a>'),
        ("a.html", "<a href={{ url|link_target }}{{ row.path }}>page</a>"),
        ("a.html", "<a href=\"{% url 'home' %}{{ row.path }}\">page</a>"),
        ("a.html", '<a href="{% if own %}/x/{% else %}{{ row.page_url }}{% endif %}">page</a>'),
        ("a.html", '<a href="{% if own %}/x{% endif %}{{ row.page_url }}">page</a>'),
        ("a.html", '<a href="{% if a %}{% if b %}?q{% endif %}{% endif %}{{ url }}">page</a>'),
        ("a.html", '<img src="{{ client.logo }}">'),
        ("a.html", '<form action="{{ target }}">'),
        ("a.py", "format_html('<a href=\"/{}\">{}</a>', row.page_url, row)"),
        ("a.py", "format_html('<a href=\"{}\">{}</a>', row.page_url, row)"),
    ],
)
def test_a_value_that_is_not_filtered_is_found(path: str, text: str) -> None:
    assert [*problems(path, text)]


@pytest.mark.parametrize(
    "text",
    [
        '<a href="{{ row.page_url|link_target }}#at-{{ row.pk }}">page</a>',
        '<a href="/rows/{{ row.pk }}/{{ row.part }}">page</a>',
        '<a href="?{% if q %}q={{ q|urlencode }}&amp;{% endif %}page={{ number }}">page</a>',
        "<a href=\"{% url 'rows' %}?q={{ q|urlencode }}\">page</a>",
        '<a href="{% if a %}?a={{ a }}{% else %}/b/{{ b }}{% endif %}">page</a>',
    ],
)
def test_a_value_in_a_path_or_a_query_of_this_server_is_no_problem(text: str) -> None:
    assert not [*problems("a.html", text)]
