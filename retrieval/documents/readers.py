"""Reads documents of each kind. The libraries are imported when a document of the kind is read."""

import io
import itertools
import zipfile
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from retrieval.documents.sections import DocumentSection, ParsedDocument, UnreadableDocument

MAX_PAGES: Final = 2_000
# Of a document's text; more than a long book has.
MAX_CHARACTERS: Final = 4_000_000
# Of a Word document when it is unpacked.
MAX_UNPACKED: Final = 200_000_000
HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4"})


def read(kind: str, content: bytes) -> ParsedDocument:
    """Returns the text of a document of a kind in READERS. Raises UnreadableDocument."""
    from retrieval.documents.plain_text import storable  # noqa: PLC0415  as below

    document = READERS[kind](content)
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
    return ParsedDocument(storable(document.title), sections)


def markdown(content: bytes) -> ParsedDocument:
    return _markdown(_decode_text(content))


def html(content: bytes) -> ParsedDocument:
    """Returns the main text of a web page, without navigation and other parts around it."""
    import trafilatura  # noqa: PLC0415  slow to import, and needed for this kind only
    from lxml.etree import LxmlError  # noqa: PLC0415

    try:
        page = trafilatura.load_html(content)
        text = (
            None
            if page is None
            else trafilatura.extract(
                page,
                output_format="markdown",
                include_comments=False,
                include_tables=True,
                favor_recall=True,
            )
        )
        about = None if page is None else trafilatura.extract_metadata(page)
    except (LxmlError, ValueError) as error:
        raise UnreadableDocument("The page is not valid HTML.") from error
    if not text:
        raise UnreadableDocument("The page has no text.")
    found = _markdown(text)
    return ParsedDocument(found.title or (about.title if about else "") or "", found.sections)


def pdf(content: bytes) -> ParsedDocument:
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
    numbered = enumerate(map(_tidy, texts), start=1)
    return ParsedDocument(
        title, tuple(DocumentSection(f"Page {number}", text) for number, text in numbered)
    )


def docx(content: bytes) -> ParsedDocument:
    """Returns the text of a Word document in its order, with tables as rows."""
    import docx as word  # noqa: PLC0415  slow to import, and needed for this kind only

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            size = sum(each.file_size for each in packed.infolist())
        document = word.Document(io.BytesIO(content)) if size <= MAX_UNPACKED else None
        inner = document.iter_inner_content() if document else ()
        blocks = [_word_block(block) for block in inner]
        title = document.core_properties.title if document else ""
    except Exception as error:  # python-docx and lxml raise many kinds for broken files
        raise UnreadableDocument("The file is not a valid Word document (.docx).") from error
    if document is None:
        raise UnreadableDocument("The document is too large when it is unpacked.")
    return _build_document(blocks, title)


READERS: Final[Mapping[str, Callable[[bytes], ParsedDocument]]] = {
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
        (words_of(node), "") if node.tag in HEADINGS else ("", plain_text([node])) for node in nodes
    ]
    is_titled = bool(nodes) and nodes[0].tag == "h1"
    return _build_document(blocks, blocks[0][0] if is_titled else "")


def _word_block(block: object) -> tuple[str, str]:
    """Returns the heading, or the text, of a paragraph or a table."""
    rows = getattr(block, "rows", None)
    if rows is not None:
        return "", "\n".join(" | ".join(cell.text for cell in row.cells) for row in rows)
    text = str(getattr(block, "text", ""))
    style = str(getattr(getattr(block, "style", None), "name", "") or "")
    return (text, "") if style.startswith(("Heading", "Title")) else ("", text)


def _build_document(blocks: Iterable[tuple[str, str]], title: str) -> ParsedDocument:
    """Collects blocks, each a heading or a text, into the sections that the headings begin."""
    sections: list[tuple[str, list[str]]] = [(title, [])]
    for heading, text in blocks:
        if heading:
            sections.append((heading, []))
        elif text:
            sections[-1][1].append(text)
    found = (DocumentSection(heading, _tidy("\n\n".join(texts))) for heading, texts in sections)
    return ParsedDocument(
        title or next((heading for heading, _ in sections if heading), ""), tuple(found)
    )


def _decode_text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableDocument("The file is not text in UTF-8.") from None


def _tidy(text: str) -> str:
    from retrieval.documents.plain_text import storable  # noqa: PLC0415  as above

    return storable(text).strip()
