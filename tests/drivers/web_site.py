"""A web site on the loopback whose pages are read as knowledge."""

from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler

from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Answer, Seen, Site, sending

HTML: Mapping[str, str] = {"Content-Type": "text/html; charset=utf-8"}
SITEMAP_NAME = "http://www.sitemaps.org/schemas/sitemap/0.9"


class WebSite(Site):
    """Answers with the page at a path, or in the order of a script if there is none.

    Requests of robots.txt are not seen and not scripted: there is none, unless a test sets it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.robots: Answer = sending(b"", 404)
        self.pages: dict[str, Answer] = {}

    def answer(self, seen: Seen, handler: BaseHTTPRequestHandler) -> None:
        if seen.path == "/robots.txt":
            self.robots(handler)
        elif seen.path in self.pages:
            self.seen.append(seen)
            self.pages[seen.path](handler)
        else:
            super().answer(seen, handler)

    def list_pages(self, *paths: str, lastmod: str = "") -> None:
        """Lists these paths in the sitemap, /sitemap.xml."""
        date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
        listed = "".join(f"<url><loc>{self.url}{path}</loc>{date}</url>" for path in paths)
        self.pages["/sitemap.xml"] = sending(
            f'<urlset xmlns="{SITEMAP_NAME}">{listed}</urlset>'.encode()
        )


def sending_page(
    text: str, *, title: str = "Help", head: str = "", headers: Mapping[str, str] = site.NO_HEADERS
) -> Answer:
    """A page with a text in its main element, which is HTML."""
    return sending(
        f"<html><head><title>{title}</title>{head}</head><body><nav>Home Prices</nav>"
        f"<main><h1>{title}</h1>{text}</main><footer>Imprint</footer></body></html>".encode(),
        headers={**HTML, **headers},
    )
