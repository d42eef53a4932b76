"""What changed between two versions of an operation: sentences for an admin, and texts by words."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, TypeAlias

from gateway.openapi.shapes import BodyField, OpenApiOperation, Parameter

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
    if not found or _has_unnamed_change(before, after):
        found.append(NOT_NAMED)
    return found


def _sentences(before: OpenApiOperation, after: OpenApiOperation) -> list[str]:
    found = []
    if before.method.upper() != after.method.upper() or before.path != after.path:
        old, new = (f"{one.method.upper()} {one.path}" for one in (before, after))
        found.append(f"The request is {new}. It was {old}.")
    if before.server != after.server:
        old, new = (one.server or "the target URL" for one in (before, after))
        found.append(f"Calls go to {new}. They went to {old}.")
    if before.fixed_query != after.fixed_query:
        old, new = (_query(one) for one in (before, after))
        found.append(f"The path is sent with {new}. It was sent with {old}.")
    found += _arguments(before.full_schema, after.full_schema)
    found += _places(before, after)
    if _body(before) != _body(after):
        found.append(f"The body is sent as {_body(after)}. It was sent as {_body(before)}.")
    old_body, new_body = before.body, after.body
    if old_body and new_body and old_body.required != new_body.required:
        found.append(f"The body became {'required' if new_body.required else 'optional'}.")
    if before.idempotency_header != after.idempotency_header:
        old, new = (one.idempotency_header or "no header" for one in (before, after))
        found.append(f"The idempotency key of a call is sent in {new}. It was sent in {old}.")
    if before.security != after.security:
        found.append("Another credential is needed.")
    return [*found, *_shown_schemas(before, after)]


def _shown_schemas(before: OpenApiOperation, after: OpenApiOperation) -> Iterator[str]:
    """What changed in the schemas that clients are shown, and is no text and no argument."""
    names = _unchanged_arguments(before.full_schema, after.full_schema)
    if _listed_limits(before, names) != _listed_limits(after, names):
        yield "Clients are shown other limits or examples of the arguments."
    if before.output_schema != after.output_schema and _members(before) == _members(after):
        yield "The result is declared in another way."


def _unchanged_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The arguments of both versions that take the same values, which no sentence names."""
    old, new = before.get("properties", {}), after.get("properties", {})
    has_same_objects = before.get("$defs") == after.get("$defs")
    return [
        name
        for name in old.keys() & new.keys()
        if old[name] == new[name] and (has_same_objects or "$ref" not in json.dumps(old[name]))
    ]


def _listed_limits(operation: OpenApiOperation, names: Sequence[str]) -> dict[str, Any]:
    """The listed schemas of some arguments, without their texts."""
    properties = operation.listed_schema.get("properties", {})
    return {name: _remove_texts(properties.get(name)) for name in names}


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


def _query(operation: OpenApiOperation) -> str:
    pairs = "&".join(f"{name}={value}" for name, value in operation.fixed_query)
    return f"the query {pairs}" if pairs else "no query of its own"


def _body(operation: OpenApiOperation) -> str:
    return operation.body.media_type if operation.body else "no body"


def _places(before: OpenApiOperation, after: OpenApiOperation) -> Iterator[str]:
    """Where and how values are sent: arguments that both versions have, and what is fixed."""
    old, new = _places_of(before), _places_of(after)
    for what in dict.fromkeys([*old, *new]):
        first, second = old.get(what), new.get(what)
        # Of an argument or a member that only one version has, the schema says it.
        is_in_schema = None in {first, second} and not what.startswith("In the ")
        if first == second or is_in_schema:
            continue
        is_sent = "is no longer sent" if second is None else f"is sent {second}"
        was_sent = "was not sent" if first is None else f"was sent {first}"
        yield f"{what} {is_sent}. It {was_sent}."


