"""What documents say in tables, front matter, links, headers and divided words is in passages."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from unittest.mock import patch

import docx
import pytest

from retrieval.documents import process
from tests.drivers.grants import Grant
from tests.workspace.test_knowledge import add, pdf_document, read_here
from workspace.models import KnowledgePage, KnowledgeSource, SourceStatus

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _read_here() -> Iterator[None]:
    """Documents are read in this process, which is faster."""
    with patch.object(process, "read_all", read_here):
        yield


def texts(source: KnowledgeSource) -> list[str]:
    return list(source.chunks.order_by("position").values_list("text", flat=True))


HEADER = "Country | VAT | Currency | Monthly | Yearly"
ROWS = [f"Country{number} | {number} % | EUR | {number} | {number * 10}" for number in range(62)]


def markdown_table() -> bytes:
    lines = [HEADER, "--- | --- | --- | --- | ---", *ROWS]
    return ("# Prices\n\nIn all countries.\n\n" + "\n".join(lines)).encode()


def html_table() -> bytes:
    cells = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row.split(' | '))}</tr>"
        for row in (HEADER, *ROWS)
    )
    return f"<main><h1>Prices</h1><p>In all countries.</p><table>{cells}</table></main>".encode()


def word_table() -> bytes:
    document = docx.Document()
    document.add_heading("Prices", 1)
    document.add_paragraph("In all countries.")
    table = document.add_table(rows=0, cols=5)
    for row in (HEADER, *ROWS):
        for cell, text in zip(table.add_row().cells, row.split(" | "), strict=True):
            cell.text = text
    return as_file(document)


def as_file(document: "docx.document.Document") -> bytes:
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


TABLES = {"markdown": markdown_table, "html": html_table, "docx": word_table}


@pytest.mark.parametrize("kind", TABLES)
def test_each_passage_of_a_long_table_begins_with_its_header(grant: Grant, kind: str) -> None:
    first, *others = texts(add(grant, TABLES[kind](), kind=kind))
    assert first.startswith(f"In all countries.\n\n{HEADER}\nCountry0")
    assert others
    for text in others:
        assert text.splitlines()[0] == HEADER
    rows = [line for text in (first, *others) for line in text.splitlines() if "EUR" in line]
    assert rows == ROWS


def test_text_and_code_with_bars_are_cut_without_a_header(grant: Grant) -> None:
    code = "\n".join(f"cat file{number} | sort | uniq -c" for number in range(90))
    first, *others = texts(add(grant, f"# Shell\n\n```\n{code}\n```".encode()))
    assert others
    assert first.splitlines()[0] not in "\n".join(others)


FRONT_MATTER = """---
title: "Webhook cookbook"
version: 3.4
last_updated: 2026-09-01
date: 2020-01-01
draft: {draft}
tags: [a, b]
---

