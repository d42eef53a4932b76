"""What an operation of the HR API is, as data: the views, the contract and MCP read it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from rest_framework.serializers import Serializer

from oauth.server_keys import KeyPrincipal
from people import access, key_limits
from people.models import Person
from people.models.columns import Record

R = TypeVar("R", bound=Record)

READ: Final = "GET"


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """One call of an operation, checked: `organization_id` is that of the records it sees.

    Operations read records by `rows` and `row`, which leave out what the key does not see.

    `if_match` is the entity tag that a change requires, empty for other operations. `is_for_ai`
    says that an AI client is answered, which limits the absences (`people.disclosure`).
    """

    organization_id: UUID
    key: KeyPrincipal
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    if_match: str = ""
    is_for_ai: bool = False

    def rows(self, model: type[R]) -> QuerySet[R]:
        """Returns the rows that the key sees."""
        found = access.rows(model, self.organization_id)
        return key_limits.limit_rows(found, self.key.record_limit, self.organization_id)

    def row(self, model: type[R], key: object, *related: str, **more: Any) -> R:
        """Returns one row that the key sees, as `access.row`. Raises RecordNotFound."""
        return access.find_row(self.rows(model), key, *related, **more)

    def find_visible_people(self) -> Collection[str] | None:
        """Returns the ids of the people whom a limited key sees; None for everybody."""
        if not self.key.record_limit:
            return None
        return frozenset(self.rows(Person).order_by().values_list("pk", flat=True))


@dataclass(frozen=True, slots=True)
class OperationAnswer:
    """What an operation answers, with the entity tag of a resource."""

    body: Mapping[str, Any]
    etag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation: how it is addressed, what it takes, which scope it needs, and what runs.

    `path` is below /api/v1/. `query` and `request` check parameters and body. `response` is the
    shape of one resource; `lists` says that the answer has a list of them, and `pages` that it has
    a cursor. An operation `on_version` changes a record and requires its entity tag. `projection`
    are the fields of one resource that may be answered over MCP, by their paths; nothing else is,
    and without any the operation is not available there. `name=Text` answers the text in place of
    the value. `hidden` are parameters that are not available over MCP, because they would tell what
    the projection leaves out. `also` are members of an answer besides its data, with examples in
    `also_example`; `also_projection` are the fields of them that may be answered over MCP.
    Resources of a `personal` operation are records of people. `read_by` is the id of the operation
    that reads the record that this one changes. What a `dry` operation does is rolled back.
    """

    id: str
    path: str
    scope: str
    summary: str
    run: Callable[[CheckedCall], OperationAnswer]
    response: type[Serializer]
    example: Mapping[str, Any]
    method: str = READ
    query: type[Serializer] | None = None
    request: type[Serializer] | None = None
    lists: bool = False
    pages: bool = False
    on_version: bool = False
    dry: bool = False
    also: Mapping[str, Any] = field(default_factory=dict)
    also_example: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    projection: tuple[str, ...] = ()
    also_projection: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    personal: bool = False
    read_by: str = ""

    @property
    def is_read(self) -> bool:
        return self.method == READ

    @property
    def is_change(self) -> bool:
        return not self.is_read and not self.dry

    def rows(self, body: Mapping[str, Any]) -> int:
        """Returns how many records of people an answer has."""
        if not self.personal:
            return 0
        return len(body["data"]) if self.lists else 1


Operations = Sequence[Operation]
