"""Cells of CSV files, whatever character a spreadsheet separates them by."""

import csv
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foundation.spreadsheets import escape_cell, unescape_cell

FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
TEXTS = st.text(
    st.one_of(st.sampled_from("=+-@'\";,\t\r\n a1\uff1d"), st.characters(codec="utf-8"))
)


@given(TEXTS)
@example("'=1;'=1\t''\n'\"=1")
def test_a_cell_is_read_as_it_was_before_it_was_escaped(text: str) -> None:
    assert unescape_cell(escape_cell(text)) == text


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@given(st.lists(TEXTS, min_size=1, max_size=3))
@example(["x", "a;=1+1;"])
@example(["x", 'a;"=1+1;'])
@example(["x", "a,b\n-1;"])
def test_no_cell_of_a_written_line_is_a_formula(delimiter: str, cells: list[str]) -> None:
    file = StringIO(newline="")
    csv.writer(file).writerow([escape_cell(cell) for cell in cells])
    file.seek(0)
    for row in csv.reader(file, delimiter=delimiter):
        for cell in row:
            assert not cell.lstrip("\t\r\n").startswith(FORMULAS), row
