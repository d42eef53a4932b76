"""Fetches web pages and sitemaps within bounds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from django.conf import settings

from foundation import outbound
from foundation.outbound import OutboundError, OutboundReply, Policy, RefusedRedirect
from knowledge import robots
from knowledge.robots import RobotsRules
from retrieval.documents.html_markdown import join_address
from retrieval.documents.sections import ExcludedDocument, UnreadableDocument, storable
from retrieval.documents.web_page import NOINDEX, ROBOT, SAYS_NOINDEX

MAX_PAGE_BYTES: Final = 5 * 1_048_576
PAGE_SECONDS: Final = 15.0
# A sitemap may name further sitemaps (https://www.sitemaps.org/protocol.html#index).
MAX_SITEMAPS: Final = 20
# An address in a sitemap is shorter than 2,048 characters (`loc` of the same protocol).
MAX_ADDRESS: Final = 2_047
MAX_ETAG: Final = 300
MAX_LASTMOD: Final = 100
OK: Final = 200
NOT_MODIFIED: Final = 304
CLIENT_ERROR: Final = 400
UNAUTHORIZED: Final = 401
TOO_MANY_REQUESTS: Final = 429
SERVER_ERROR: Final = 500
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
# Parts of the paths of pages at which people sign in.
SIGN_IN_NAMES: Final = frozenset(
    {
        *("login", "log-in", "log_in", "login.php", "login.html", "wp-login.php", "logon"),
        *("signin", "sign-in", "sign_in", "sign_in.html", "sso", "saml", "oauth", "authorize"),
    }
)
SAYS_ROBOTS: Final = "The site's robots.txt does not permit it."
ASKS_TO_SIGN_IN: Final = "The page is for people who have signed in."
PUBLIC: Final = Policy(max_bytes=MAX_PAGE_BYTES, deadline=PAGE_SECONDS, max_redirects=3)


class PageGone(UnreadableDocument):
    """The page does not exist any more."""


@dataclass(frozen=True, slots=True)
class Validators:
    """What tells a server which version of a page is known (RFC 9110, section 13.1); may be empty.

    They are sent as the server sent them.
    """

    etag: str = ""
    last_modified: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a conditional request."""
        named = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in named.items() if value}


UNKNOWN: Final = Validators()


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document as a web server sent it; `kind` is one of retrieval.documents.readers.

    `url` is the address after redirects.
    """

    url: str
    kind: str
    content: bytes
    validators: Validators = UNKNOWN


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of a sitemap, and when it was changed, as written there; may be empty."""

    url: str
    lastmod: str = ""


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


def page(url: str, rules: RobotsRules, known: Validators = UNKNOWN) -> Fetched | None:
    """Returns the document at a URL, or None if it is the version that is known.

    Raises UnreadableDocument, of it PageGone and ExcludedDocument.
    """
    reply = _fetch_permitted(url, rules, known)
    if reply.status == NOT_MODIFIED and known.headers:
        _refuse_noindex(reply)
        return None
    if reply.status == UNAUTHORIZED:
        raise ExcludedDocument(ASKS_TO_SIGN_IN)
    if reply.status != OK:
        refused_with = PageGone if reply.status in GONE else UnreadableDocument
        raise refused_with(f"The page could not be fetched: the server answered {reply.status}.")
    _refuse_noindex(reply)
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    kind = KINDS.get(media_type)
    if kind is None:
        raise UnreadableDocument(
            f"The page is of a type that is not read: {media_type[:100] or 'none'}."
        )
    return Fetched(reply.url, kind, reply.body, _read_validators(reply))


def _fetch_permitted(url: str, rules: RobotsRules, known: Validators) -> OutboundReply:
    """Returns the reply for a URL if robots.txt permits it and the address it redirects to."""
    if not rules.permits(url):
        raise ExcludedDocument(SAYS_ROBOTS)
    try:
        reply = outbound.fetch("GET", url, policy=policy_for(url), headers=known.headers)
    except OutboundError as error:
        if isinstance(error, RefusedRedirect) and _is_sign_in(error.headers.get("location", "")):
            raise ExcludedDocument(ASKS_TO_SIGN_IN) from None
        raise UnreadableDocument(f"The page could not be fetched. {error}.") from None
    if len(reply.url) > MAX_ADDRESS:
        raise UnreadableDocument("The page leads to an address that is too long.")
    if not rules.permits(reply.url):
        raise ExcludedDocument(SAYS_ROBOTS)
    return reply


