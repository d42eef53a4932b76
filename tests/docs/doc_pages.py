"""The pages of the documentation, their tables and code blocks."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
PARSER = MarkdownIt("js-default")

# Public pages, which everybody may read; then those of operators and of developers.
CONTENTS = ROOT / "docs" / "README.md"
PAGES = sorted(set((ROOT / "docs").glob("*.md")) - {CONTENTS})
STAFF_PAGES = sorted(
    [*(ROOT / "docs" / "operate").glob("*.md"), *(ROOT / "docs" / "develop").glob("*.md")]
)
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
ROOT_PAGES = sorted(ROOT.glob("*.md"))
EVERY_PAGE = [*ROOT_PAGES, CONTENTS, *PAGES, *STAFF_PAGES, *DECISIONS]
FILES = {file.stem: file for file in [*PAGES, *STAFF_PAGES]}


class Block(NamedTuple):
    """A fenced block: where it stands and what is in it."""

    file: Path
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.name}: {self.text.splitlines()[0][:60]}"


def page(slug: str) -> str:
    """The Markdown of a public, operator or developer page."""
    return FILES[slug].read_text(encoding="utf-8")


def section(slug: str, heading: str) -> str:
    """The Markdown between a heading and the next one."""
    _, _, rest = page(slug).partition(f"\n## {heading}\n")
    assert rest, f"{slug}.md has no section {heading!r}"
    return rest.partition("\n## ")[0]


def table(slug: str, heading: str) -> list[list[str]]:
    """The rows of the tables of a section, without their head, cell by cell."""
    lines = [line for line in section(slug, heading).splitlines() if line.startswith("|")]
    rules = [place for place, line in enumerate(lines) if set(line) <= set("|- ")]
    heads = {place - 1 for place in rules}
    rows = [line for place, line in enumerate(lines) if place not in {*rules, *heads}]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def words(cells: list[str]) -> list[str]:
    """What stands between backticks, in order."""
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


@cache
def tokens(file: Path) -> Sequence[Token]:
    """What the parser finds on a page; the pages are parsed once in a process."""
    return PARSER.parse(file.read_text(encoding="utf-8"))


def blocks(file: Path, language: str) -> Iterator[Block]:
    for token in tokens(file):
        if token.type == "fence" and token.info.strip() == language:
            yield Block(file, language, token.content)


def every_block(language: str) -> list[Block]:
    return [block for file in EVERY_PAGE for block in blocks(file, language)]
