"""What erasures and exports need of upper layers; `halo_mcp/bindings.py` binds it at start-up."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from django.db.models import Model

from customers.privacy import workspace_texts
from customers.privacy.subject import Subject
from customers.privacy.text_columns import TextColumns
from workspace.models import Erasure


class TryLater(Exception):
    """A row cannot be erased yet. The message is a sentence for the person who waits for it."""


class Holder(Protocol):
    """Rows of an upper layer that name customers.

    `name` is used in counts and in exports, `model` is their table, and `effect` says what an
    erasure does to them.
    """

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> type[Model]: ...
    @property
    def effect(self) -> str: ...

    def erase(self, subject: Subject) -> Iterator[int]:
        """Erases in batches, each a transaction, and yields their sizes. Raises TryLater."""
        ...

    def export_rows(self, subject: Subject) -> Iterator[Mapping[str, Any]]:
        """Yields what the rows hold as JSON objects."""
        ...


class Recorder(Protocol):
    """Writes the security events of erasures and exports; `detail` names no customer."""

    def record_erasure(self, erasure: Erasure, detail: str) -> None: ...

    def record_export(
        self, subject: Subject, *, user_id: str, address: str, detail: str
    ) -> None: ...


class _BoundPorts:
    holders: Sequence[Holder] = ()
    mentions: Sequence[TextColumns] = ()
    settings: Sequence[TextColumns] = ()
    recorder: Recorder | None = None


_bound: Final = _BoundPorts()


def bind(
    holders: Sequence[Holder],
    recorder: Recorder,
    *,
    mentions: Sequence[TextColumns],
    settings: Sequence[TextColumns],
) -> None:
    """Registers the tables of upper layers and the recorder; called at start-up.

    `mentions` are redacted. `settings` are what admins enter: an erasure leaves it as it is, and
    says where it names the customer.
    """
    _bound.holders, _bound.recorder = tuple(holders), recorder
    _bound.mentions, _bound.settings = tuple(mentions), tuple(settings)


def holders() -> Sequence[Holder]:
    return _bound.holders


def mentions() -> Sequence[TextColumns]:
    return (*workspace_texts.REDACTED, *_bound.mentions)


def left_as_they_are() -> Sequence[TextColumns]:
    return (*workspace_texts.LEFT_AS_THEY_ARE, *_bound.settings)


def recorder() -> Recorder:
    if _bound.recorder is None:
        raise LookupError("halo_mcp.bindings has not bound the recorder")
    return _bound.recorder
