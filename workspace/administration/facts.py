"""What the pages of rows in the admin are made of: labelled values, links and badges."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model
from django.urls import NoReverseMatch
from django.utils.html import format_html
from django.utils.safestring import SafeString

from foundation import admin_urls
from foundation.links import link

NONE = "-"


@dataclass(frozen=True, slots=True)
class Fact:
    """One labelled value; `url` leads to its page, or to the list filtered by it."""

    label: Any
    value: Any
    url: str = ""

    @property
    def is_time(self) -> bool:
        return isinstance(self.value, datetime)


def drop_empty_facts(facts: Iterable[Fact]) -> list[Fact]:
    """Returns the facts that have a value."""
    return [fact for fact in facts if fact.value not in {"", None}]


def page_of(row: Model | None) -> str:
    """Returns the address of a row's page, or an empty string without a row or a page."""
    if row is None:
        return ""
    try:
        return admin_urls.row_url(row)
    except NoReverseMatch:
        return ""


def fact_of(label: Any, row: Model | None) -> Fact:
    """A fact that names another row and leads to its page."""
    return Fact(label, "" if row is None else str(row), page_of(row))


def link_to(row: Model | None) -> SafeString | str:
    """A link with the name of a row, for a column of a list."""
    return NONE if row is None else link(page_of(row), row)


def badge(kind: str, label: Any) -> SafeString | str:
    """A label in a colour: `good`, `bad`, `due` or `wait`."""
    if not label:
        return NONE
    return format_html('<span class="halo-badge halo-{}">{}</span>', kind, label)
