"""Joins words that were divided at the end of a line."""

import re
from collections.abc import Sequence
from typing import Final

# A word goes on with a small letter: "Cus-" and "tomer" is one, "Wi-" and "Fi" is not.
DIVIDED: Final = re.compile(r"(?<!\w)([^\W\d_]+)(?:-|\u2010|\u00ad)[ \t]*\n[ \t]*([^\W\d_]+)")
WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def join_lines(texts: Sequence[str]) -> list[str]:
    """Returns the texts of one document with divided words joined, and compounds with a hyphen.

    A hyphen stays if the document has the compound elsewhere, or both of its parts as words and not
    the word without it: "customer-" and "managed".
    """
    known = {word.lower() for text in texts for word in WORD.findall(DIVIDED.sub(" ", text))}

    def join(found: re.Match[str]) -> str:
        left, right = found[1], found[2]
        whole, compound = f"{left}{right}".lower(), f"{left}-{right}".lower()
        if not right[0].islower():
            return f"{left}-{right}" if compound in known else found[0]
        is_compound = left.lower() in known and right.lower() in known
        keeps = compound in known or (is_compound and whole not in known)
        return f"{left}-{right}" if keeps else f"{left}{right}"

    return [DIVIDED.sub(join, text).replace("\u00ad", "") for text in texts]
