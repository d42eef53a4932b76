"""Decides which text becomes the target of a link: a path of this server, or a web address.

Stored addresses are text of others. One with another scheme than http or https may run code in the
page on which it is a link (OWASP Cross Site Scripting Prevention, "URL Contexts"). Templates use
the filter `link_target`, Python code uses `link`, and nothing else makes a link of a value
(`tests/architecture/test_links.py`).
"""

import re
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.html import format_html
from django.utils.safestring import SafeString

WEB: Final = frozenset({"http", "https"})
# Browsers remove control characters and spaces from an address, and read a backslash as a slash
# (WHATWG URL, section 4.4).
MISREAD: Final = re.compile(r"[\x00-\x20\x7f\\]")

# A path of this site. Browsers drop tabs and line breaks from an address and read a backslash as a
# slash, so "/<tab>/host" and "/\host" name another site.
SITE_PATH: Final = re.compile(r"/(?![/\\])[^\x00-\x1f\x7f]*")


def is_web_address(text: str) -> bool:
    """Returns whether a text is an absolute http or https URL, as a browser reads it."""
    if MISREAD.search(text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in WEB and bool(parts.hostname)


def link_target(address: Any) -> str:
    """Returns an address that a link may lead to, else an empty text.

    These are web addresses, and paths, queries and fragments of this server.
    """
    text = str(address)
    if MISREAD.search(text):
        return ""
    is_own = text.startswith(("/", "?", "#")) and not text.startswith("//")
    return text if is_own or is_web_address(text) else ""


def link(address: Any, text: Any) -> SafeString:
    """Returns the HTML of a link, or the text alone if it may not lead to the address."""
    target = link_target(address)
    return format_html('<a href="{}">{}</a>', target, text) if target else format_html("{}", text)
