"""Reads documents in a process of its own: a hostile file may make a parser run without end."""

import base64
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from foundation import limited_process
from retrieval.documents.readers import read
from retrieval.documents.sections import (
    DocumentSection,
    ExcludedDocument,
    ParsedDocument,
    UnreadableDocument,
)

SECONDS: Final = 60
TOO_HARD: Final = "Reading the document took too much time or memory."

Read = ParsedDocument | UnreadableDocument


def read_all(documents: Iterable[tuple[str, bytes, str]], seconds: float = SECONDS) -> list[Read]:
    """Returns the text of each (kind, content, address), or why it cannot be read.

    If the time is over or the process ends, no document after the last read one can be read.
    """
    listed = list(documents)
    sent = [json.dumps([kind, base64.b64encode(data).decode(), url]) for kind, data, url in listed]
    output = limited_process.run(__name__, "\n".join(sent).encode(), seconds=seconds)
    complete = output.splitlines(keepends=True)
    found = [_decode_line(line) for line in complete if line.endswith(b"\n")]
    return [*found, *(UnreadableDocument(TOO_HARD) for _ in listed[len(found) :])]


def _decode_line(line: bytes) -> Read:
    value: Any = json.loads(line)
    if "excluded" in value:
        return ExcludedDocument(value["excluded"])
    if "unreadable" in value:
        return UnreadableDocument(value["unreadable"])
    sections = tuple(DocumentSection(*section) for section in value.pop("sections"))
    return ParsedDocument(sections=sections, **value)


def main(arguments: Sequence[str]) -> None:
    """Reads the documents on the standard input, a line each, and writes a line for each."""
    limited_process.limit(int(arguments[0]))
    for line in sys.stdin.buffer:
        kind, content, url = json.loads(line)
        sys.stdout.write(json.dumps(_read_as_json(kind, base64.b64decode(content), url)) + "\n")
        sys.stdout.flush()


def _read_as_json(kind: str, content: bytes, url: str) -> dict[str, Any]:
    try:
        document = read(kind, content, url)
    except ExcludedDocument as excluded:
        return {"excluded": str(excluded)}
    except UnreadableDocument as unreadable:
        return {"unreadable": str(unreadable)}
    except (MemoryError, RecursionError):
        return {"unreadable": TOO_HARD}
    return {
        "title": document.title,
        "sections": [[section.heading, section.text] for section in document.sections],
        "canonical": document.canonical,
        "modified": document.modified,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
