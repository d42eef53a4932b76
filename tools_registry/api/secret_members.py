"""Which members of arguments a tool's schema declares as secrets, and their texts."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tools_registry.api.declared_members import SchemaPlace

WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
SECRET_WORDS: Final = frozenset(
    {
        *("password", "passwd", "passphrase", "passcode", "secret", "token", "jwt"),
        *("authorization", "credential", "credentials", "cookie", "apikey", "otp", "pin", "cvv"),
        *("cvc", "ssn"),
    }
)
SECRET_PAIRS: Final = frozenset({("api", "key"), ("private", "key"), ("access", "key")})
# Tokens that are no secret.
PLAIN_PAIRS: Final = frozenset(
    {("page", "token"), ("next", "token"), ("sync", "token"), ("continuation", "token")}
)

# Of a schema, how deep it is searched for secrets where text is in the place of an object.
MAX_LEVELS: Final = 3


def is_secret_name(name: str) -> bool:
    """Returns whether a declared name is that of a secret."""
    words = [word.lower() for word in WORD.findall(name)]
    pair = tuple(words[-2:])
    if pair in PLAIN_PAIRS:
        return False
    return pair in SECRET_PAIRS or (bool(words) and words[-1] in SECRET_WORDS)


def is_secret(place: SchemaPlace, value: Any) -> bool:
    """Returns whether a schema at a place declares a secret, by its format or as write-only.

    Text in the place of an object or a list counts as one if a secret is declared inside of that.
    """
    return any(map(_declares_secret, place.schemas)) or (
        isinstance(value, str) and _takes_no_text(place) and _has_secret_inside(place)
    )


def text_of_secret(value: Any, *, has_schema: bool = True) -> str | None:
    """Returns the text that has to be masked of a secret; None for a value that says nothing.

    A number is one where a schema or a name declares it as a secret, such as a PIN.
    """
    if isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if has_schema and is_number else None


def find_secrets(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
    """Returns the texts of arguments that are secrets."""
    return _find(SchemaPlace.from_schema(schema), arguments, "", is_inside=False)


def has_secret_at(schema: Mapping[str, Any], path: Sequence[str | int], value: Any) -> bool:
    """Returns whether the value at a path of arguments is a secret, or has one in it."""
    place, name, is_inside = SchemaPlace.from_schema(schema), "", False
    for step in path:
        if isinstance(step, str):
            name = step if step in place.names else ""
            place = place.member(step)
        else:
            place = place.item(step)
        is_inside = is_inside or any(map(_declares_secret, place.schemas))
    return any(True for _secret in _find(place, value, name, is_inside=is_inside))


def _find(place: SchemaPlace, value: Any, name: str, *, is_inside: bool) -> Iterator[str]:
    """The secrets of a value; `name` is that of its member if it is declared."""
    is_inside = is_inside or is_secret(place, value)
    if isinstance(value, Mapping):
        for inner, item in value.items():
            declared = inner if inner in place.names else ""
            yield from _find(place.member(inner), item, declared, is_inside=is_inside)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find(place.item(index), item, name, is_inside=is_inside)
    elif is_inside or is_secret_name(name):
        text = text_of_secret(value)
        if text is not None:
            yield text


def _declares_secret(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "password" or schema.get("writeOnly") is True


def _takes_no_text(place: SchemaPlace) -> bool:
    types = [schema["type"] for schema in place.schemas if "type" in schema]
    return bool(types) and not any(one == "string" or "string" in one for one in types)


def _has_secret_inside(place: SchemaPlace) -> bool:
    """Whether a secret is declared at some levels below a place; looked for once for each place."""
    if place.has_secret_inside is None:
        place.has_secret_inside = _find_secret_inside(place)
    return place.has_secret_inside


def _find_secret_inside(place: SchemaPlace) -> bool:
    seen, places = {id(place)}, [place]
    for _level in range(MAX_LEVELS):
        inside: list[SchemaPlace] = []
        for outer in places:
            if any(map(is_secret_name, outer.names)):
                return True
            for inner in (outer.item(0), *map(outer.member, outer.names)):
                if inner.schemas and id(inner) not in seen:
                    seen.add(id(inner))
                    inside.append(inner)
        if any(_declares_secret(schema) for inner in inside for schema in inner.schemas):
            return True
        places = inside
    return False
