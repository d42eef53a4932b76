"""Decision records name each other, and files that exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.sources import MADE
from tests.docs.doc_pages import DECISIONS, ROOT, tokens

DEVELOP = sorted((ROOT / "docs" / "develop").glob("*.md"))
FOLDERS = {folder.name for folder in ROOT.iterdir() if folder.is_dir()} - MADE
# Files that a reader of the page is asked to create.
EXAMPLES = {
    "data_tools/worldclock.py",
    "integrations/beacon.py",
    "tests/integrations/test_beacon.py",
}
RECORDS = {file.name[:4]: file.read_text(encoding="utf-8") for file in DECISIONS}


class NamedFile(NamedTuple):
    page: Path
    name: str

    def __str__(self) -> str:
        return f"{self.name} in {self.page.name}"


def _named_files() -> Iterator[NamedFile]:
    """Yields the code spans that look like a file, a folder or a module of this repository."""
    for page in [*DECISIONS, *DEVELOP]:
        spans = {
            child.content
            for token in tokens(page)
            for child in token.children or ()
            if child.type == "code_inline"
        }
        for span in sorted(spans - EXAMPLES):
            name = span.partition("::")[0].rstrip("/")
            is_path = re.fullmatch(r"[\w-]+(/[\w.-]+)+", name) is not None
            is_module = re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name) is not None
            if (is_path or is_module) and re.split("[/.]", name)[0] in FOLDERS:
                yield NamedFile(page, name)


def _exists(name: str) -> bool:
    path = ROOT / (name if "/" in name else name.replace(".", "/"))
    return path.exists() or path.with_suffix(".py").is_file()


def _is_member(name: str) -> bool:
    """Returns whether a name with dots is something in a module, such as a function."""
    module, _, member = name.rpartition(".")
    file = (ROOT / module.replace(".", "/")).with_suffix(".py")
    return file.is_file() and re.search(rf"\b{member}\b", file.read_text("utf-8")) is not None


def _links(record: str, word: str) -> set[str]:
    """Returns the numbers of the records that a line of the head links to."""
    head = RECORDS[record].partition("\n## ")[0]
    return {
        number
        for line in head.splitlines()
        if line.startswith(word)
        for number in re.findall(r"\[(\d{4})\]", line)
    }


@pytest.mark.parametrize("record", RECORDS)
def test_a_superseded_record_and_its_successor_name_each_other(record: str) -> None:
    superseded = {
        number for number, text in RECORDS.items() if f"\nStatus: superseded by {record}\n" in text
    }

    assert _links(record, "Supersedes: ") == superseded
    successor = re.search(r"\nStatus: superseded by (\d{4})\n", RECORDS[record])
    assert successor is None or successor[1] in RECORDS


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_and_those_that_change_it_in_part_name_each_other(record: str) -> None:
    later = _links(record, "Changed in part by: ")

    assert all(other > record for other in later)
    assert later == {other for other in RECORDS if record in _links(other, "Changes in part: ")}


@pytest.mark.parametrize("named", [*_named_files()], ids=str)
def test_a_file_that_a_record_or_a_page_for_developers_names_exists(named: NamedFile) -> None:
    assert _exists(named.name) or _is_member(named.name)


def test_records_and_pages_for_developers_name_files() -> None:
    assert len([*_named_files()]) > 100
