"""The rows and the values of statements, whichever database runs them."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

W = TypeVar("W")
Row: TypeAlias = tuple[Any, ...]


class Writers(dict[type, Callable[[Any], W]], Generic[W]):
    """The functions that write values as text, by type; a subclass uses that of its base class."""

    def __missing__(self, kind: type) -> Callable[[Any], W]:
        for base in kind.__mro__:
            if base in self:
                return self.setdefault(kind, self[base])
        raise TypeError(f"No statement takes a value of {kind.__name__}.")

    def adapt_values(self, values: Sequence[Any]) -> list[W]:
        return [self[type(value)](value) for value in values]
