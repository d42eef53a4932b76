"""Text of another server without secrets: those that are known, and what looks like one."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias
from urllib.parse import quote

MASK: Final = "***"
MIN_SECRET: Final = 4
# In how many strings of JSON within each other a secret is looked for.
MAX_LEVELS: Final = 3
# From so many secrets on, those are left out first that a text cannot have.
MANY: Final = 1_000
# Of the beginning and the end of a secret, for that.
MAX_PIECE: Final = 12
# No text of JSON in a database has it.
SEPARATOR: Final = "\0"

WORDS: Final = (
    "passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    "authorization|credential|signature|session|cookie"
)
# Each name is looked at once, whatever text it is in: no quantifier here is tried again.
NAMED: Final = re.compile(
    rf"(?<![\w.-])(?=[\w.-]*(?:{WORDS}))[\w.-]++[\"']?\s{{0,3}}[:=]\s{{0,3}}"
    r"(?P<value>\"(?:\\.|[^\"\\])*+\"?|'[^']*+'?"
    # The value in a JSON string is found once the text is unescaped.
    r"|(?!\\+(?:\"|u0022))[^\s,;&\"'<>{}\[\]]++)",
    re.IGNORECASE,
)
AUTHORIZED: Final = re.compile(
    r"\b(?P<name>(?:Bearer|Basic|Digest|Token|ApiKey)\s{1,3})[\w.~+/=-]{8,}", re.IGNORECASE
)
# Secrets by what they begin with, as scanners of repositories find them (rules of gitleaks, secret
# scanning of GitHub and GitLab). Our own are found in capitals too.
PREFIXED: Final = re.compile(
    r"\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}"  # a JSON Web Token
    r"|\b(?i:halo|hhr)_[A-Za-z]+_[\w-]{6,}"
    r"|\b(?:[spr]k_(?:live|test|prod)|whsec|gh[pousr]|github_pat|shp(?:at|ca|pa|ss)|do[opr]_v1"
    r"|dckr_pat|rubygems|glsa|lin_(?:api|oauth)|pscale_(?:tkn|pw|oauth)|sntry[su])_\w{6,}"
    r"|\b(?:npm|hf|glc|gsk|r8|phc|phx|tfp|ntn|figd)_[\w-]{16,}"
    r"|\b(?:xox[a-z]|xapp|gl(?:pat|dt|rt|cbt|ptt|ft|agent|oas|imt|soat|ffct))-[\w-]{6,}"
    r"|\b(?:pypi|PMAK|NRAK|CFPAT|xkeysib|sq0(?:atp|csp|idp)|xai|tvly|nvapi)-[\w-]{16,}"
    r"|\bsk-(?=[\w-]*\d)[\w-]{12,}|\bpat-[a-z]{2}\d-[0-9a-f-]{20,}|\bkey-[0-9a-f]{32}"
    r"|\bSG\.[\w-]{12,}\.[\w-]{12,}|\bya29\.[\w.-]{6,}|\bhv[sbr]\.[\w-]{20,}"
    r"|\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w-]{16,}|\bdt0c01\.[\w.-]{20,}|\bsl\.[\w-]{60,}"
    r"|\bA(?:[KSB]IA|CCA|3T[A-Z0-9])[0-9A-Z]{12,}|\bLTAI[0-9A-Za-z]{12,}|\bAIza[\w-]{20,}"
    r"|\bEAAA[\w-]{40,}|\bAT(?:ATT3|CTT3|BB)[\w=-]{20,}|\bdapi[0-9a-f]{32}|\b(?:AC|SK)[0-9a-f]{32}\b"
    r"|\bAGE-SECRET-KEY-1[0-9A-Z]{20,}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[\s\S]*?-----END [A-Z ]{0,40}-----|[\s\S]*+)"
)
USER_INFO: Final = re.compile(r"(?<=://)[^\s/@\"'<>]{1,200}@")
# RFC 8259, section 7. Two escapes of UTF-16 may be one character.
ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[\"\\/bfnrt])"
)
CONTROLS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

# Where it begins and ends.
Span: TypeAlias = tuple[int, int]


class EscapedText:
    """A text that may have escapes of JSON strings, and the text without them."""

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        # Where the character of each escape is in the unescaped text.
        self.places: list[int] = []
        parts: list[str] = []
        end, length = 0, 0
        for match in ESCAPE.finditer(text) if "\\" in text else ():
            length += match.start() - end
            parts += (text[end : match.start()], _unescape(match[0]))
            end = match.end()
            self.starts.append(match.start())
            self.ends.append(end)
            self.places.append(length)
            length += 1
        self.unescaped = "".join((*parts, text[end:]))

    def widen(self, span: Span) -> Span:
        """Returns a span of the text with the whole of the escapes that it begins or ends in."""
        start, end = span
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end) - 1
        if first >= 0 and start < self.ends[first]:
            start = self.starts[first]
        return start, end if last < 0 else max(end, self.ends[last])

    def find_span(self, span: Span) -> Span:
        """Returns where a span of the unescaped text is in the text."""
        start, end = map(self._find_position, span)
        return start, end

    def _find_position(self, place: int) -> int:
        before = bisect_left(self.places, place)
        return self.ends[before - 1] + place - self.places[before - 1] - 1 if before else place


def replace_secrets(text: str, secrets: Iterable[str], *, min_length: int = MIN_SECRET) -> str:
    """Returns text with secrets replaced: as they are, as in a URL, and as in a JSON string.

    That string may be in JSON that is a string itself, up to MAX_LEVELS, with any characters of it
    escaped. A secret that is shorter than `min_length` may be a word of the text, and stays.
    """
    known = {secret for secret in secrets if len(secret) >= min_length}
    forms = known | {quote(secret, safe="") for secret in known}
    if not forms:
        return text
    return _replace_spans(text, _find_at_levels(text, lambda level: _find_forms(level, forms)))


def replace_in_texts(texts: Sequence[str], secrets: Iterable[str]) -> list[str]:
    """Returns texts as `replace_secrets` does, which searches in all of them at once."""
    return replace_secrets(SEPARATOR.join(texts), secrets).split(SEPARATOR)


def mask_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Returns text with the given secrets, and what looks like a secret, replaced."""
    text = USER_INFO.sub(f"{MASK}@", replace_secrets(text, secrets))
    return replace_recognized(AUTHORIZED.sub(rf"\g<name>{MASK}", text))


