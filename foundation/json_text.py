"""Parses JSON that other servers, models and people have written."""

import json
import math
from typing import Any, NoReturn


def parse(text: str | bytes) -> Any:
    """Returns the value of a JSON text.

    Raises ValueError for what is none, as NaN and Infinity (RFC 8259 section 6), for a number that
    is too large for a float, which Python reads as infinite, and for text that is nested too
    deeply.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON.")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("A number is too large.")
    return number
