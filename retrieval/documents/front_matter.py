"""The YAML front matter of a Markdown document: its title, its date, and whether it is a draft.

It is what static site generators read (https://gohugo.io/content-management/front-matter/): lines
of YAML at the beginning of the document, between two lines of three hyphens.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from retrieval.documents.sections import UnreadableDocument

MAX_CHARACTERS: Final = 20_000
MAX_DATE: Final = 100
FRONT_MATTER: Final = re.compile(
    r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
# A line between two rules may be a text with a colon too.
HAS_KEY: Final = re.compile(r"\A\s*[A-Za-z_][\w-]*:(\s|\Z)")
# The most exact first: `date` is often that of the first publication.
DATES: Final = ("last_updated", "lastmod", "updated", "modified", "last_modified", "date")
YES: Final = frozenset({"true", "yes", "on", "1"})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a document says of itself; `modified` is a time as written."""

    title: str = ""
    modified: str = ""
    is_draft: bool = False


def split(text: str) -> tuple[FrontMatter, str]:
    """Returns the front matter and the text after it. Raises UnreadableDocument."""
    import yaml  # noqa: PLC0415  slow to import, and needed for few documents

    found = FRONT_MATTER.match(text[:MAX_CHARACTERS])
    if found is None or not HAS_KEY.match(found[1]):
        return FrontMatter(), text
    try:
        # Dates stay as they are written: some that people write are none.
        facts = yaml.load(found[1], Loader=yaml.BaseLoader)  # noqa: S506  text only, no objects
    except yaml.YAMLError:
        raise UnreadableDocument(
            "The front matter, between the first two lines of ---, is not valid YAML."
        ) from None
    if not isinstance(facts, Mapping):
        return FrontMatter(), text
    named = {str(name).lower(): value for name, value in facts.items()}
    dates = (_read_text(named, name) for name in DATES)
    is_draft = _read_text(named, "draft").lower() in YES
    is_unpublished = _read_text(named, "published").lower() in {"false", "no", "off", "0"}
    return (
        FrontMatter(
            title=" ".join(_read_text(named, "title").split()),
            modified=next(filter(None, dates), "")[:MAX_DATE],
            is_draft=is_draft or is_unpublished,
        ),
        text[found.end() :],
    )


def _read_text(facts: Mapping[str, Any], name: str) -> str:
    value = facts.get(name, "")
    return value.strip() if isinstance(value, str) else ""
