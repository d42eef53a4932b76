"""Copies the Markdown pages of a folder into the database."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from django.db import connection, transaction

from documentation.markdown import SLUG, DocumentationPage, read_page
from documentation.models import DocumentationSection
from documentation.query import MAX_WORD_LENGTH, WORD
from documentation.search import full_text_index
from foundation import ids

log = structlog.get_logger(__name__)

# Part of every digest: increment it when parsing a page gives another result than before.
READER_REVISION: Final = "1"
# Lists the pages for the console and for GitHub, and is not a page itself.
CONTENTS: Final = "README.md"
MAX_NAME_LENGTH: Final = 200
# PostgreSQL refuses a section with a megabyte of words; no ordinary page is that long.
MAX_BYTES: Final = 256 * 1024
# Conflicts with itself and with writers, but not with searches.
LOCK: Final = "LOCK TABLE tools_registry_documentationsection IN SHARE ROW EXCLUSIVE MODE"


class DocumentationMissing(Exception):
    """The folder of the documentation does not exist."""


@dataclass(frozen=True, slots=True)
class RefreshCounts:
    """The numbers of pages that were added, changed, removed and left unchanged."""

    added: int
    changed: int
    removed: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The folder's pages (slug to Markdown) and the digests of the stored ones."""

    sources: Mapping[str, str]
    stored: Mapping[str, str]

    @property
    def added_slugs(self) -> set[str]:
        return self.sources.keys() - self.stored.keys()

    @property
    def changed_slugs(self) -> set[str]:
        both = self.sources.keys() & self.stored.keys()
        return {slug for slug in both if _digest(self.sources[slug]) != self.stored[slug]}

    @property
    def removed_slugs(self) -> set[str]:
        return self.stored.keys() - self.sources.keys()

    @property
    def differs(self) -> bool:
        return bool(self.added_slugs or self.changed_slugs or self.removed_slugs)

    def counts(self) -> RefreshCounts:
        added, changed, removed = (
            len(self.added_slugs),
            len(self.changed_slugs),
            len(self.removed_slugs),
        )
        return RefreshCounts(added, changed, removed, len(self.stored) - changed - removed)


def refresh(source: Path) -> RefreshCounts:
    """Updates the index from the pages directly in a folder.

    Pages are `*.md` in UTF-8, named by their slug. Files whose names start with an underscore,
    README.md, and files in subfolders are not pages. An invalid file is left out with a log line.
    All changes are one transaction, and there is none if nothing changed; of concurrent processes
    the first one writes. Raises `DocumentationMissing` if there is no folder.
    """
    sources = dict(_pages_in(source))
    found = _compare(sources)
    if not found.differs:
        return found.counts()
    with transaction.atomic():
        _wait_for_other_writers()
        found = _compare(sources)
        if found.differs:
            _write(found)
    return found.counts()


def require_folder(folder: Path) -> None:
    """Raises `DocumentationMissing` if there is no folder of documentation."""
    if not folder.is_dir():
        raise DocumentationMissing(f"There is no documentation folder at {folder}.")


def _pages_in(folder: Path) -> Iterator[tuple[str, str]]:
    require_folder(folder)
    for path in sorted(set(folder.glob("[!_]*.md")) - {folder / CONTENTS}):
        try:
            yield path.stem, _text_of(path, folder)
        except ValueError as unfit:
            log.warning("documentation_file_skipped", file=path.name, reason=str(unfit))


def _text_of(path: Path, folder: Path) -> str:
    """Returns the file's text. Raises ValueError with the reason if it cannot be a page."""
    if not SLUG.fullmatch(path.stem):
        raise ValueError("the name may hold a-z, 0-9 and hyphens only, 120 at most")
    # A symbolic link out of the folder would publish its target.
    if not path.is_file() or path.resolve().parent != folder.resolve():
        raise ValueError("not a file of this folder")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"longer than {MAX_BYTES} bytes")
    return path.read_text(encoding="utf-8-sig")


def _compare(sources: Mapping[str, str]) -> _Comparison:
    stored = DocumentationSection.objects.order_by("page").values_list("page", "digest").distinct()
    return _Comparison(sources, dict(stored))


def _digest(source: str) -> str:
    return ids.sha256_hex(f"{READER_REVISION}\n{source}")


def _wait_for_other_writers() -> None:
    # On SQLite the transaction itself has waited: it began IMMEDIATE.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(LOCK)


def _write(found: _Comparison) -> None:
    DocumentationSection.objects.filter(page__in=found.changed_slugs | found.removed_slugs).delete()
    pages = [
        read_page(slug, found.sources[slug])
        for slug in sorted(found.added_slugs | found.changed_slugs)
    ]
    DocumentationSection.objects.bulk_create(row for page in pages for row in _rows(page))
    _write_words()
    full_text_index().refresh()


def _rows(page: DocumentationPage) -> Iterator[DocumentationSection]:
    digest = _digest(page.source)
    for position, section in enumerate(page.sections):
        yield DocumentationSection(
            page=page.slug,
            page_title=page.title[:MAX_NAME_LENGTH],
            position=position,
            anchor=section.anchor,
            heading=section.heading[:MAX_NAME_LENGTH],
            text=section.text,
            digest=digest,
        )


def _write_words() -> None:
    sections = DocumentationSection.objects.values_list("page_title", "heading", "text")
    words = {word for section in sections for word in _words(section)}
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM tools_registry_documentationword")
        cursor.executemany(
            "INSERT INTO tools_registry_documentationword (word) VALUES (%s)",
            [(word,) for word in sorted(words)],
        )


def _words(texts: Iterable[str]) -> Iterator[str]:
    words = WORD.findall(" ".join(texts).lower())
    return (word for word in words if len(word) <= MAX_WORD_LENGTH)
