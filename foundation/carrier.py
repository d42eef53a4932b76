"""Values that are made with every call, and by nobody changed."""

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def carrier(kind: type[T]) -> type[T]:
    """A dataclass whose fields the type checker holds for frozen, and Python does not.

    To set the fields of a frozen one takes Python three times as long, and a call makes some thirty
    of them: a twelfth of its time. Not for keys of a dict: it has no hash.
    """
    return dataclass(slots=True)(kind)
