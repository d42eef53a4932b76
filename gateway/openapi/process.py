"""Reads documents in a process of its own: each is text of others, and may be made to take long."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import orjson

from foundation import limited_process
from gateway.openapi import documents, mapping
from gateway.openapi.documents import DocumentLimits, InvalidDocument
from gateway.openapi.shapes import Import, Json, import_from_json

# By its counted steps a document ends within half of it on a slow computer.
SECONDS: Final = 20
_DEFINITIONS: Final = "$defs"
TOO_HARD: Final = "Reading the document took too much time or memory."


def read(text: str, *, limits: DocumentLimits, seconds: float = SECONDS) -> Import:
    """Returns the tools of a document. Raises InvalidDocument."""
    head = orjson.dumps(asdict(limits))
    # Half of a surrogate pair has no encoding: the reader refuses it, as it does bytes.
    sent = head + b"\n" + text.encode(errors="surrogatepass")
    output = limited_process.run(__name__, sent, seconds=seconds)
    try:
        answer: Any = orjson.loads(output)
    except orjson.JSONDecodeError:
        raise InvalidDocument(TOO_HARD) from None
    if isinstance(answer, str):
        raise InvalidDocument(answer)
    return from_stored(answer)


def as_stored(found: Import) -> Json:
    """Returns an import as JSON values, with each definition once."""
    return orjson.loads(orjson.dumps(_share_definitions(found)))


def from_stored(stored: Json) -> Import:
    """Returns the import that `as_stored` gave."""
    definitions, found = stored
    return _with_definitions(definitions, import_from_json(found))


def main(arguments: Sequence[str]) -> None:
    """Reads a document on the standard input, after a line with its limits; writes the import."""
    limited_process.limit(int(arguments[0]))
    limits = DocumentLimits(**orjson.loads(sys.stdin.buffer.readline()))
    sys.stdout.buffer.write(_answer(sys.stdin.buffer.read(), limits))


def _answer(content: bytes, limits: DocumentLimits) -> bytes:
    try:
        text = content.decode(errors="surrogatepass")
        return orjson.dumps(_share_definitions(mapping.read(documents.parse(text, limits=limits))))
    except InvalidDocument as invalid:
        return orjson.dumps(str(invalid))
    except (MemoryError, RecursionError):
        return orjson.dumps(TOO_HARD)


def _share_definitions(found: Import) -> tuple[dict[str, Json], Import]:
    """The definitions of all operations once, and an import with their names instead."""
    definitions: dict[str, Json] = {}
    operations = []
    for one in found.operations:
        own = one.full_schema.get(_DEFINITIONS, {})
        definitions |= own
        named = {**one.full_schema, _DEFINITIONS: list(own)}
        operations.append(replace(one, full_schema=named) if own else one)
    return definitions, replace(found, operations=operations)


def _with_definitions(definitions: Mapping[str, Json], found: Import) -> Import:
    operations = []
    for one in found.operations:
        own = {name: definitions[name] for name in one.full_schema.get(_DEFINITIONS, ())}
        full = {**one.full_schema, _DEFINITIONS: own}
        operations.append(replace(one, full_schema=full) if own else one)
    return replace(found, operations=operations)


if __name__ == "__main__":
    main(sys.argv[1:])
