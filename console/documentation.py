"""The documentation in the console: the list of pages, the Markdown of a page, search results."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.urls import reverse
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from documentation import search
from documentation.addresses import localize_addresses
from documentation.index import CONTENTS
from documentation.markdown import SLUG, STAFF_FOLDERS

MAX_PASSAGES: Final = 20
MAX_QUERY_LENGTH: Final = 200  # characters
MATCH: Final = "**"
IMAGES: Final = "images"
ENTRY: Final = re.compile(
    rf"(?m)^- \[(?P<title>[^\]]+)\]\((?:(?P<folder>{'|'.join(sorted(STAFF_FOLDERS))})/)?"
    rf"(?P<slug>{SLUG.pattern})\.md\): (?P<description>.+)$"
)


@dataclass(frozen=True, slots=True)
class DocumentationLink:
    """A page in a list of pages."""

    url: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class PageGroup:
    """Pages under one heading; the heading is empty if there is only one group."""

    heading: str
    links: Sequence[DocumentationLink]


@dataclass(frozen=True, slots=True)
class PassageExcerpt:
    """A matching part of a page; `excerpt` is HTML with `mark` around the matches."""

    url: str
    heading: str
    title: str
    excerpt: SafeString


def groups(*, staff: bool) -> Sequence[PageGroup]:
    """Returns the published pages, grouped and described as README.md in their folder does.

    Pages that it does not list come last. Operator and developer pages are included for staff.
    """
    published = {url_of(slug): title for slug, title in search.pages()}
    listed = [_readable(group, published, staff=staff) for group in _contents()]
    seen = {link.url for group in listed for link in group.links}
    rest = [DocumentationLink(url, title) for url, title in published.items() if url not in seen]
    others = PageGroup(_("More pages") if seen else "", rest)
    return [group for group in [*listed, others] if group.links]


def url_of(slug: str, folder_name: str = "") -> str:
    """Returns the address of a page; `folder_name` as in `source`."""
    if folder_name:
        return reverse("staff_documentation", args=(folder_name, slug))
    return reverse("documentation", args=(slug,))


def _contents() -> Iterator[PageGroup]:
    file: Path = settings.HALO_DOCS_SOURCE / CONTENTS
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    for part in text.split("\n## ")[1:]:
        entries = ENTRY.finditer(part)
        yield PageGroup(part.partition("\n")[0].strip(), [_link(entry) for entry in entries])


def _link(entry: re.Match[str]) -> DocumentationLink:
    folder_name = entry["folder"] or ""
    return DocumentationLink(
        url_of(entry["slug"], folder_name), entry["title"], entry["description"]
    )


def _readable(group: PageGroup, published: Mapping[str, str], *, staff: bool) -> PageGroup:
    links = [one for one in group.links if one.url in published or (staff and _is_staff_page(one))]
    return PageGroup(group.heading, links)


def _is_staff_page(link: DocumentationLink) -> bool:
    return any(
        link.url.startswith(f"{reverse('documentation_index')}{name}/") for name in STAFF_FOLDERS
    )


def source(slug: str, folder_name: str = "") -> str | None:
    """Returns the Markdown of a page, or None if the slug names no file directly in the folder.

    Addresses in it are those of this deployment.
    `folder_name` is empty for public pages, or one of `markdown.STAFF_FOLDERS`.
    """
    file = _file(settings.HALO_DOCS_SOURCE / folder_name, slug, ".md")
    return None if file is None else localize_addresses(file.read_text(encoding="utf-8-sig"))


def image(name: str) -> bytes | None:
    """Returns a PNG file of the folder `images` next to the public pages, or None."""
    file = _file(settings.HALO_DOCS_SOURCE / IMAGES, name, ".png")
    return None if file is None else file.read_bytes()


def _file(folder: Path, name: str, suffix: str) -> Path | None:
    file = folder / f"{name}{suffix}"
    # The format of the name excludes paths; the second check excludes links out of the folder.
    if not SLUG.fullmatch(name) or not file.is_file() or file.resolve().parent != folder:
        return None
    return file


def clean_query(text: str) -> str:
    """Returns a search text as it is used and shown: at most 200 characters, any characters."""
    return text[:MAX_QUERY_LENGTH].strip()


def passages(question: str) -> Sequence[PassageExcerpt]:
    """Returns the search results, best first."""
    return [_passage(hit) for hit in search.answer(question, limit=MAX_PASSAGES).hits]


def _passage(hit: search.DocumentationHit) -> PassageExcerpt:
    page = url_of(hit.page)
    url = f"{page}#{hit.anchor}" if hit.anchor else page
    return PassageExcerpt(url, hit.heading, hit.title, _excerpt(hit.snippet))


def _excerpt(snippet: str) -> SafeString:
    # Matches are between pairs of asterisks, so every second piece is one.
    pieces = snippet.split(MATCH)
    return format_html_join(
        "", "{}", ((_piece(piece, place),) for place, piece in enumerate(pieces))
    )


def _piece(text: str, place: int) -> SafeString:
    return format_html("<mark>{}</mark>", text) if place % 2 else conditional_escape(text)
