"""Names of rows that other rows refer to by their keys, as texts and links for the visitor.

Logs outlive what they describe, so they hold keys and no foreign keys. A row is read through the
visitor's own page of its model: one that they may not see is shown as its key, like one that is
gone. People are named without a link if they are not members any more: who may read what they did
in an organization may know who they were.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import BinaryField, JSONField, Model, TextField
from django.http import HttpRequest
from django.utils.safestring import SafeString

from foundation.db.storable import UNSTORABLE
from foundation.links import link
from workspace.administration.facts import Fact, page_of
from workspace.models import User

# A model as `app.name`, and the key of a row in it.
Reference: TypeAlias = tuple[str, str]

USER: Final = "workspace.user"
PERSON: Final = User._meta.pk
# The models whose rows are not found by their primary key.
LOOKUPS: Final[Mapping[str, str]] = {"oauth.client": "client_id"}
LARGE: Final = (BinaryField, JSONField, TextField)


@dataclass(frozen=True, slots=True)
class RowNames:
    """The rows that the visitor may see, and the addresses of other people, by their references."""

    rows: Mapping[Reference, Model] = field(default_factory=dict)
    former: Mapping[Reference, str] = field(default_factory=dict)

    def find(self, model: str, key: str) -> Model | None:
        return self.rows.get((model, key))

    def text(self, model: str, key: str) -> str:
        """Returns the name of a row, or its key."""
        row = self.find(model, key)
        return self.former.get((model, key), key) if row is None else str(row)

    def link(self, model: str, key: str) -> SafeString:
        """Returns the name of a row as a link to its page, or its key."""
        return link(page_of(self.find(model, key)), self.text(model, key))

    def fact(self, label: Any, model: str, key: str) -> Fact:
        """Returns the name of a row and the address of its page as a labelled value."""
        return Fact(label, self.text(model, key), page_of(self.find(model, key)))


def load(request: HttpRequest, references: Iterable[Reference]) -> RowNames:
    """Returns the names of the rows that the visitor may see: one statement for each model."""
    keys: dict[str, set[str]] = defaultdict(set)
    for model, key in references:
        if key and not UNSTORABLE.search(key):
            keys[model].add(key)
    found: dict[Reference, Model] = {}
    for model in sorted(keys):
        found |= {(model, key): row for key, row in _rows(request, model, keys[model])}
    others = {key for key in keys[USER] if (USER, key) not in found and _is_readable(PERSON, key)}
    people = User.objects.filter(pk__in=others).only("email") if others else ()
    return RowNames(found, {(USER, str(person.pk)): person.email for person in people})


def _rows(request: HttpRequest, model: str, keys: Iterable[str]) -> Iterable[tuple[str, Model]]:
    page = admin.site.get_model_admin(apps.get_model(model))
    if not page.has_view_permission(request):
        return
    lookup = LOOKUPS.get(model, "pk")
    column: Any = page.opts.pk if lookup == "pk" else page.opts.get_field(lookup)
    readable = [key for key in keys if _is_readable(column, key)]
    rows = page.get_queryset(request).filter(**{f"{lookup}__in": readable})
    related = page.list_select_related
    rows = rows.select_related(*related) if isinstance(related, list | tuple) else rows
    for row in rows.defer(*_large_columns(page.model)):
        yield str(getattr(row, column.attname)), row


def _large_columns(model: type[Model]) -> list[str]:
    """The columns that no name is made of, such as the arguments of a request."""
    return [one.name for one in model._meta.concrete_fields if isinstance(one, LARGE)]


def _is_readable(column: Any, key: str) -> bool:
    """Returns whether a text can be a value of the column; others are keys of no row."""
    try:
        column.to_python(key)
    except ValidationError:
        return False
    return True
