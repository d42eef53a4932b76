"""Text of another server without secrets: credentials of the call, and what looks like one."""

import re
from collections.abc import Iterable
from html import unescape
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from foundation.masking import MASK, WORDS, mask_secrets, replace_secrets

MAX_EXCERPT: Final = 1_000
# Of this much text the excerpt is made: secrets are masked before the text is cut.
MAX_READ: Final = 16_000
MIN_ECHOED: Final = 8

UNSHOWN: Final = re.compile(
    r"<(?:script|style)\b.*?(?:</(?:script|style)[^<>]*+>?|\Z)|<!--.*?(?:-->|\Z)",
    re.IGNORECASE | re.DOTALL,
)
TAGS: Final = re.compile(r"<[^<>]*+>")
SECRET_PARAMETER: Final = re.compile(
    rf"{WORDS}|^(?:sig|key|code|auth|jwt|policy|state|hmac|hash|pwd)$|[_-](?:sig|key)$",
    re.IGNORECASE,
)


def mask_body(body: bytes, secrets: Iterable[str]) -> bytes:
    """Returns the body of a successful response without the given secrets, else as it came.

    A short secret may be a word of the answer, and stays.
    """
    text = body.decode(errors="surrogateescape")
    return replace_secrets(text, secrets, min_length=MIN_ECHOED).encode(errors="surrogateescape")


def excerpt(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns the beginning of a text as one masked line of printable characters."""
    printable = "".join(c if c.isprintable() else " " for c in text[:MAX_READ])
    shown = mask_secrets(" ".join(printable.split()), secrets)
    return shown if len(shown) <= MAX_EXCERPT else f"{shown[:MAX_EXCERPT].rstrip()}…"


def location(url: str, secrets: Iterable[str] = ()) -> str:
    """Returns a Location without user name, fragment and the secrets of its query."""
    line = excerpt(url, secrets)
    try:
        parts = urlsplit(line)
    except ValueError:
        return line.partition("?")[0]
    query = [
        (name, MASK if SECRET_PARAMETER.search(name) else value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(
        netloc=host, query=urlencode(query, safe=f"{MASK}:/"), fragment=""
    ).geturl()


def text_of_page(html: str) -> str:
    """Returns the text of a page of HTML, without scripts, styles and comments."""
    text = TAGS.sub(" ", UNSHOWN.sub(" ", html[:MAX_READ]))
    return unescape(text)
