"""The filter of the tools of a project: words, the method and a tag of the document."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet

from foundation.db.storable import UNSTORABLE
from gateway.models import ProjectTool

MAX_TEXT: Final = 200
MAX_WORDS: Final = 8
MAX_OFFERED: Final = 200


@dataclass(frozen=True, slots=True)
class ProjectToolFilter:
    """What a person looks for; an empty text is no condition."""

    q: str = ""
    method: str = ""
    tag: str = ""

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> "ProjectToolFilter":
        """Reads the fields of a form or an address; each is cut to MAX_TEXT characters."""
        return cls(*(_clean(given.get(name, "")) for name in ("q", "method", "tag")))

    @property
    def query(self) -> str:
        """The filter as the query of an address, empty without one."""
        given = {"q": self.q, "method": self.method, "tag": self.tag}
        return urlencode({name: text for name, text in given.items() if text})


@dataclass(frozen=True, slots=True)
class FilteredTools:
    """The tools that a filter matches, and what the fields of the filter offer."""

    rows: QuerySet[ProjectTool]
    methods: list[str]
    tags: list[str]


def apply(rows: QuerySet[ProjectTool], wanted: ProjectToolFilter) -> FilteredTools:
    """Returns the tools that match; a chosen method or tag is offered also if no tool has it."""
    known = [*rows.values_list("pk", "key", "operation__tags")]
    methods = {key.partition(" ")[0] for _pk, key, _tags in known}
    tags = {tag for _pk, _key, found in known for tag in found or ()}
    found = rows
    for word in wanted.q.split()[:MAX_WORDS]:
        is_named = Q(name__icontains=word) | Q(key__icontains=word)
        found = found.filter(is_named | Q(operation__title__icontains=word))
    if wanted.method:
        found = found.filter(key__startswith=f"{wanted.method} ")
    if wanted.tag:
        found = found.filter(pk__in=_keys_with_tag(known, wanted.tag))
    return FilteredTools(
        found, _list_offered(methods, wanted.method), _list_offered(tags, wanted.tag)
    )


def _keys_with_tag(known: Iterable[tuple[UUID, str, Any]], tag: str) -> list[UUID]:
    return [pk for pk, _key, found in known if tag in (found or ())]


def _list_offered(values: Iterable[str], chosen: str) -> list[str]:
    offered = sorted(values)[:MAX_OFFERED]
    return offered if not chosen or chosen in offered else [chosen, *offered]


def _clean(text: str) -> str:
    return UNSTORABLE.sub("", text).strip()[:MAX_TEXT]
