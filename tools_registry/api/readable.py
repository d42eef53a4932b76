"""What a vendor says and counts, as people read it: words, amounts and days.

Source: Stripe docs, Supported currencies: those without a minor unit, and those with thousandths.
"""

import re
from datetime import UTC, datetime
from typing import Final

WHOLE: Final = re.compile("bif|clp|djf|gnf|jpy|kmf|krw|mga|pyg|rwf|vnd|vuv|xaf|xof|xpf")
THOUSANDTHS: Final = re.compile("bhd|jod|kwd|omr|tnd")
UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\u00a1-\ufffd]|[\u2028-\u202e\u2066-\u2069]")
KEY: Final = re.compile(r"\b([sr]k|pk)_[A-Za-z0-9_*]+")
LAST: Final = 253_402_300_799  # the end of the year 9999


def money(amount: int, currency: str) -> str:
    """An amount in the minor unit with its decimals and its currency, such as 20.00 USD."""
    decimals = 0 if WHOLE.fullmatch(currency) else 3 if THOUSANDTHS.fullmatch(currency) else 2
    return f"{amount / 10**decimals:.{decimals}f} {currency.upper()}"


def day(moment: int) -> str:
    """The day of a moment, in seconds since 1970, in UTC; never later than there are days."""
    return datetime.fromtimestamp(min(max(moment, 0), LAST), tz=UTC).date().isoformat()


def one_line(text: object, longest: int = 200, *, otherwise: str = "?") -> str:
    """Text of another system as one line of bounded length; `otherwise` if it is no text."""
    chosen = text if isinstance(text, str) else otherwise
    return "".join(c if c.isprintable() else " " for c in chosen)[:longest].strip()


def printable(text: object) -> str:
    """A vendor's text, short and without Stripe keys and control characters."""
    return KEY.sub("(a key)", UNPRINTABLE.sub(" ", str(text or "")))[:300]
