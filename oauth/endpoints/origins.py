"""The origin of a request for a page, according to the browser.

Browsers send Sec-Fetch-* to https and to loopback (W3C Fetch Metadata); a request without these
headers counts as one of the user.
"""

from typing import Final

from django.conf import settings
from django.http import HttpRequest

OURS: Final = frozenset({"same-origin", "none"})  # "none": typed, or from a bookmark
PAGE: Final = "document"


def is_part_of_a_foreign_page(request: HttpRequest) -> bool:
    """Returns whether another site embeds it: an image, a frame, a script or a prefetch."""
    if request.headers.get("Sec-Purpose", "").startswith("prefetch"):
        return True
    if request.headers.get("Sec-Fetch-Site", "") in OURS:
        return False
    return request.headers.get("Sec-Fetch-Dest", PAGE) != PAGE


def is_posted_from_elsewhere(request: HttpRequest) -> bool:
    """Returns whether a page of another origin sent this form; "null" is one (RFC 6454, 7.3)."""
    origin = request.headers.get("Origin")
    if request.method != "POST" or origin is None:
        return False
    return origin not in {settings.HALO_PUBLIC_URL, f"{request.scheme}://{request.get_host()}"}
