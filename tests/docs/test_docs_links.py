"""Every link inside the documentation leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.docs.reading import DECISIONS, EVERY_PAGE, PAGES, PARSER, ROOT
from tools_registry.documentation.markdown import SIBLING, SLUG, render_html

HERE = re.compile(r"#[a-z0-9_-]+")


class Link(NamedTuple):
    file: Path
    target: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)} to {self.target}"


def _links() -> Iterator[Link]:
    for file in EVERY_PAGE:
        for token in PARSER.parse(file.read_text(encoding="utf-8")):
            for child in token.children or ():
                if child.type == "link_open":
                    yield Link(file, str(child.attrs["href"]))


LINKS = [link for link in _links() if not urlsplit(link.target).scheme]


def _anchors(file: Path) -> set[str]:
    html = render_html(file.read_text(encoding="utf-8"))
    return set(re.findall(r'<h[1-6] id="([^"]+)"', html))


def test_there_are_links_to_check() -> None:
    assert len(LINKS) > 50


@pytest.mark.parametrize("link", LINKS, ids=str)
def test_a_link_leads_to_a_file_and_a_heading_that_exist(link: Link) -> None:
    path, _, anchor = link.target.partition("#")
    file = (link.file.parent / path).resolve() if path else link.file
    assert file.is_file()
    assert not anchor or anchor in _anchors(file)


@pytest.mark.parametrize("link", [link for link in LINKS if link.file in PAGES], ids=str)
def test_a_page_that_is_served_links_only_to_what_is_served(link: Link) -> None:
    assert SIBLING.fullmatch(link.target) or HERE.fullmatch(link.target)


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_a_page_has_a_name_for_addresses_and_one_title(file: Path) -> None:
    titles = [token.tag for token in PARSER.parse(file.read_text()) if token.type == "heading_open"]
    assert SLUG.fullmatch(file.stem)
    assert titles.count("h1") == 1
    assert titles[0] == "h1"


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_the_readme_links_to_every_page(file: Path) -> None:
    assert f"(docs/{file.name})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(file.name[:4]) for file in DECISIONS]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_says_why_what_and_what_follows(file: Path) -> None:
    headings = re.findall(r"(?m)^## (.*)$", file.read_text(encoding="utf-8"))
    assert headings == ["Context", "Decision", "Consequences"]
