"""The tool that a caller probably meant by a name that no tool has."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

MAX_LENGTH: Final = 128
SEPARATORS: Final = re.compile(r"[^a-z0-9]+")


def find_nearest(name: str, known: Iterable[str]) -> str:
    """Returns the nearest of the known names, or nothing if none is near.

    Hosts write other separators, and a prefix of their own such as `mcp__halo__`.
    """
    wanted = _plain(name[:MAX_LENGTH])
    by_plain = {_plain(one): one for one in sorted(known)}
    if wanted in by_plain:
        return by_plain[wanted]
    ends = [plain for plain in by_plain if wanted.endswith(f"_{plain}")]
    close = [max(ends, key=len)] if ends else get_close_matches(wanted, by_plain, n=1, cutoff=0.7)
    return by_plain[close[0]] if close else ""


def _plain(name: str) -> str:
    return SEPARATORS.sub("_", name.lower()).strip("_")