See the [runbook](https://wiki.example.com/runbook), [below](#x) and [the next](next.md).
Write to [support](mailto:help@example.com), or to <https://help.example.com/>.

##### Retries

Five times.

###### Delays

A minute each.
"""


def test_front_matter_gives_title_and_date_and_links_keep_their_address(grant: Grant) -> None:
    source = add(grant, FRONT_MATTER.format(draft="false").encode())
    assert (source.title, source.passages) == ("Webhook cookbook", 3)
    page = KnowledgePage.objects.get()
    assert (page.state, page.passage_count) == ("read", 3)
    assert page.modified_at == datetime(2026, 9, 1, tzinfo=UTC)
    assert texts(source)[0] == (
        "See the runbook (https://wiki.example.com/runbook), below and the next. "
        "Write to support (help@example.com), or to https://help.example.com/."
    )
    headings = source.chunks.order_by("position").values_list("heading", flat=True)
    assert [heading.rpartition(" > ")[2] for heading in headings][1:] == ["Retries", "Delays"]


@pytest.mark.parametrize("said", ["draft: true", "draft: 'Yes'", "published: false", "Draft: TRUE"])
def test_a_draft_is_not_indexed_and_listed_so(grant: Grant, said: str) -> None:
    source = add(grant, f"---\n{said}\n---\n\n# Prices\n\nThey rise.".encode())
    assert (source.status, source.passages) == (SourceStatus.EXCLUDED, 0)
    page = KnowledgePage.objects.get()
    assert (page.state, page.error) == ("excluded", source.error)
    assert source.error == "The document is a draft: its front matter says so."


@pytest.mark.parametrize("text", ["---\n\nSeats: they cost.\n\n---\n\nMore.", "---\nno end"])
def test_a_rule_at_the_beginning_is_no_front_matter(grant: Grant, text: str) -> None:
    source = add(grant, text.encode())
    assert source.status == SourceStatus.READY


def test_front_matter_that_is_no_yaml_says_so(grant: Grant) -> None:
    source = add(grant, b"---\ntitle: [a\ndraft: true\n---\n\nText.")
    assert (source.status, source.error) == (
        SourceStatus.FAILED,
        "The front matter, between the first two lines of ---, is not valid YAML.",
    )


def test_headers_and_footers_of_a_word_document_are_read_once(grant: Grant) -> None:
    document = docx.Document()
    document.add_heading("Contract", 1)
    document.add_paragraph("Both sides agree.")
    document.sections[0].header.paragraphs[0].text = "Contract number KS-2026-114"
    document.sections[0].footer.paragraphs[0].text = "Governed by the law of Sweden"
    document.add_section()
    source = add(grant, as_file(document), kind="docx")
    assert texts(source) == [
        "Both sides agree.",
        "Contract number KS-2026-114\n\nGoverned by the law of Sweden",
    ]


def test_words_that_a_pdf_divides_are_joined(grant: Grant) -> None:
    lines = (
        "Cus-",
        "tomer-managed keys are for customer-",
        "managed plans. A customer is managed with-",
        "out them, as without others. Wi-",
        "Fi works, infor-",
        "mation too.",
    )
    source = add(grant, pdf_of_lines(lines), kind="pdf")
    (text,) = texts(source)
    assert " ".join(text.split()) == (
        "Customer-managed keys are for customer-managed plans. A customer is managed without "
        "them, as without others. Wi- Fi works, information too."
    )


def pdf_of_lines(lines: tuple[str, ...]) -> bytes:
    return pdf_document(") Tj 0 -14 Td (".join(lines))


PAGE = """<html><head><title>Limits - Kestrel</title>
<meta property="article:modified_time" content="2026-08-02T10:00:00+02:00"></head>
<body><header><a href="/">Kestrel</a><nav><a href="/prices">Prices</a></nav></header>
<div class="layout"><aside>Related pages</aside>
<main><nav class="breadcrumb">Docs</nav><article><header><h1>Limits &amp; quotas</h1></header>
<p>See <a href="/runbook">the runbook</a>&nbsp;&lt;here&gt; | 100 * 2_000 #5.</p>
<aside><p>Take care: <code>a*b*</code> counts twice.</p></aside>
<div>Loose text<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul></div>
<p hidden>HIDDEN</p><p style="display: none">HIDDEN</p><span aria-hidden="true">HIDDEN</span>
<pre><code># no heading
make</code></pre>
</article><section>Next page</section></main></div><footer>Imprint</footer></body></html>"""


def test_the_main_content_of_a_page_keeps_its_structure(grant: Grant) -> None:
    source = add(grant, PAGE.encode(), kind="html", url="https://help.example.com/limits")
    assert source.title == "Limits & quotas"
    (text,) = texts(source)
    assert text == (
        "See the runbook (https://help.example.com/runbook) <here> | 100 * 2_000 #5.\n\n"
        "Take care: a*b* counts twice.\n\nLoose text\n\n- one\n  - inner\n- two\n\n"
        "    # no heading\n    make"
    )
    page = KnowledgePage.objects.get()
    assert page.modified_at == datetime(2026, 8, 2, 8, tzinfo=UTC)
    assert page.address == "https://help.example.com/limits"


def test_dates_that_cannot_be_those_of_a_change_are_left_out(grant: Grant) -> None:
    for date in ("yesterday", "0001-01-01", "9999-12-31T23:59:59-12:00", "2026-13-45"):
        source = add(grant, f"---\ndate: {date}\n---\n\nText.".encode())
        assert (source.status, source.pages.get().modified_at) == (SourceStatus.READY, None)


def test_deeply_nested_and_endless_pages_are_ended(grant: Grant) -> None:
    deep = f"<html><body><main>{'<div>' * 150}deep text{'</div>' * 150}</main></body></html>"
    assert texts(add(grant, deep.encode(), kind="html")) == ["deep text"]
    deeper = deep.replace("<div>", "<div>" * 100)
    assert add(grant, deeper.encode(), kind="html").status == SourceStatus.FAILED
    bomb = "---\na: &a [x, x]\n" + "".join(
        f"{name}: &{name} [*{before}, *{before}]\n"
        for before, name in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
    )
    assert add(grant, f"{bomb}---\n\nText.".encode()).status == SourceStatus.READY
