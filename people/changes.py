"""How records are saved: each change has a new version and time."""

from collections.abc import Collection, Mapping

from django.utils import timezone

from foundation.text.columns import SearchTextField
from people.models.columns import Record


class RefusedChange(Exception):
    """A rule of the records forbids the change; `field` names the wrong value, or is empty."""

    code = "invalid_request"

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.message, self.field = message, field


class ConflictingChange(RefusedChange):
    """The change contradicts another row or the state of its own."""

    code = "conflict"


def apply(row: Record, values: Mapping[str, object]) -> None:
    """Sets the values that differ; without one that does, nothing is saved."""
    changed = [name for name, value in values.items() if getattr(row, name) != value]
    if not changed:
        return
    for name in changed:
        setattr(row, name, values[name])
    row.version += 1
    row.updated_at = timezone.now()
    row.save(update_fields=[*changed, *_list_derived(row, changed), "version", "updated_at"])


def _list_derived(row: Record, changed: Collection[str]) -> list[str]:
    """The columns that are made of columns that changed."""
    made = [one for one in row._meta.concrete_fields if isinstance(one, SearchTextField)]
    return [one.name for one in made if not set(changed).isdisjoint(one.sources)]
