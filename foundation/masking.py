"""Text of another server without secrets: those that are known, and what looks like one."""

import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

MASK: Final = "***"
MIN_SECRET: Final = 4
# In how many strings of JSON within each other a secret is looked for: forms double with each.
MAX_LEVELS: Final = 3

WORDS: Final = (
    "passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    "authorization|credential|signature|session|cookie"
)
# Each name is looked at once, whatever text it is in: no quantifier here is tried again.
NAMED: Final = re.compile(
    rf"(?<![\w.-])(?=[\w.-]*(?:{WORDS}))(?P<name>[\w.-]++\\{{0,7}}+[\"']?\s{{0,3}}[:=]\s{{0,3}})"
    r"(?:\\{1,7}+\"[^\"]*+\"?"  # within a JSON string, which may be in another one
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


def list_forms(secrets: Iterable[str], *, min_length: int = MIN_SECRET) -> list[str]:
    """Returns how a text may have secrets: as they are, as in a URL, and as in a JSON string.

    That string may be in JSON that is a string itself, up to MAX_LEVELS. One that is shorter than
    `min_length` may be a word of the text, and is left out. The longest form is first, since
    another one may be a part of it.
    """
    known = {secret for secret in secrets if len(secret) >= min_length}
    forms = {form for one in known for form in (one, quote(one, safe=""), *_json_forms(one))}
    return sorted(forms, key=len, reverse=True)


def _json_forms(secret: str) -> set[str]:
    """The secret within strings of JSON, escaped once for each level (RFC 8259, section 7).

    As usual libraries write them: in ASCII or UTF-8, and some with every slash escaped.
    """
    forms: set[str] = set()
    for slash in ("/", r"\/"):
        level = {secret}
        for _ in range(MAX_LEVELS):
            level = {
                json.dumps(form, ensure_ascii=is_ascii)[1:-1].replace("/", slash)
                for form in level
                for is_ascii in (True, False)
            }
            forms |= level
    return forms


def replace_forms(text: str, forms: Iterable[str]) -> str:
    """Returns text with the forms that `list_forms` returned replaced."""
    for form in forms:
        text = text.replace(form, MASK)
    return text


def mask_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns text with the given secrets, and what looks like a secret, replaced."""
    text = replace_forms(text, list_forms(secrets))
    text = PREFIXED.sub(MASK, USER_INFO.sub(f"{MASK}@", text))
    text = AUTHORIZED.sub(rf"\g<name>{MASK}", text)
    return NAMED.sub(rf"\g<name>{MASK}", text)
