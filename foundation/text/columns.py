"""A column with the words of other columns, which a full-text index is made of."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from zlib import crc32

from django.db import models

from foundation.text.words import make_index_words

# Of no word, so that an index that splits words has none of them.
_DIGITS: Final = str.maketrans("0123456789abcdef", "!#$&()*+,-./:;<=")


class SearchTextField(models.TextField):  # type: ignore[type-arg]
    """The index words of the columns that `sources` names, written whenever a row is saved.

    NULL until they are computed: an update of a source that leaves this column out, which processes
    of earlier versions and erasures make, empties it by a trigger (workspace/migrations/_words.py).
    Each word is between spaces. After them, and a vertical line, comes a checksum of the sources:
    the trigger sees by it that words were written which are equal to those before.
    """

    def __init__(self, *args: Any, sources: tuple[str, ...] = (), **kwargs: Any) -> None:
        self.sources: Final = sources
        kwargs.update(null=True, editable=False)
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "sources": self.sources}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:  # noqa: ARG002, FBT001  Django's
        text = self.make_row_words(model_instance)
        setattr(model_instance, self.attname, text)
        return text

    def make_row_words(self, row: models.Model) -> str:
        """Returns the index words of a row."""
        return self.make_words({name: getattr(row, name) for name in self.sources})

    def make_words(self, row: Mapping[str, Any]) -> str:
        """Returns the index words of the columns of a row."""
        texts = (text for name in self.sources for text in _list_texts(row.get(name)))
        return f" {make_index_words(*texts)} |{self._checksum(row)}"

    def _checksum(self, row: Mapping[str, Any]) -> str:
        sources = json.dumps([row.get(name) for name in self.sources], default=str)
        return f"{crc32(sources.encode()):08x}".translate(_DIGITS)


def _list_texts(value: Any) -> Iterator[str]:
    """Yields the texts in a value of a column: of JSON, the values and not the names."""
    rest = [value]
    while rest:
        part = rest.pop()
        if isinstance(part, Mapping):
            part = list(part.values())
        if isinstance(part, list):
            rest += reversed(part)
        elif part is not None and not isinstance(part, bool):
            yield str(part)