def replace_recognized(text: str, mask: str = MASK) -> str:
    """Returns text with the secrets replaced that have a known prefix or a name, as `password:`."""
    text = PREFIXED.sub(mask, text)
    named: dict[int, int] = {}
    for start, end in _find_at_levels(text, _find_named):
        # Where it ends is known outside: once its escapes are gone, it may end at another quote.
        named.setdefault(start, end)
    return _replace_spans(text, named.items(), mask)


def _replace_spans(text: str, spans: Iterable[Span], mask: str = MASK) -> str:
    parts: list[str] = []
    end = 0
    for first, last in sorted(spans):
        if first >= end:
            parts += (text[end:first], mask)
        end = max(end, last)
    return "".join((*parts, text[end:]))


def _find_at_levels(text: str, find: Callable[[str], Iterator[Span]]) -> Iterator[Span]:
    """Yields where `find` finds something in a text, then in strings of JSON in it."""
    outer: list[EscapedText] = []
    for _ in range(MAX_LEVELS + 1):
        level = EscapedText(text)
        for found in find(text):
            # Half of an escape would be no JSON anymore.
            span = level.widen(found)
            for other in reversed(outer):
                span = other.find_span(span)
            yield span
        if not level.starts:
            return
        outer.append(level)
        text = level.unescaped


def _find_forms(text: str, forms: Iterable[str]) -> Iterator[Span]:
    for form in _list_possible(text, list(forms)):
        start = text.find(form)
        while start >= 0:
            end = start + len(form)
            yield start, end
            start = text.find(form, end)


def _list_possible(text: str, forms: list[str]) -> list[str]:
    """Returns the forms whose beginning and end the text has: one look for all of them."""
    if len(forms) < MANY:
        return forms
    size = min(MAX_PIECE, *map(len, forms))
    pieces = {text[start : start + size] for start in range(len(text) - size + 1)}
    return [form for form in forms if form[:size] in pieces and form[-size:] in pieces]


def _find_named(text: str) -> Iterator[Span]:
    return (match.span("value") for match in NAMED.finditer(text))


def _unescape(escape: str) -> str:
    if escape[1] != "u":
        return CONTROLS.get(escape[1], escape[1])
    code = int(escape[2:6], 16)
    if len(escape) > len(r"\u0000"):
        code = 0x10000 + ((code & 0x3FF) << 10) + (int(escape[8:], 16) & 0x3FF)
    return chr(code)
