"""How records are saved: each change has a new version and time."""

from collections.abc import Mapping

from django.utils import timezone

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
    row.save(update_fields=[*changed, "version", "updated_at"])
