"""Names of tools and of arguments: what clients accept, independent of the document's order."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from gateway.openapi.shapes import Place
from tools_registry.api import find_destructive_words

MAX_ARGUMENT: Final = 64
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_ILLEGAL_ARGUMENT: Final = re.compile(r"[^a-zA-Z0-9_.-]+")
_ARGUMENT: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
# A client in JavaScript that keeps tools or arguments in a plain object reads these from every one.
_RESERVED: Final = {
    "__proto__",
    "constructor",
    "prototype",
    "hasOwnProperty",
    "toString",
    "valueOf",
}
_SHORTEST_HASH: Final = 6
# Names such as Twilio's `StartTime<` and `StartTime>` stay apart and readable.
_SPELLED: Final = {"<=": "_lte", ">=": "_gte", "<": "_lt", ">": "_gt", "!=": "_ne"}
# Which of several arguments of one name keeps it; the others get their place as a suffix.
_RANK: Final = {"body": 0, "query": 1, "header": 2, "cookie": 3, "path": 4}


def digest(text: str, length: int = _SHORTEST_HASH) -> str:
    """Returns the beginning of the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:length]


def tool_names(operations: Mapping[str, str], *, max_length: int = 64) -> dict[str, str]:
    """Returns the tool name of each operation; `operations` is operation id by key.

    The key is method and path key. A name that is too long or not unique, in upper and lower case
    alike, gets a hash of the key as suffix, whatever else the document has.
    """
    wished = {key: _preferred_name(key, operation_id) for key, operation_id in operations.items()}
    count = Counter(_cut(name, max_length).casefold() for name in wished.values())
    names: dict[str, str] = {}
    for key, name in wished.items():
        is_unique = count[_cut(name, max_length).casefold()] == 1
        fits = len(name) <= max_length
        names[key] = name if is_unique and fits else _append_hash(name, key, max_length)
    return _distinct(names, wished, max_length)


def _distinct(names: dict[str, str], wished: Mapping[str, str], max_length: int) -> dict[str, str]:
    """A hash can make the name that another operation has by itself: a longer one then."""
    length = _SHORTEST_HASH
    while len(set(map(str.casefold, names.values()))) < len(names):
        length += 2
        count = Counter(map(str.casefold, names.values()))
        for key, name in names.items():
            if count[name.casefold()] > 1:
                names[key] = _append_hash(wished[key], key, max_length, length)
    return names


def _preferred_name(key: str, operation_id: str) -> str:
    name = _ILLEGAL.sub("_", operation_id)
    if not re.search(r"[a-zA-Z0-9]", name) or name in _RESERVED:
        name = _name_from_key(key)
    # Gemini accepts names that begin with a letter or an underscore.
    return name if re.match(r"[a-zA-Z_]", name) else f"op_{name}"


def _name_from_key(key: str) -> str:
    """`GET /users/{id}` is `get_users_by_id`."""
    method, _, path = key.partition(" ")
    path = re.sub(r"\{([^{}]*)\}", r"by_\1", path)
    return _ILLEGAL.sub("_", f"{method.lower()} {path}").strip("_").replace("__", "_")


def _cut(name: str, max_length: int) -> str:
    return name if len(name) <= max_length else name[: max_length - _SHORTEST_HASH - 1]


def _append_hash(name: str, key: str, max_length: int, length: int = _SHORTEST_HASH) -> str:
    length = min(length, max_length - 2)
    return f"{name[: max_length - length - 1]}_{digest(key, length)}"


def argument_names(
    wanted: list[tuple[Place | str, str]],
) -> dict[tuple[Place | str, str], str]:
    """Returns the argument of each (place, wire name); the place of a body's field is "body".

    The keys match `^[a-zA-Z0-9_.-]{1,64}$`. The result does not depend on the order of `wanted`.
    """
    names: dict[tuple[Place | str, str], str] = {}
    taken: set[str] = set()
    ranked = sorted(wanted, key=lambda one: (_is_changed(one[1]), _RANK[one[0]], one[1]))
    for place, name in ranked:
        plain = _legal(name)
        candidates = (
            plain,
            f"{plain[: MAX_ARGUMENT - 8]}__{place}",
            f"{plain[: MAX_ARGUMENT - 8]}_{digest(f'{place} {name}')}",
            f"{plain[: MAX_ARGUMENT - 34]}_{digest(f'{place} {name}', 32)}",
        )
        # A changed name has its hash, not its place, where only the change made it equal.
        order = candidates if not _is_changed(name) else (plain, *candidates[2:])
        chosen = next(one for one in order if one not in taken)
        taken.add(chosen)
        names[place, name] = chosen
    return names


def _is_changed(name: str) -> bool:
    return _ARGUMENT.fullmatch(name) is None or name in _RESERVED


def _legal(name: str) -> str:
    if not _is_changed(name):
        return name
    legal = name
    for sign, word in _SPELLED.items():
        legal = legal.replace(sign, word)
    legal = _ILLEGAL_ARGUMENT.sub("_", legal).strip("_")[:MAX_ARGUMENT]
    return legal if legal and legal not in _RESERVED else f"{legal}_{digest(name)}".strip("_")


def is_destructive(method: str, name: str, *, is_read: bool) -> bool:
    """Returns whether a tool is marked for people: it deletes, or its name promises as much.

    A tool that only reads, such as a search for refunds, is marked for its method alone.
    """
    return method.upper() == "DELETE" or (not is_read and bool(find_destructive_words(name)))
