"""Rows of HR records by their ids, within one organization.

An id that is malformed, unknown or another organization's is answered in the same way.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from foundation.text.folding import remove_invisible
from people.models import Person, PersonWord
from people.models.columns import Record

R = TypeVar("R", bound=Record)
# Nothing else is looked up: PostgreSQL refuses NUL, and an index has no use for long text.
ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_SHOWN: Final = 64


class RecordNotFound(Exception):
    """The organization has no row of a model with an id."""

    def __init__(self, model: type[Record], key: object) -> None:
        self.model = model
        shown = " ".join(remove_invisible(str(key)).split())[:MAX_SHOWN]
        message = _('There is no %(kind)s with the id "%(key)s".')
        super().__init__(message % {"kind": model._meta.verbose_name, "key": shown})


class ReferenceNotFound(RecordNotFound):
    """As RecordNotFound, for an id in a field of a body or a query."""

    def __init__(self, model: type[Record], key: object, field: str) -> None:
        super().__init__(model, key)
        self.field = field


def rows(model: type[R], organization_id: UUID) -> QuerySet[R]:
    """Returns the rows of an organization."""
    found: QuerySet[R] = QuerySet(model).filter(organization_id=organization_id)
    return found


def words_of_people(organization_id: UUID) -> QuerySet[PersonWord]:
    """Returns the words that the people of an organization are found by."""
    return PersonWord.objects.filter(organization_id=organization_id)


def row(model: type[R], organization_id: UUID, key: object, *related: str, **more: Any) -> R:
    """Returns one row with its `related` rows; `more` are further conditions.

    Raises RecordNotFound.
    """
    return find_row(rows(model, organization_id), key, *related, **more)


def find_row(among: QuerySet[R], key: object, *related: str, **more: Any) -> R:
    """Returns one of some rows, as `row`. Raises RecordNotFound."""
    found = None
    if isinstance(key, str) and ID.fullmatch(key):
        found = among.filter(pk=key, **more).select_related(*related).first()
    if found is None:
        raise RecordNotFound(among.model, key)
    return found


def lock_row(model: type[R], organization_id: UUID, key: object) -> R:
    """Returns one row and locks it until the transaction ends. Raises RecordNotFound."""
    found = row(model, organization_id, key)
    again = rows(model, organization_id).select_for_update().filter(pk=found.pk).first()
    if again is None:
        raise RecordNotFound(model, key)
    return again


def lock_people(organization_id: UUID, keys: Iterable[str | None]) -> None:
    """Locks people until the transaction ends, as everything that changes their balances does."""
    found = rows(Person, organization_id).filter(pk__in=[key for key in keys if key])
    # In one order, so that two transactions do not wait for each other.
    list(found.order_by("pk").select_for_update().values_list("pk"))
