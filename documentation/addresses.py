"""Replaces the example address in documentation pages with the address of this deployment."""

import re
from typing import Final

from django.conf import settings

from documentation.snippet import CLOSED, MARKS, OPENED

EXAMPLES: Final = ("http://127.0.0.1:8000", "http://localhost:8000")
# A search marks single words, so marks may be anywhere inside an address.
ANYWHERE: Final = "|".join(
    f"{MARKS.pattern}*".join(map(re.escape, example)) for example in EXAMPLES
)
EXAMPLE: Final = re.compile(f"{OPENED}?(?:{ANYWHERE})(?![0-9]){CLOSED}?")


def localize_addresses(text: str) -> str:
    """Returns a page, or a part of one, with this deployment's public URL for the example address.

    Marks of a search (`snippet.OPENED`, `snippet.CLOSED`) stay in pairs: one that begins before the
    address or ends after it is kept, those around a part of the address are dropped.
    """
    return EXAMPLE.sub(_localized_match, text)


def _localized_match(match: re.Match[str]) -> str:
    marks = "".join(MARKS.findall(match[0]))
    before = CLOSED if marks.startswith(CLOSED) else ""
    after = OPENED if marks.endswith(OPENED) else ""
    return f"{before}{settings.HALO_PUBLIC_URL}{after}"
