"""Characters of a text that a reader does not see, or that change the order of the others."""

import re
from typing import Final

# Control characters except tab and line feed, and Default_Ignorable_Code_Point (Unicode,
# DerivedCoreProperties.txt), which includes bidirectional marks, tags and variation selectors.
INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def remove_invisible(text: str) -> str:
    """Returns a text without invisible characters."""
    return text if text.isascii() and text.isprintable() else INVISIBLE.sub("", text)
