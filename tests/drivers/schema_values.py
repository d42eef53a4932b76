"""Values generated from a JSON Schema: valid ones, and invalid ones that are close to valid."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st

from foundation.db.storable import has_unstorable_text
from tools_registry.api.schemas import validator_of

Schema: TypeAlias = Mapping[str, Any]
Values: TypeAlias = st.SearchStrategy[Any]

# What a database can hold; the longest text is made long by repetition, which costs nothing.
STORABLE = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
MAX_MADE_LENGTH = 40
JUNK: Values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(-1e9, 1e9) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ANY_TEXT, inner, max_size=2),
    max_leaves=4,
)


def fitting(schema: Schema) -> Values:
    """Values that a schema takes."""
    return _values_of(schema).filter(lambda value: fits(schema, value))


def invalid_objects(schema: Schema) -> Values:
    """Objects with the properties of a schema that it does not take, or that cannot be stored."""
    names = sorted(schema.get("properties", ()))
    whole = _values_of(schema)
    ways = [
        st.builds(_replace, whole, ANY_TEXT, JUNK),
        st.builds(_remove, whole, st.sampled_from(names)) if names else st.nothing(),
        st.builds(_replace, whole, st.sampled_from(names), JUNK) if names else st.nothing(),
        st.builds(_replace, whole, st.sampled_from(names), _longer()) if names else st.nothing(),
        st.dictionaries(ANY_TEXT, JUNK, max_size=3),
    ]
    return st.one_of(ways).filter(lambda value: not fits(schema, value))


def fits(schema: Schema, value: Any) -> bool:
    return not has_unstorable_text(value) and bool(validator_of(schema).is_valid(value))


def _values_of(schema: Schema) -> Values:
    if isinstance(schema.get("type"), list):
        return st.one_of([_values_of({**schema, "type": one}) for one in schema["type"]])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return st.one_of([_values_of(one) for one in schema[word]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return KINDS[schema.get("type", "any")](schema)


def _text(schema: Schema) -> Values:
    least, most = schema.get("minLength", 0), schema.get("maxLength", MAX_MADE_LENGTH)
    if "pattern" in schema and schema["pattern"] != r"\S":
        return st.from_regex(schema["pattern"], alphabet=STORABLE)
    short = st.text(STORABLE, min_size=least, max_size=max(least, min(most, MAX_MADE_LENGTH)))
    return short | st.sampled_from("xé\N{SNOWMAN}").map(lambda letter: letter * most)


def _longer() -> Values:
    return st.sampled_from([2_000, 100_000]).map(lambda length: "x" * length)


def _whole(schema: Schema) -> Values:
    return st.integers(*_bounds(schema))


def _number(schema: Schema) -> Values:
    low, high = _bounds(schema)
    return st.floats(low, high) | st.integers(low, high)


def _bounds(schema: Schema) -> tuple[int, int]:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -(10**12)))
    high = schema.get("maximum", schema.get("exclusiveMaximum", 10**12))
    return int(low), int(high)


def _list(schema: Schema) -> Values:
    least, most = schema.get("minItems", 0), min(schema.get("maxItems", 4), 12)
    key = repr if schema.get("uniqueItems") else None
    return st.lists(
        _values_of(schema.get("items", {})),
        min_size=least,
        max_size=max(least, most),
        unique_by=key,
    )


def _object(schema: Schema) -> Values:
    properties = {name: _values_of(inner) for name, inner in schema.get("properties", {}).items()}
    required = set(schema.get("required", ()))
    more = schema.get("additionalProperties", True)
    known = st.fixed_dictionaries(
        {name: made for name, made in properties.items() if name in required},
        optional={name: made for name, made in properties.items() if name not in required},
    )
    if more is False:
        return known
    names = st.text(STORABLE, min_size=1, max_size=10).filter(lambda name: name not in properties)
    others = st.dictionaries(names, _values_of({} if more is True else more), max_size=3)
    return st.builds(lambda a, b: {**a, **b}, known, others)


def _replace(whole: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {**whole, name: value}


def _remove(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {known: value for known, value in whole.items() if known != name}


KINDS: Mapping[str, Callable[[Schema], Values]] = {
    "string": _text,
    "integer": _whole,
    "number": _number,
    "boolean": lambda _schema: st.booleans(),
    "null": lambda _schema: st.none(),
    "array": _list,
    "object": _object,
    "any": lambda _schema: JUNK.filter(lambda value: not has_unstorable_text(value)),
}
