"""Writes cells of CSV files that spreadsheets show as text, whatever others have written into them.

A spreadsheet evaluates a cell that begins like a formula, which may send other cells to a server or
start a program (OWASP, CSV Injection).
"""

from typing import Final

# How a formula begins; the last four are the full-width forms, which some spreadsheets read alike.
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
MARK: Final = "'"


def escape_cell(text: str) -> str:
    """Returns a cell that is no formula: one that begins like it gets an apostrophe before it.

    So does one that begins with an apostrophe, so that `unescape_cell` returns each as it was.
    """
    return MARK + text if text.startswith((*FORMULA, MARK)) else text


def unescape_cell(text: str) -> str:
    """Returns what a cell was before `escape_cell`."""
    return text.removeprefix(MARK)
