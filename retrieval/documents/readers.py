"""Reads documents of each kind. The libraries are imported when a document of the kind is read."""

import io
import itertools
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from retrieval.documents import hyphens
from retrieval.documents.sections import (
    PATH,
    DocumentSection,
    ExcludedDocument,
    ParsedDocument,
    UnreadableDocument,
    storable,
)

MAX_PAGES: Final = 2_000
# Of a document's text; more than a long book has.
MAX_CHARACTERS: Final = 4_000_000
# Of a Word document when it is unpacked.
MAX_UNPACKED: Final = 200_000_000
HEADINGS: Final[Mapping[str, int]] = {f"h{level}": level for level in range(1, 7)}
# Of the section with the headers and footers of a Word document.
AROUND: Final = "Header and footer"
# Increment it when reading a document again gives other passages: all are read again then.
VERSION: Final = 1
# A heading and its level, or a text and 0.
Block = tuple[int, str]


def read(kind: str, content: bytes, url: str = "") -> ParsedDocument:
    """Returns the text of a document of a kind in READERS, with the address that it has, if any.

    Raises UnreadableDocument, of it ExcludedDocument.
    """
    document = READERS[kind](content, url)
    # A title of a PDF, which is in its metadata, may hold any character.
    sections = tuple(
        DocumentSection(storable(section.heading), section.text)
        for section in document.sections
        if section.text.strip()
    )
    if not sections:
        raise UnreadableDocument("The document has no text.")
    if sum(len(section.text) for section in sections) > MAX_CHARACTERS:
        raise UnreadableDocument(f"The document has more than {MAX_CHARACTERS:,} characters.")
    return replace(
        document,
        title=storable(document.title),
        sections=sections,
        canonical=storable(document.canonical),
        modified=storable(document.modified),
    )


def markdown(content: bytes, _url: str) -> ParsedDocument:
    """Returns the text of Markdown; its front matter, if any, names the title and the date.

    Raises ExcludedDocument for a draft.
    """
    from retrieval.documents import front_matter  # noqa: PLC0415  needed for this kind only

    facts, text = front_matter.split(_decode_text(content))
    if facts.is_draft:
        raise ExcludedDocument("The document is a draft: its front matter says so.")
    found = _markdown(text)
    return replace(found, title=facts.title or found.title, modified=facts.modified)


def html(content: bytes, url: str) -> ParsedDocument:
    """Returns the main text of a web page, without navigation and other parts around it."""
    from retrieval.documents import web_page  # noqa: PLC0415  needed for this kind only

    page = web_page.parse_page(content, url)
    found = _markdown(page.markdown)
    return replace(
        found,
        title=found.title or page.title,
        canonical=page.canonical,
        modified=page.modified,
    )


def pdf(content: bytes, _url: str) -> ParsedDocument:
    """Returns the text of a PDF, a section for each page. Pictures of text are not read."""
    import pypdf  # noqa: PLC0415  slow to import, and needed for this kind only

    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        is_open = not reader.is_encrypted or bool(reader.decrypt(""))
        pages = list(itertools.islice(reader.pages, MAX_PAGES + 1)) if is_open else []
        texts = [page.extract_text() for page in pages[:MAX_PAGES]]
        title = str(reader.metadata.title or "") if is_open and reader.metadata else ""
    except Exception as error:  # pypdf raises many kinds for broken files
        raise UnreadableDocument("The file is not a valid PDF.") from error
    if not is_open:
        raise UnreadableDocument("The PDF is protected by a password.")
    if len(pages) > MAX_PAGES:
        raise UnreadableDocument(f"The PDF has more than {MAX_PAGES:,} pages.")
    joined = hyphens.join_lines([_tidy(text) for text in texts])
    numbered = enumerate(joined, start=1)
    return ParsedDocument(
        title, tuple(DocumentSection(f"Page {number}", text) for number, text in numbered)
    )


def docx(content: bytes, _url: str) -> ParsedDocument:
    """Returns the text of a Word document in its order, with tables as rows."""
    import docx as word  # noqa: PLC0415  slow to import, and needed for this kind only

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            size = sum(each.file_size for each in packed.infolist())
        document = word.Document(io.BytesIO(content)) if size <= MAX_UNPACKED else None
        inner = document.iter_inner_content() if document else ()
        blocks = [_word_block(block) for block in inner]
        around = list(dict.fromkeys(_find_around(document))) if document else []
        title = document.core_properties.title if document else ""
    except Exception as error:  # python-docx and lxml raise many kinds for broken files
        raise UnreadableDocument("The file is not a valid Word document (.docx).") from error
    if document is None:
        raise UnreadableDocument("The document is too large when it is unpacked.")
    if around:
        blocks += [(1, AROUND), (0, "\n\n".join(around))]
    return _build_document(blocks, title)


READERS: Final[Mapping[str, Callable[[bytes, str], ParsedDocument]]] = {
    "markdown": markdown,
    "html": html,
    "pdf": pdf,
    "docx": docx,
}


def _markdown(source: str) -> ParsedDocument:
    from markdown_it import MarkdownIt  # noqa: PLC0415  needed for these kinds only
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415

    from retrieval.documents.plain_text import plain_text, words_of  # noqa: PLC0415

    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})
    nodes = SyntaxTreeNode(parser.parse(source)).children
    blocks = [
        (HEADINGS[node.tag], words_of(node)) if node.tag in HEADINGS else (0, plain_text([node]))
        for node in nodes
    ]
    is_titled = bool(nodes) and nodes[0].tag == "h1"
    return _build_document(blocks, blocks[0][1] if is_titled else "")


def _word_block(block: object) -> Block:
    """Returns the heading, or the text, of a paragraph or a table."""
    rows = getattr(block, "rows", None)
    if rows is not None:
        return 0, "\n".join(
            " | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in rows
        )
    text = str(getattr(block, "text", ""))
    style = str(getattr(getattr(block, "style", None), "name", "") or "")
    if not style.startswith(("Heading", "Title")):
        return 0, text
    level = style.rpartition(" ")[2]
    # Styles have up to nine levels; a title is above them.
    return (int(level) + 1 if level.isdecimal() else 1), text


def _find_around(document: Any) -> Iterator[str]:
    """Yields the texts of the headers and footers of a Word document, as each section has them."""
    for section in document.sections:
        for part in (
            *(section.first_page_header, section.header, section.even_page_header),
            *(section.first_page_footer, section.footer, section.even_page_footer),
        ):
            for block in part.iter_inner_content() if not part.is_linked_to_previous else ():
                _, text = _word_block(block)
                if text.strip():
                    yield text.strip()


def _build_document(blocks: Iterable[Block], title: str) -> ParsedDocument:
    """Collects blocks into the sections that the headings begin, each with its path of headings."""
    sections: list[tuple[str, list[str]]] = [(title, [])]
    above: list[Block] = []
    for level, text in blocks:
        if level and text:
            above = [*(each for each in above if each[0] < level), (level, text)]
            sections.append((_format_path(above, title), []))
        elif text:
            sections[-1][1].append(text)
    found = (DocumentSection(heading, _tidy("\n\n".join(texts))) for heading, texts in sections)
    first = next((heading for heading, _ in sections if heading), "")
    return ParsedDocument(title or first, tuple(found))


def _format_path(above: Sequence[Block], title: str) -> str:
    """Returns the headings above a text, without the title of the document if there are others."""
    names = [" ".join(text.split()) for _, text in above]
    return PATH.join(names[1:] if len(names) > 1 and names[0] == title else names)


def _decode_text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableDocument("The file is not text in UTF-8.") from None


def _tidy(text: str) -> str:
    return storable(text).strip()
