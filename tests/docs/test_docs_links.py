"""Every link inside the documentation leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from console.documentation import ENTRY
from documentation.markdown import SLUG, render_html
from tests.docs.doc_pages import CONTENTS, DECISIONS, EVERY_PAGE, PAGES, ROOT, STAFF_PAGES, tokens

SERVED = [*PAGES, *STAFF_PAGES]
HERE = re.compile(r"#[a-z0-9_-]+")


class Link(NamedTuple):
    file: Path
    target: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)} to {self.target}"


def _links() -> Iterator[Link]:
    for file in EVERY_PAGE:
        for token in tokens(file):
            for child in token.children or ():
                if child.type == "link_open":
                    yield Link(file, str(child.attrs["href"]))


def _images() -> Iterator[tuple[Link, str]]:
    for file in EVERY_PAGE:
        for token in tokens(file):
            for child in token.children or ():
                if child.type == "image":
                    yield Link(file, str(child.attrs["src"])), child.content


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


@pytest.mark.parametrize(("image", "text"), [*_images()], ids=str)
def test_an_image_exists_is_served_is_small_and_has_a_text(image: Link, text: str) -> None:
    file = (image.file.parent / image.target).resolve()
    assert file.parent == ROOT / "docs" / "images"
    assert SLUG.fullmatch(file.stem)
    assert file.stat().st_size < 100_000
    assert len(text) > 10


@pytest.mark.parametrize("link", [link for link in LINKS if link.file in SERVED], ids=str)
def test_a_served_page_links_only_to_pages_that_its_readers_may_open(link: Link) -> None:
    file = (link.file.parent / link.target.partition("#")[0]).resolve()
    readable = PAGES if link.file in PAGES else SERVED
    assert file in readable or HERE.fullmatch(link.target)


@pytest.mark.parametrize("file", SERVED, ids=lambda file: file.stem)
def test_a_page_has_a_name_for_addresses_and_one_title(file: Path) -> None:
    titles = [token.tag for token in tokens(file) if token.type == "heading_open"]
    assert SLUG.fullmatch(file.stem)
    assert titles.count("h1") == 1
    assert titles[0] == "h1"


@pytest.mark.parametrize("file", SERVED, ids=lambda file: file.stem)
def test_the_readme_links_to_every_page(file: Path) -> None:
    assert f"({file.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_list_of_pages_has_every_page_once_with_its_title() -> None:
    entries = [
        (CONTENTS.parent / f"{entry['folder'] or '.'}/{entry['slug']}.md", entry["title"])
        for entry in ENTRY.finditer(CONTENTS.read_text(encoding="utf-8"))
    ]
    titles = [(file, file.read_text().splitlines()[0].removeprefix("# ")) for file in SERVED]
    assert sorted(entries) == sorted(titles)


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = [int(file.name[:4]) for file in DECISIONS]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_has_a_title_a_status_and_a_date(file: Path) -> None:
    status = r"Status: (accepted|superseded by \d{4})\n+Date: 20\d\d-\d\d-\d\d\n"
    assert re.match(rf"# {file.name[:4]}: .+\n\n{status}", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", DECISIONS, ids=lambda file: file.stem)
def test_a_decision_says_why_what_and_what_follows(file: Path) -> None:
    headings = re.findall(r"(?m)^## (.*)$", file.read_text(encoding="utf-8"))
    assert headings == ["Context", "Decision", "Consequences"]
