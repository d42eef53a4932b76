"""What changed between two versions of an operation: sentences for an admin, and texts by words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, TypeAlias

from gateway.openapi.shapes import OpenApiOperation

# A sentence, or a text that changed: `what` it is, and its `words` as pairs of a mark and a text.
Note: TypeAlias = str | Mapping[str, Any]
SAME: Final = ""
REMOVED: Final = "-"
ADDED: Final = "+"
# Members of a listed schema that models read, and what an admin is shown them as.
TEXTS: Final = {"description": "description", "default": "default", "title": "title"}
# Pairs of equal words in two texts; a long description has some hundreds.
MAX_EQUAL_PAIRS: Final = 3_000
NOT_NAMED: Final = (
    "Something else changed in how a request is written or in what clients are shown."
)


def notes(before: OpenApiOperation, after: OpenApiOperation) -> list[Note]:
    """Returns what an admin has to review of a change; at least one sentence."""
    found: list[Note] = [*_sentences(before, after), *_texts(before, after)]
    return found or [NOT_NAMED]


def _sentences(before: OpenApiOperation, after: OpenApiOperation) -> list[str]:
    found = []
    if before.method.upper() != after.method.upper() or before.path != after.path:
        old, new = (f"{one.method.upper()} {one.path}" for one in (before, after))
        found.append(f"The request is {new}. It was {old}.")
    if before.server != after.server:
        old, new = (one.server or "the target URL" for one in (before, after))
        found.append(f"Calls go to {new}. They went to {old}.")
    found += _arguments(before.full_schema, after.full_schema)
    if _body(before) != _body(after):
        found.append(f"The body is sent as {_body(after)}. It was sent as {_body(before)}.")
    if before.security != after.security:
        found.append("Another credential is needed.")
    return found


def _arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    old, new = before.get("properties", {}), after.get("properties", {})
    required, required_before = set(after.get("required", ())), set(before.get("required", ()))
    found = [f"The argument {name} is new." for name in sorted(new.keys() - old.keys())]
    found += [f"The argument {name} is gone." for name in sorted(old.keys() - new.keys())]
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            found.append(f"The argument {name} takes other values.")
        if (name in required) != (name in required_before):
            state = "required" if name in required else "optional"
            found.append(f"The argument {name} became {state}.")
    if before.get("$defs") != after.get("$defs"):
        found.append("The objects inside the arguments changed.")
    return found


def _body(operation: OpenApiOperation) -> str:
    return operation.body.media_type if operation.body else "no body"


def _texts(before: OpenApiOperation, after: OpenApiOperation) -> Iterator[Note]:
    """The texts that models read and that differ, word by word."""
    old, new = _read_by_models(before), _read_by_models(after)
    for what in dict.fromkeys([*old, *new]):
        first, second = old.get(what, ""), new.get(what, "")
        if first != second:
            yield {"what": what, "words": _words(first.split(), second.split())}


def _read_by_models(operation: OpenApiOperation) -> dict[str, str]:
    """Each text of a tool in a list, by what it is."""
    texts = {"The title": operation.title, "The description": operation.description}
    properties = operation.listed_schema.get("properties", {})
    for name, schema in properties.items():
        texts |= _schema_texts(schema, name)
    members = (operation.output_schema or {}).get("properties", {})
    return texts | {"The members of the result": " ".join(sorted(members))}


def _schema_texts(schema: Any, place: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    if isinstance(schema, Mapping):
        for key, what in TEXTS.items():
            if key in schema and not isinstance(schema[key], Mapping | list):
                texts[f"The {what} of {place}"] = str(schema[key])
        for name, inner in schema.get("properties", {}).items():
            texts |= _schema_texts(inner, f"{place}.{name}")
        texts |= _schema_texts(schema.get("items"), f"{place}[]")
        texts |= _schema_texts(schema.get("additionalProperties"), f"{place}.*")
        for number, inner in enumerate(schema.get("anyOf", ()), 1):
            texts |= _schema_texts(inner, f"{place} (alternative {number})")
    return texts


def _words(before: Sequence[str], after: Sequence[str]) -> list[list[str]]:
    """The words of both texts in order: those that stay, and those that one of them has."""
    found: list[tuple[str, Sequence[str]]] = []
    for tag, start, end, start_after, end_after in _steps(before, after):
        if tag == "equal":
            found.append((SAME, before[start:end]))
        else:
            found += [(REMOVED, before[start:end]), (ADDED, after[start_after:end_after])]
    return [[mark, " ".join(words)] for mark, words in found if words]


def _steps(before: Sequence[str], after: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """The steps from one text to the other, as difflib has them.

    Texts that repeat a few words often are compared as a whole: their words take too long.
    """
    counts, others = Counter(before), Counter(after)
    if sum(count * others[word] for word, count in counts.items()) > MAX_EQUAL_PAIRS:
        return [("replace", 0, len(before), 0, len(after))]
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
