"""Pages read for search, and rendered for people."""

import re
from textwrap import dedent

import pytest

from documentation.markdown import PageSection, read_page, render_html

PAGE = dedent("""\
    # Tokens & *keys*

    How a client [signs in](sign-in.md).

    ## Refreshing

    Spend a `refresh token` **once**.

    ```bash
    # no heading
    ## none either
    curl <url>
    ```

    ### Clock differences

    No leeway.
    """)


def sections(source: str) -> list[PageSection]:
    return list(read_page("a-page", source).sections)


def anchors(source: str) -> list[str]:
    return [section.anchor for section in sections(source)]


def test_the_first_heading_names_the_page() -> None:
    assert read_page("tokens", PAGE).title == "Tokens & keys"


def test_a_page_without_a_title_is_named_after_its_file() -> None:
    assert read_page("rate-limits", "Just text.").title == "Rate limits"


def test_a_page_keeps_its_slug_and_its_source() -> None:
    page = read_page("tokens", PAGE)
    assert (page.slug, page.source) == ("tokens", PAGE)


def test_each_heading_down_to_the_third_level_opens_a_section() -> None:
    assert [section.heading for section in sections(PAGE)] == [
        "Tokens & keys",
        "Refreshing",
        "Clock differences",
    ]


def test_a_fourth_level_heading_stays_in_its_section() -> None:
    assert sections("## A\n\nb\n\n#### C\n\nd") == [PageSection("a", "A", "b\n\nC\n\nd")]


def test_a_heading_inside_a_quotation_opens_no_section() -> None:
    assert sections("## A\n\n> ## B") == [PageSection("a", "A", "B")]


def test_a_later_first_level_heading_opens_a_section() -> None:
    assert anchors("# Title\n\n# Part two\n\ntext") == ["part-two"]


def test_the_opening_is_a_section_under_the_title_without_an_anchor() -> None:
    assert sections(PAGE)[0] == PageSection("", "Tokens & keys", "How a client signs in.")


def test_an_empty_opening_is_no_section() -> None:
    assert anchors("# Title\n\n## Only part\n\ntext") == ["only-part"]


@pytest.mark.parametrize("source", ["", "# Title only"])
def test_even_an_empty_page_has_a_section(source: str) -> None:
    assert anchors(source) == [""]


def test_a_hash_inside_code_is_no_heading_and_code_is_kept() -> None:
    text = sections(PAGE)[1].text
    assert "    # no heading\n    ## none either\n    curl <url>" in text


def test_text_loses_its_markup_and_keeps_its_words() -> None:
    assert sections(PAGE)[1].text.startswith("Spend a refresh token once.")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("one\ntwo  \nthree", "one two\nthree"),
        ("- one\n- two\n  - inner", "- one\n- two\n  - inner"),
        ("3. one\n4. two", "3. one\n4. two"),
        ("| a | `b` |\n|---|---|\n| 1 | **2** |", "a | b\n1 | 2"),
        ("> said", "said"),
        ("![a chart](chart.png)", "a chart"),
        ("a\n\n---\n\nb", "a\n\nb"),
        ("tea &amp; milk", "tea & milk"),
        ("<b>raw</b>", "<b>raw</b>"),
        ("a\x07b\ue000c", "abc"),
    ],
)
def test_blocks_read_as_plain_text(source: str, text: str) -> None:
    assert sections(source)[0].text == text


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("What is `tools/list`?", "what-is-toolslist"),
        ("Snake_case and hy-phen", "snake_case-and-hy-phen"),
        ("Tea & milk", "tea--milk"),
        ("Über uns", "über-uns"),
        ("[Linked](x.md) words", "linked-words"),
        ("🎉", "section"),
    ],
)
def test_anchors_are_named_as_github_names_them(heading: str, anchor: str) -> None:
    assert anchors(f"## {heading}") == [anchor]


def test_equal_headings_get_different_anchors() -> None:
    assert anchors("## A\n\n## A\n\n## A 1\n\n## A") == ["a", "a-1", "a-1-1", "a-2"]


def test_a_very_long_heading_still_has_an_anchor_that_the_database_holds() -> None:
    assert max(map(len, anchors(f"## {'word ' * 90}\n\n## {'word ' * 90}"))) <= 200


def test_rendered_headings_carry_the_anchors_of_their_sections() -> None:
    source = f"{PAGE}\n## Refreshing\n\n#### Deep"
    ids = re.findall(r'<h\d id="([^"]*)"', render_html(source))
    assert ids == ["tokens--keys", "refreshing", "clock-differences", "refreshing-1", "deep"]
    assert set(anchors(source)) - {""} <= set(ids)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("other-page.md", "/docs/other-page"),
        ("./other-page.md", "/docs/other-page"),
        ("other-page.md#a-part", "/docs/other-page#a-part"),
        ("#here", "#here"),
        ("../README.md", "../README.md"),
        ("decisions/0001.md", "decisions/0001.md"),
        ("operate/deployment.md#backup", "/docs/operate/deployment#backup"),
        ("https://example.com/page.md", "https://example.com/page.md"),
    ],
)
def test_links_to_pages_next_to_lead_to_the_console(link: str, target: str) -> None:
    assert render_html(f"[x]({link})") == f'<p><a href="{target}">x</a></p>\n'


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("other-page.md", "/docs/operate/other-page"),
        ("../other-page.md#a-part", "/docs/other-page#a-part"),
        ("../develop/other-page.md", "/docs/develop/other-page"),
        ("../../README.md", "../../README.md"),
        ("../../secret.md", "../../secret.md"),
        ("../decisions/0001.md", "../decisions/0001.md"),
    ],
)
def test_links_of_an_operator_page_are_resolved_from_its_folder(link: str, target: str) -> None:
    html = render_html(f"[x]({link})", folder="operate")
    assert html == f'<p><a href="{target}">x</a></p>\n'


@pytest.mark.parametrize(
    "source",
    [
        "<script>alert(1)</script>",
        "text <img src=x onerror=alert(1)>",
        "<!-- note --> <style>p{}</style>",
        "## <i>x</i>",
        "```html\n<script>alert(1)</script>\n```",
    ],
)
def test_markup_of_the_author_is_shown_and_not_obeyed(source: str) -> None:
    html = render_html(source)
    assert not re.search(r"<(script|img|style|i|!--)", html)
    assert "&lt;" in html


@pytest.mark.parametrize("scheme", ["javascript:alert(1)", "vbscript:x", "data:text/html,x"])
def test_links_that_would_run_something_are_not_made(scheme: str) -> None:
    assert "<a" not in render_html(f"[x]({scheme})")


def test_aligned_cells_carry_a_class_where_a_style_would_be_blocked() -> None:
    html = render_html("| a | b |\n|--:|---|\n| 1 | 2 |")
    assert "style" not in html
    assert '<td class="align-right">1</td>\n<td>2</td>' in html


def test_what_may_be_wider_than_a_screen_is_reached_by_keyboard() -> None:
    html = render_html("| a |\n|---|\n| b |\n\n```sh\nls\n```\n\n    indented\n\n`<pre>` <table>\n")
    assert html.count('<div class="wide" tabindex="0"><table>') == html.count("</table></div>") == 1
    assert html.count('<pre tabindex="0">') == html.count("<pre") == 2
