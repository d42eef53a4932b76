"""What the pages of one source share: copies are folded, and blocks that repeat are left out.

A page is a copy if another one has all its text: every five words in a row of it, whatever their
case, marks and order of blocks. A page in which a single word differs is none, as that word may be
the plan or the version that a person asks about.
"""

import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from retrieval.interfaces import Passage

SHINGLE_WORDS: Final = 5
# A page that is contained in a much longer one is a page of its own.
MIN_SHARE: Final = 0.8
# A copy shares its smallest hash with one of so many of the page that has its text: of the longer
# page, at most a fifth are not in the copy.
SKETCH: Final = 8
MAX_CANDIDATES: Final = 20
# A block is one of the site, and not of a page, on so many pages and on more than half of them.
MIN_REPEATS: Final = 3
WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page, by the id of its row. `is_canonical`: its address is its own."""

    id: int
    passages: tuple[Passage, ...]
    is_canonical: bool


def find_copies(pages: Sequence[PageText]) -> dict[int, int]:
    """Returns the ids of pages that are copies, each with the id of the page that is kept.

    The page with more text is kept; of pages with the same, the one whose address is canonical, and
    then the one that comes first.
    """
    shingles = {page.id: len(_shingles(page)) for page in pages}
    ordered = sorted(pages, key=lambda page: (-shingles[page.id], not page.is_canonical))
    by_hash: dict[int, list[PageText]] = defaultdict(list)
    copies: dict[int, int] = {}
    for page in ordered:
        found = _shingles(page)
        smallest = sorted(found)[:SKETCH]
        kept = next(
            (
                other
                for other in by_hash[smallest[0]][:MAX_CANDIDATES]
                if len(found) >= MIN_SHARE * shingles[other.id]
                and _has_title(other, page)
                and found <= _shingles(other)
            ),
            None,
        )
        if kept is not None:
            copies[page.id] = kept.id
            continue
        for each in smallest:
            by_hash[each].append(page)
    return copies


def drop_repeated_blocks(pages: Sequence[PageText]) -> dict[int, tuple[Passage, ...]]:
    """Returns the passages of each page without the blocks that most pages of the site have.

    A page of which nothing would be left stays as it is.
    """
    counts = Counter(
        block
        for page in pages
        for block in {_key(each) for passage in page.passages for each in _blocks(passage)}
    )
    least = max(MIN_REPEATS, len(pages) // 2 + 1)
    repeated = {block for block, count in counts.items() if count >= least}
    left = {page.id: tuple(_drop_blocks(page.passages, repeated)) for page in pages}
    return {page.id: left[page.id] or page.passages for page in pages}


def _shingles(page: PageText) -> set[int]:
    """Returns hashes of every five words in a row of a block, or of all words of a shorter one."""
    return {
        zlib.crc32(" ".join(words[start : start + SHINGLE_WORDS]).encode())
        for passage in page.passages
        for words in map(_words, _blocks(passage))
        for start in range(max(1, len(words) - SHINGLE_WORDS + 1))
    }


def _has_title(page: PageText, other: PageText) -> bool:
    """Returns whether a page has the title and the headings of another one.

    A title may have words of the site around it.
    """
    titles = [set(_words(each.passages[0].title)) for each in (page, other)]
    headings = [{_key(one.heading) for one in each.passages} for each in (page, other)]
    return (titles[0] <= titles[1] or titles[1] <= titles[0]) and headings[1] <= headings[0]


def _drop_blocks(passages: Iterable[Passage], repeated: set[str]) -> Iterable[Passage]:
    for passage in passages:
        text = "\n\n".join(each for each in _blocks(passage) if _key(each) not in repeated)
        if text.strip():
            yield replace(passage, text=text)


def _blocks(passage: Passage) -> list[str]:
    return passage.text.split("\n\n")


def _key(text: str) -> str:
    return " ".join(_words(text)) or text.strip()


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())
