"""Writes cells of CSV files that spreadsheets show as text, whatever others have written into them.

A spreadsheet evaluates a cell that begins like a formula, which may send other cells to a server or
start a program (OWASP, CSV Injection). Where it separates the cells of a line by semicolons or tabs
instead, as it does in many countries, one of ours is several of its cells, and a line break in
quotes ends its line: what follows such a character may begin a cell.
"""

import re
from typing import Final

MARK: Final = "'"
# How a formula begins; the last four are the full-width forms, which some spreadsheets read alike.
FORMULA: Final = "=+\\-@\uff1d\uff0b\uff0d\uff20"
# Where a cell may begin for one of these programs.
BEGINNING: Final = r"(?:\A|(?<=[;\t\r\n]))"
# Tabs and line breaks before a formula are not read, and neither are quotes after a separator.
MARKED: Final = re.compile(rf"{BEGINNING}(?=\"*[{FORMULA}]|{MARK})|\A(?=[\t\r\n])")
WRITTEN: Final = re.compile(rf"{BEGINNING}{MARK}")


def escape_cell(text: str) -> str:
    """Returns a cell in which nothing is a formula: each that begins in it has an apostrophe first.

    So has an apostrophe in such a place, so that `unescape_cell` returns each cell as it was.
    """
    return MARKED.sub(MARK, text)


def unescape_cell(text: str) -> str:
    """Returns what a cell was before `escape_cell`."""
    return WRITTEN.sub("", text)