def _places_of(operation: OpenApiOperation) -> dict[str, str]:
    """Where and how a request has each value, by what it is."""
    places = {}
    for one in operation.parameters:
        if one.argument:
            how = f"as {one.media_type}" if one.media_type else _style(one)
            reserved = ", with reserved characters" if one.allow_reserved else ""
            place = f"in the {one.place} as {one.name}, {how}{reserved}"
            places[f"The argument {one.argument}"] = place
        else:
            value = json.dumps(one.fixed, ensure_ascii=False)
            places[f"In the {one.place}, {one.name}"] = f"as {value}"
    body = operation.body
    for field in body.fields if body else ():
        is_member = body is not None and body.argument
        what = f"The member {field.name}" if is_member else f"The argument {field.argument}"
        how = "" if body and body.kind == "json" else f", {_style_of_part(field)}"
        places[what] = f"in the body as {field.name}{how}"
    return places


def _style(one: Parameter | BodyField) -> str:
    return f"in the style {one.style}, {'exploded' if one.explode else 'not exploded'}"


def _style_of_part(field: BodyField) -> str:
    """How a form or a multipart body has a member."""
    how = f"as {field.content_type}" if field.content_type else _style(field)
    return f"{how}, as a file" if field.is_file else how


def _has_unnamed_change(before: OpenApiOperation, after: OpenApiOperation) -> bool:
    """Whether something changed that an admin has to review, and that no sentence and no text has.

    Of a body that is new, gone or of another type, and of its members, the sentences say it.
    """
    old, new = before.body, after.body
    old_type, new_type = (one and (one.media_type, one.argument) for one in (old, new))
    if old_type != new_type:
        return False
    shared = set(before.full_schema.get("properties", {}))
    shared &= set(after.full_schema.get("properties", {}))
    if old and new and old.required != new.required:
        # Then each member that is needed becomes required or optional itself.
        shared = set()
    return _unnamed_parts(before, shared) != _unnamed_parts(after, shared)


def _unnamed_parts(operation: OpenApiOperation, names: set[str]) -> list[Any]:
    """What no sentence and no text has; which arguments need which others only of these names."""
    schema, body = operation.full_schema, operation.body
    named = {"properties", "required", "$defs", "dependentRequired"}
    rest = {name: schema[name] for name in schema.keys() - named}
    needed = {
        name: names & set(others)
        for name, others in schema.get("dependentRequired", {}).items()
        if name in names
    }
    return [rest, needed, body and (body.kind, body.open_fields)]


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
    return texts | {"The members of the result": " ".join(_members(operation))}


def _members(operation: OpenApiOperation) -> list[str]:
    """The members of the result."""
    return sorted((operation.output_schema or {}).get("properties", {}))


def _schema_texts(schema: Any, place: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    if isinstance(schema, Mapping):
        for key, what in TEXTS.items():
            if key in schema and _is_text(key, schema[key]):
                texts[f"The {what} of {place}"] = str(schema[key])
        for name, inner in schema.get("properties", {}).items():
            texts |= _schema_texts(inner, f"{place}.{name}")
        texts |= _schema_texts(schema.get("items"), f"{place}[]")
        texts |= _schema_texts(schema.get("additionalProperties"), f"{place}.*")
        for number, inner in enumerate(schema.get("anyOf", ()), 1):
            texts |= _schema_texts(inner, f"{place} (alternative {number})")
    return texts


def _remove_texts(schema: Any) -> Any:
    """A schema without the texts that `_schema_texts` finds in it."""
    if not isinstance(schema, Mapping):
        return schema
    rest = {key: value for key, value in schema.items() if not _is_text(key, value)}
    if "properties" in rest:
        properties = rest["properties"].items()
        rest["properties"] = {name: _remove_texts(inner) for name, inner in properties}
    for key in rest.keys() & {"items", "additionalProperties"}:
        rest[key] = _remove_texts(rest[key])
    if "anyOf" in rest:
        rest["anyOf"] = [_remove_texts(inner) for inner in rest["anyOf"]]
    return rest


def _is_text(key: str, value: Any) -> bool:
    return key in TEXTS and not isinstance(value, Mapping | list)


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