def robots_rules(url: str) -> RobotsRules:
    """Returns what the robots.txt of a site permits. Raises UnreadableDocument.

    A site without one permits all (RFC 9309, section 2.3.1.3). While it cannot be had, nothing is
    fetched (section 2.3.1.4).
    """
    address = urljoin(url, "/robots.txt")
    policy = replace(policy_for(address), max_bytes=robots.MAX_BYTES)
    try:
        reply = outbound.fetch("GET", address, policy=policy)
    except OutboundError as error:
        raise UnreadableDocument(f"The site's robots.txt could not be fetched. {error}.") from None
    if reply.status == OK:
        return robots.parse(reply.body)
    if CLIENT_ERROR <= reply.status < SERVER_ERROR and reply.status != TOO_MANY_REQUESTS:
        return RobotsRules()
    raise UnreadableDocument(
        f"The site's robots.txt could not be fetched: the server answered {reply.status}."
    )


def find_canonical(url: str, canonical: str) -> str:
    """Returns the canonical address that a page at a URL names, or that URL.

    One of another host does not count: a page does not speak for another site.
    """
    named = join_address(url, canonical.strip()).partition("#")[0] if canonical.strip() else ""
    is_own = named.startswith(("https://", "http://")) and _is_readable(named, urlsplit(url).netloc)
    return named if is_own else url


def is_moved_to_sign_in(asked: str, final: str) -> bool:
    """Returns whether a page was redirected to an address of the kind that sign-in pages have."""
    return asked != final and _is_sign_in(final) and not _is_sign_in(asked)


def list_pages(sitemap: str, check: Callable[[], None]) -> list[ListedPage]:
    """Returns the pages of a sitemap and of those that it names, in order, without repetition.

    Of its own host only, and without those that are too long. `check` is called before each sitemap
    is fetched. Raises UnreadableDocument.
    """
    host = urlsplit(sitemap).netloc
    waiting, pages = [sitemap], dict[str, ListedPage]()
    for _ in range(MAX_SITEMAPS):
        if not waiting or len(pages) >= settings.HALO_SITEMAP_PAGES:
            break
        check()
        inner, listed = _read_sitemap(waiting.pop(0))
        waiting += [each.url for each in inner if _is_readable(each.url, host)]
        for each in listed:
            if _is_readable(each.url, host):
                pages.setdefault(each.url, each)
    return list(pages.values())[: settings.HALO_SITEMAP_PAGES]


def _read_sitemap(sitemap: str) -> tuple[list[ListedPage], list[ListedPage]]:
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
    # One address an entry, found among its children: those of pictures are deeper.
    entries = ((entry.find("{*}loc"), entry.find("{*}lastmod")) for entry in root)
    listed = [
        ListedPage(_text(address), _text(lastmod)[:MAX_LASTMOD])
        for address, lastmod in entries
        if address is not None
    ]
    is_index = etree.QName(root).localname == "sitemapindex"
    return (listed, []) if is_index else ([], listed)


def _text(element: Any) -> str:
    return "" if element is None else storable((element.text or "").strip())


def _read_validators(reply: OutboundReply) -> Validators:
    """Returns the validators of a reply, without those that cannot be kept or sent back."""
    etag, last_modified = (
        value if len(value) <= most and value.isascii() and value.isprintable() else ""
        for value, most in (
            (reply.headers.get("etag", ""), MAX_ETAG),
            (reply.headers.get("last-modified", ""), MAX_LASTMOD),
        )
    )
    return Validators(etag, last_modified)


def _refuse_noindex(reply: OutboundReply) -> None:
    """Raises ExcludedDocument if the headers of a reply forbid an index.

    Rules may be for one robot ("googlebot: noindex"). As repeated headers are joined, a rule
    without a name counts for every robot, also after one with a name.
    """
    for said in reply.headers.get("x-robots-tag", "").lower().split(","):
        name, found, rule = said.rpartition(":")
        if rule.strip() in NOINDEX and (not found or name.strip() in {"*", ROBOT}):
            raise ExcludedDocument(SAYS_NOINDEX)


def _is_sign_in(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(SIGN_IN_NAMES & {each.lower() for each in parts.path.split("/")})


def _is_readable(url: str, host: str) -> bool:
    try:
        return len(url) <= MAX_ADDRESS and urlsplit(url).netloc == host
    except ValueError:
        return False
