"""Fetches web pages and sitemaps within bounds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from foundation import outbound
from foundation.outbound import OutboundError, Policy
from retrieval.documents.sections import UnreadableDocument

MAX_PAGE_BYTES: Final = 5 * 1_048_576
PAGE_SECONDS: Final = 15.0
# A sitemap may name further sitemaps (https://www.sitemaps.org/protocol.html#index).
MAX_SITEMAPS: Final = 20
# An address in a sitemap is shorter than 2,048 characters (`loc` of the same protocol).
MAX_ADDRESS: Final = 2_047
OK: Final = 200
# Not Found and Gone (RFC 9110, sections 15.5.5 and 15.5.11): every other status may pass.
GONE: Final = frozenset({404, 410})
KINDS: Final = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/plain": "markdown",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}


PUBLIC: Final = Policy(max_bytes=MAX_PAGE_BYTES, deadline=PAGE_SECONDS, max_redirects=3)


class PageGone(UnreadableDocument):
    """The page does not exist any more."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document as a web server sent it; `kind` is one of retrieval.documents.readers."""

    url: str
    kind: str
    content: bytes


def policy_for(url: str) -> Policy:
    """Returns the limits for a URL; hosts of HALO_KNOWLEDGE_PRIVATE_HOSTS may be private."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return PUBLIC
    found = PUBLIC.naming(parts, settings.HALO_KNOWLEDGE_PRIVATE_HOSTS)
    if found is PUBLIC or port is None:
        return found
    return replace(found, allowed_ports=frozenset({port}))


def page(url: str) -> Fetched:
    """Returns the document at a URL. Raises UnreadableDocument, of it PageGone."""
    try:
        reply = outbound.fetch("GET", url, policy=policy_for(url))
    except OutboundError as error:
        raise UnreadableDocument(f"The page could not be fetched. {error}.") from None
    if reply.status != OK:
        refused = PageGone if reply.status in GONE else UnreadableDocument
        raise refused(f"The page could not be fetched: the server answered {reply.status}.")
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    kind = KINDS.get(media_type)
    if kind is None:
        raise UnreadableDocument(
            f"The page is of a type that is not read: {media_type[:100] or 'none'}."
        )
    return Fetched(url, kind, reply.body)


def list_pages(sitemap: str, check: Callable[[], None]) -> list[str]:
    """Returns the pages of a sitemap and of those that it names, in order, without repetition.

    Of its own host only, and without those that are too long. `check` is called before each sitemap
    is fetched. Raises UnreadableDocument.
    """
    host = urlsplit(sitemap).netloc
    waiting, pages = [sitemap], list[str]()
    for _ in range(MAX_SITEMAPS):
        if not waiting or len(pages) >= settings.HALO_SITEMAP_PAGES:
            break
        check()
        inner, urls = _read_sitemap(waiting.pop(0))
        waiting += [url for url in inner if _is_readable(url, host)]
        pages += [url for url in urls if _is_readable(url, host)]
    return list(dict.fromkeys(pages))[: settings.HALO_SITEMAP_PAGES]


def _read_sitemap(sitemap: str) -> tuple[list[str], list[str]]:
    """Returns the sitemaps and the pages that a sitemap names."""
    from lxml import etree  # noqa: PLC0415  slow to import, and needed for this kind only

    try:
        reply = outbound.fetch("GET", sitemap, policy=policy_for(sitemap))
    except OutboundError as error:
        raise UnreadableDocument(f"The sitemap could not be fetched. {error}.") from None
    if reply.status != OK:
        raise UnreadableDocument(
            f"The sitemap could not be fetched: the server answered {reply.status}."
        )
    # No entities, no network: XML can expand without end otherwise.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(reply.body, parser)
    except etree.XMLSyntaxError:
        raise UnreadableDocument("The sitemap is not valid XML.") from None
    listed = [(element.text or "").strip() for element in root.iter("{*}loc")]
    is_index = etree.QName(root).localname == "sitemapindex"
    return (listed, []) if is_index else ([], listed)


def _is_readable(url: str, host: str) -> bool:
    try:
        return len(url) <= MAX_ADDRESS and urlsplit(url).netloc == host
    except ValueError:
        return False
