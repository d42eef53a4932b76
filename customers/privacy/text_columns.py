"""Columns that may name a customer, in rows that are not about them.

What other customers wrote, results of tools, and settings. The columns are declared once, for
erasures and exports.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db import transaction
from django.db.models import Model, Q, QuerySet

from customers.privacy import tables
from customers.privacy.redaction import MIN_LENGTH, Redaction
from customers.privacy.subject import Subject

BATCH: Final = 200


def _none(_subject: Subject) -> Q:
    return Q(pk__in=())


def id_and_email_redaction(subject: Subject) -> Redaction:
    """Returns the redaction of texts of others.

    A full name and an external id are chosen by anybody, and may be a common word. An id at a
    vendor may be that of a whole company.
    """
    others: Any = {"external_id": "", "other_external_ids": ()}
    return Redaction(replace(subject, name="", vendor_ids=(), **others))


def name_redaction(subject: Subject) -> Redaction:
    """Returns what finds the full name and the external id, unless they are short."""
    external_id = subject.external_id if len(subject.external_id) >= MIN_LENGTH else ""
    named = replace(subject, customer_id="", email="", external_id=external_id, vendor_ids=())
    return Redaction(named)


@dataclass(frozen=True)
class TextColumns:
    """Columns of one table: `texts` are texts, `values` JSON values.

    A text of `keys` is emptied if it names the customer: it is unique, unless it is empty.
    `derived` has columns that are computed from the others of a row.

    `name` is used in counts and in exports. `organization` is the lookup of the organization that
    a row belongs to, and `redaction` says by what a row names the customer. The rows of `own` are
    the customer's: they are erased and exported as such.
    """

    name: str
    model: type[Model]
    texts: Sequence[str] = ()
    values: Sequence[str] = ()
    keys: Sequence[str] = ()
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    organization: str = "organization"
    redaction: Callable[[Subject], Redaction] = id_and_email_redaction
    own: Callable[[Subject], Q] = _none

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.texts, *self.keys, *self.values)

    def naming(self, subject: Subject) -> QuerySet[Any]:
        """Returns the rows of the organization that may name the customer."""
        redaction = self.redaction(subject)
        rows: QuerySet[Any] = QuerySet(self.model)
        rows = rows.filter(**{self.organization: subject.organization_id})
        naming = redaction.text_condition(*self.texts, *self.keys) | redaction.json_condition(
            *self.values
        )
        return rows.filter(naming).exclude(self.own(subject))

    def erase(self, subject: Subject) -> Iterator[int]:
        """Replaces what names the customer in batches, each a transaction; yields their sizes."""
        redaction = self.redaction(subject)
        keys = list(self.naming(subject).order_by("pk").values_list("pk", flat=True))
        for start in range(0, len(keys), BATCH):
            with transaction.atomic():
                many = self._redact_batch(keys[start : start + BATCH], redaction)
            if many:
                yield many

    def export_rows(self, subject: Subject) -> Iterator[Mapping[str, Any]]:
        """Yields the rows that name the customer: their keys and these columns."""
        redaction = self.redaction(subject)
        rows = self.naming(subject).order_by("pk").values("pk", *self.columns)
        for row in rows.iterator(chunk_size=BATCH):
            if redaction.finds({name: row[name] for name in self.columns}):
                yield row

    def _redact_row(self, row: Any, redaction: Redaction) -> None:
        for name in self.texts:
            column: Any = self.model._meta.get_field(name)
            setattr(row, name, redaction.text(getattr(row, name))[: column.max_length])
        for name in self.keys:
            if redaction.text(getattr(row, name)) != getattr(row, name):
                setattr(row, name, "")
        for name in self.values:
            setattr(row, name, redaction.json(getattr(row, name)))
        for name, compute in self.derived.items():
            setattr(row, name, compute(row))

    def _redact_batch(self, keys: Sequence[Any], redaction: Redaction) -> int:
        rows: QuerySet[Any] = QuerySet(self.model).filter(pk__in=keys).order_by("pk")
        changed = []
        for row in rows.select_for_update():
            before = [getattr(row, name) for name in self.columns]
            self._redact_row(row, redaction)
            if before != [getattr(row, name) for name in self.columns]:
                changed.append(row)
        QuerySet(self.model).bulk_update(changed, [*self.columns, *self.derived])
        tables.empty_history(self.model, [row.pk for row in changed])
        return len(changed)
