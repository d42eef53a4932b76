"""The operations of the HR API, by topic. `ALL` has each of them once."""

from typing import Final

from people.api.operation import Operation
from people.api.operations import documents, organisation, people, reference, time_off

ALL: Final[tuple[Operation, ...]] = (
    *organisation.OPERATIONS,
    *people.OPERATIONS,
    *time_off.OPERATIONS,
    *reference.OPERATIONS,
    *documents.OPERATIONS,
)
