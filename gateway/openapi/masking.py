"""Text of another server without secrets: credentials of the call, and what looks like one."""

import json
import re
from collections.abc import Iterable
from html import unescape
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

MASK: Final = "***"
MAX_EXCERPT: Final = 1_000
# Of this much text the excerpt is made: secrets are masked before the text is cut.
MAX_READ: Final = 16_000
MIN_SECRET: Final = 4
MIN_ECHOED: Final = 8

_WORDS: Final = (
    "passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    "authorization|credential|signature|session|cookie"
)
# Each name is looked at once, whatever text it is in: no quantifier here is tried again.
NAMED: Final = re.compile(
    rf"(?<![\w.-])(?=[\w.-]*(?:{_WORDS}))(?P<name>[\w.-]++\\?[\"']?\s{{0,3}}[:=]\s{{0,3}})"
    r"(?:\\\"[^\"]*+\"?"  # within a JSON string
    r"|\"(?:\\.|[^\"\\])*+\"?|'[^']*+'?|[^\s,;&\"'<>{}\[\]]++)",
    re.IGNORECASE,
)
AUTHORIZED: Final = re.compile(
    r"\b(?P<name>(?:Bearer|Basic|Digest|Token|ApiKey)\s{1,3})[\w.~+/=-]{8,}", re.IGNORECASE
)
PREFIXED: Final = re.compile(
    r"\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}"  # a JSON Web Token
    r"|\b[spr]k_(?:live|test)_\w{6,}|\b(?:halo|hhr)_[a-z]+_[\w-]{6,}|\bgh[pousr]_\w{6,}"
    r"|\bgithub_pat_\w{6,}|\bxox[a-z]-[\w-]{6,}|\bA[KS]IA[0-9A-Z]{12,}|\bAIza[\w-]{20,}"
)
USER_INFO: Final = re.compile(r"(?<=://)[^\s/@\"'<>]{1,200}@")
UNSHOWN: Final = re.compile(
    r"<(?:script|style)\b.*?(?:</(?:script|style)[^<>]*+>?|\Z)|<!--.*?(?:-->|\Z)",
    re.IGNORECASE | re.DOTALL,
)
TAGS: Final = re.compile(r"<[^<>]*+>")
SECRET_PARAMETER: Final = re.compile(
    rf"{_WORDS}|^(?:sig|key|code|auth|jwt|policy|state|hmac|hash|pwd)$|[_-](?:sig|key)$",
    re.IGNORECASE,
)


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns text with the given secrets, and what looks like a secret, replaced."""
    for secret in secrets:
        if len(secret) >= MIN_SECRET:
            text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    text = PREFIXED.sub(MASK, USER_INFO.sub(f"{MASK}@", text))
    text = AUTHORIZED.sub(rf"\g<name>{MASK}", text)
    return NAMED.sub(rf"\g<name>{MASK}", text)


def without(body: bytes, secrets: Iterable[str]) -> bytes:
    """Returns the body of a successful response without the given secrets, else as it came.

    A short secret may be a word of the answer, and stays.
    """
    for secret in secrets:
        if len(secret) >= MIN_ECHOED:
            for form in {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}:
                body = body.replace(form.encode(), MASK.encode())
    return body


def excerpt(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns the beginning of a text as one masked line of printable characters."""
    printable = "".join(c if c.isprintable() else " " for c in text[:MAX_READ])
    shown = masked(" ".join(printable.split()), secrets)
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
