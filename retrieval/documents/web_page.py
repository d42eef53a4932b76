"""The main content of a web page as Markdown, and what the page says of itself.

Navigation, headers and footers are left out, and what no reader of the page sees. A page that has
to be left out of an index, or has nothing for one, raises ExcludedDocument.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from retrieval.documents.html_markdown import join_address, write_markdown
from retrieval.documents.sections import ExcludedDocument, UnreadableDocument, storable

# lxml.html.HtmlElement, whose methods have no types.
HtmlElement: TypeAlias = Any

# The name by which robots.txt, meta elements and headers address Halo.
ROBOT: Final = "halo-mcp"
NOINDEX: Final = frozenset({"noindex", "none"})
ROBOTS_NAMES: Final = frozenset({"robots", ROBOT})
MODIFIED_NAMES: Final = frozenset({"article:modified_time", "og:updated_time", "datemodified"})
# A page of which less text is left than this may be a form or a program.
FEW_CHARACTERS: Final = 400
# Up to here a page without a main element is taken whole: heuristics need more text.
SHORT_PAGE: Final = 2_000

SAYS_NOINDEX: Final = "The page says that it is not to be indexed (noindex)."
IS_SIGN_IN: Final = "The page is a sign-in form."
NEEDS_JAVASCRIPT: Final = "The page needs JavaScript: its HTML has no text to read."

_CLASS: Final = "contains(concat(' ', normalize-space(@class), ' '), ' {} ')"
UNSEEN: Final = (
    ".//script | .//style | .//noscript | .//template | .//svg | .//iframe | .//object | .//dialog"
    " | .//button | .//select | .//textarea | .//*[@hidden]"
    " | .//*[@aria-hidden='true'] | .//*[contains(translate(@style, ' ', ''), 'display:none')]"
    " | .//comment() | .//processing-instruction()"
)
AROUND: Final = (
    ".//nav | .//footer | .//*[@role='navigation'] | .//*[@role='contentinfo']"
    f" | .//*[@role='search'] | .//*[{_CLASS.format('breadcrumb')}]"
    f" | .//*[{_CLASS.format('breadcrumbs')}]"
)
AROUND_BODY: Final = f"{AROUND} | .//header | .//aside | .//*[@role='banner']"
ASKS_FOR_JAVASCRIPT: Final = re.compile(
    r"(enable|requires?|needs?|turn on|activate|without)\s+java\s?script|java\s?script\s+(is\s+)?"
    r"(required|disabled|not enabled|to be enabled)",
    re.IGNORECASE,
)
ROOTS: Final = frozenset({"root", "app", "__next", "__nuxt", "___gatsby", "main"})


@dataclass(frozen=True, slots=True)
class WebPage:
    """The main content as Markdown, and what the page says: addresses and times as written."""

    markdown: str
    title: str
    canonical: str
    modified: str


def parse_page(content: bytes, url: str) -> WebPage:
    """Returns the main content of a page at an address, which may be empty.

    Raises ExcludedDocument and UnreadableDocument.
    """
    import trafilatura  # noqa: PLC0415  slow to import, and needed for this kind only
    from lxml.etree import LxmlError  # noqa: PLC0415  as above

    try:
        page = trafilatura.load_html(content)
    except (LxmlError, ValueError) as error:
        raise UnreadableDocument("The page is not valid HTML.") from error
    if page is None:
        raise UnreadableDocument("The page has no text.")
    _refuse_noindex(page)
    _refuse_forward(page, url)
    title = " ".join((page.findtext(".//title") or "").split())
    canonical = next(iter(page.xpath("//link[@rel='canonical']/@href")), "")
    modified = next((text for name, text in _find_meta(page) if name in MODIFIED_NAMES), "")
    has_scripts = page.find(".//script") is not None
    asks = " ".join(each.text_content() for each in page.iter("noscript"))
    has_root = any(
        each.get("id") in ROOTS and not _words(each.text_content()) for each in page.iter("div")
    )
    content_element = _find_content(page)
    text = _words(content_element.text_content())
    if content_element.xpath(".//input[@type='password']") and len(text) < FEW_CHARACTERS:
        raise ExcludedDocument(IS_SIGN_IN)
    needs = has_root or ASKS_FOR_JAVASCRIPT.search(asks) or ASKS_FOR_JAVASCRIPT.search(text)
    if has_scripts and len(text) < FEW_CHARACTERS and (needs or not text):
        raise ExcludedDocument(NEEDS_JAVASCRIPT)
    markdown = _as_markdown(content_element, url, len(text))
    if not markdown.strip():
        raise UnreadableDocument("The page has no text.")
    return WebPage(markdown, title, canonical, modified)


def _find_meta(page: HtmlElement) -> Iterator[tuple[str, str]]:
    for each in page.iter("meta"):
        name = each.get("name") or each.get("property") or each.get("itemprop") or ""
        yield name.strip().lower(), (each.get("content") or "").strip()


def _refuse_noindex(page: HtmlElement) -> None:
    for name, content in _find_meta(page):
        said = {each.strip() for each in content.lower().split(",")}
        if name in ROBOTS_NAMES and said & NOINDEX:
            raise ExcludedDocument(SAYS_NOINDEX)


def _refuse_forward(page: HtmlElement, url: str) -> None:
    """Raises ExcludedDocument for a page that only leads to another one."""
    for each in page.iter("meta"):
        if (each.get("http-equiv") or "").strip().lower() != "refresh":
            continue
        _seconds, found, target = (each.get("content") or "").partition("=")
        if found:
            address = join_address(url, target.strip().strip("'\""))
            raise ExcludedDocument(f"The page only leads to {storable(address[:500])}")


def _find_content(page: HtmlElement) -> HtmlElement:
    """Returns the element with the main content, without what is around it and not seen."""
    for each in page.xpath(UNSEEN):
        _drop(each)
    mains = [each for each in page.xpath("//main | //*[@role='main']") if _has_text(each)]
    found = max(mains, key=lambda each: len(each.text_content())) if mains else page
    # Next to the article, a main element may have lists of other pages.
    articles = found.xpath(".//article[not(ancestor::article)]")
    if len(articles) == 1 and (mains or _has_text(articles[0])):
        is_most = len(articles[0].text_content()) * 2 > len(found.text_content())
        found = articles[0] if not mains or is_most else found
    is_whole = found is page
    for each in found.xpath(AROUND_BODY if is_whole else AROUND):
        _drop(each)
    body = found.find("body") if is_whole else None
    return found if body is None else body


def _drop(element: HtmlElement) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def _has_text(element: HtmlElement) -> bool:
    return bool(_words(element.text_content()))


def _words(text: str) -> str:
    return " ".join(text.split())


def _as_markdown(element: HtmlElement, url: str, length: int) -> str:
    import trafilatura  # noqa: PLC0415  as above

    if element.tag == "body" and length > SHORT_PAGE:
        # Without a main element, what is around the content is known by its look only.
        found = trafilatura.extract(
            element.getroottree().getroot(),
            output_format="markdown",
            include_comments=False,
            include_tables=True,
            favor_recall=True,
        )
        if found:
            return str(found)
    return write_markdown(element, url)
