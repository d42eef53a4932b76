"""Reads the parameters of a request back, written from the style table of OpenAPI 3.1.1 alone."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, unquote_plus

from gateway.openapi.shapes import Parameter

Pairs = list[tuple[str, str]]
SEPARATORS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}


def query_of(target: str) -> Pairs:
    """The names, decoded, and the values, as they are."""
    pairs = (pair.partition("=") for pair in target.partition("?")[2].split("&") if pair)
    return [(unquote(name), value) for name, _, value in pairs]


def from_pairs(
    parameter: Any, kind: type, pairs: Pairs, decode: Callable[[str], str] = unquote
) -> Any:
    """The value of a query parameter, a cookie or a form field, every scalar as text."""
    if parameter.style == "deepObject":
        return _deep(parameter.name, pairs, decode)
    own = [value for name, value in pairs if name == parameter.name]
    if kind is dict and parameter.explode:
        return {name: decode(value) for name, value in pairs if name.startswith("key")}
    if kind is list and parameter.explode:
        return [decode(value) for value in own]
    (value,) = own
    if kind is str:
        return decode(value)
    separator = SEPARATORS.get(parameter.style, ",")
    if decode is unquote_plus and separator == "%20":
        separator = "+"
    return _to_list_or_dict([decode(item) for item in value.split(separator)], kind)


def from_segment(parameter: Parameter, kind: type, segment: str) -> Any:
    """The value of a path parameter."""
    if parameter.style == "matrix":
        pairs = [pair.partition("=") for pair in segment.removeprefix(";").split(";")]
        named = [(unquote(name), value) for name, _, value in pairs]
        return from_pairs(parameter, kind, named)
    separator = ","
    if parameter.style == "label":
        assert segment.startswith(".")
        segment = segment[1:]
        separator = "." if parameter.explode else ","
    if kind is str:
        return unquote(segment)
    if kind is dict and parameter.explode:
        members = (item.partition("=") for item in segment.split(separator))
        return {unquote(name): unquote(value) for name, _, value in members}
    return _to_list_or_dict([unquote(item) for item in segment.split(separator)], kind)


def from_header(parameter: Parameter, kind: type, value: str) -> Any:
    if kind is str:
        return value
    if kind is dict and parameter.explode:
        return {key: item for key, _, item in (one.partition("=") for one in value.split(","))}
    return _to_list_or_dict(value.split(","), kind)


def _to_list_or_dict(items: list[str], kind: type) -> Any:
    return items if kind is list else dict(zip(items[::2], items[1::2], strict=True))


def _deep(name: str, pairs: Pairs, decode: Callable[[str], str]) -> Any:
    """`f[a][b]=1`, `f[]=1` and `f[0][a]=1`, as servers read them."""
    tree: dict[str, Any] = {}
    for key, value in pairs:
        if not key.startswith(f"{name}["):
            continue
        *path, last = re.findall(r"\[([^\[\]]*)\]", key[len(name) :])
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        if last:
            node[last] = decode(value)
        else:
            node.setdefault("", []).append(decode(value))
    return _with_lists(tree)


def _with_lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if set(node) == {""}:
        return node[""]
    members = {key: _with_lists(value) for key, value in node.items()}
    is_list = list(members) == [str(place) for place in range(len(members))]
    return list(members.values()) if is_list else members
