"""Headers of an API's response that its caller needs, and its next page as arguments.

What was made and where (Location), which version it is (ETag), when to try again (Retry-After), how
much there is (totals), and what follows (Link). Source: RFC 9110 sections 8.8.3, 10.2.2, 10.2.3 and
15.3.2; RFC 8288 section 3.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, urljoin, urlsplit

from foundation import json_text
from foundation.db.storable import leaves
from foundation.json_text import dumps
from gateway.openapi import masking
from gateway.openapi.shapes import Json, OpenApiOperation, Parameter

# What every response may have, declared or not, in the order of its use.
ALWAYS: Final = ("location", "etag", "retry-after", "link", "content-range", "x-next-page")
TOTAL: Final = re.compile(r"(?:^|-)total(?:-?(?:count|items|pages|records|results))?$")
# Not for a model: credentials of any kind, and how the message itself was sent.
NEVER: Final = frozenset(
    {
        "authentication-info",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "set-cookie",
        "set-cookie2",
        "trailer",
        "transfer-encoding",
        "www-authenticate",
    }
)
NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,100}")
MAX_DECLARED: Final = 30
MAX_CHARACTERS: Final = 4_000
MAX_LINKS_CHARACTERS: Final = 8_000
MAX_PAGE_BYTES: Final = 2_000
MAX_QUERY_FIELDS: Final = 200
LINK: Final = re.compile(r"<([^<>]*)>([^<]*)")
REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
MEMBER: Final = re.compile(r"([^\[\]]+)\[([^\[\]]+)\]")
WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
FRACTION: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
BOOLEANS: Final = {"true": True, "false": False}


class _NoArgument(Exception):
    """A part of the query of a link is no value of an argument."""


def select_allowed(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the headers that a document declares and a result may have, in lower case."""
    lower = dict.fromkeys(name.lower() for name in names)
    return tuple(name for name in lower if NAME.fullmatch(name) and name not in NEVER)[
        :MAX_DECLARED
    ]


def select_for_result(
    headers: Mapping[str, str],
    operation: OpenApiOperation,
    secrets: Sequence[str],
    max_characters: int = MAX_CHARACTERS,
) -> dict[str, str]:
    """Returns the headers that a result has, without secrets; names are in lower case."""
    totals = [name for name in headers if TOTAL.search(name)]
    found: dict[str, str] = {}
    left = min(max_characters, MAX_CHARACTERS)
    for name in dict.fromkeys([*ALWAYS, *totals, *operation.response_headers]):
        value = headers.get(name, "").strip()
        if not value or name in NEVER:
            continue
        text = _shown_value(name, value, secrets)
        left -= len(name) + len(text)
        if left < 0:
            break
        found[name] = text
    return found


def next_page(
    headers: Mapping[str, str],
    url: str,
    operation: OpenApiOperation,
    arguments: Mapping[str, Json],
    secrets: Sequence[str],
) -> dict[str, Json] | None:
    """Returns the arguments that the next page changes; null is for one that it leaves out.

    `url` is the one that was answered. None without a next page, and for one that has a query of
    which no argument is a part.
    """
    link = _next_link(headers.get("link", "")[:MAX_LINKS_CHARACTERS])
    if link is None:
        return None
    try:
        there, here = urlsplit(urljoin(url, link)), urlsplit(url)
        if there.path.rpartition("/")[2] != here.path.rpartition("/")[2]:
            return None
        changed = _changed_arguments(
            operation, arguments, _fields(there.query), _fields(here.query)
        )
    except (ValueError, _NoArgument):
        return None
    if not changed or len(dumps(changed)) > MAX_PAGE_BYTES:
        return None
    texts = [str(leaf) for leaf in leaves(changed)]
    is_secret = any(secret and secret in text for secret in secrets for text in texts)
    return None if is_secret else changed


def sentence(headers: Mapping[str, str], page: Mapping[str, Json] | None) -> str:
    """Returns the line of text about the headers and the next page."""
    listed = " | ".join(f"{name}: {value}" for name, value in headers.items())
    line = f"Response headers: {listed}" if listed else ""
    if page is None:
        return line
    again = f"Next page: call again with the same arguments, but {dumps(page).decode()}"
    return f"{line} | {again}" if line else again


def _shown_value(name: str, value: str, secrets: Sequence[str]) -> str:
    if name == "location":
        return masking.location(value, secrets)
    if name != "link":
        return masking.excerpt(value, secrets)
    links = LINK.sub(lambda found: f"<{masking.location(found[1], secrets)}>{found[2]}", value)
    return masking.excerpt(links, secrets)


def _next_link(text: str) -> str | None:
    for link in LINK.finditer(text):
        relation = REL.search(link[2])
        kinds = (relation[1] or relation[2] or "").lower().split() if relation else []
        if "next" in kinds:
            return link[1].strip()
    return None


def _fields(query: str) -> dict[str, list[str]]:
    """The values of a query by name. Raises ValueError for too many."""
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_QUERY_FIELDS):
        found.setdefault(name, []).append(value)
    return found


def _changed_arguments(
    operation: OpenApiOperation,
    arguments: Mapping[str, Json],
    there: Mapping[str, list[str]],
    here: Mapping[str, list[str]],
) -> dict[str, Json]:
    """The arguments whose values differ between two queries. Raises _NoArgument."""
    by_name = {
        one.name: one
        for one in operation.parameters
        if one.place == "query" and one.argument and not one.media_type
    }
    changed: dict[str, Json] = {}
    for name, values in there.items():
        if values == here.get(name):
            continue
        if name in by_name:
            changed[by_name[name].argument] = _value(operation, by_name[name], values)
            continue
        member = MEMBER.fullmatch(name)
        owner = by_name.get(member[1]) if member else None
        if member is None or owner is None or owner.style != "deepObject" or len(values) != 1:
            raise _NoArgument
        before = changed.get(owner.argument, arguments.get(owner.argument))
        before = before if isinstance(before, Mapping) else {}
        schema = _schema(operation, owner).get("properties", {}).get(member[2], {})
        changed[owner.argument] = {**before, member[2]: _scalar(schema, values[0])}
    for name in here.keys() - there.keys():
        if name in by_name:
            if by_name[name].required:
                raise _NoArgument
            changed[by_name[name].argument] = None
    return changed


def _value(operation: OpenApiOperation, parameter: Parameter, values: list[str]) -> Json:
    schema = _schema(operation, parameter)
    if "array" in _types(schema):
        if parameter.style != "form" or not parameter.explode:
            raise _NoArgument
        items = schema.get("items", {})
        return [_scalar(items if isinstance(items, Mapping) else {}, value) for value in values]
    if len(values) != 1 or "object" in _types(schema):
        raise _NoArgument
    return _scalar(schema, values[0])


def _schema(operation: OpenApiOperation, parameter: Parameter) -> Mapping[str, Json]:
    full = operation.full_schema
    schema = full.get("properties", {}).get(parameter.argument, {})
    reference = schema.get("$ref", "") if isinstance(schema, Mapping) else ""
    if reference:
        schema = full.get("$defs", {}).get(reference.rpartition("/")[2], {})
    return schema if isinstance(schema, Mapping) else {}


def _types(schema: Mapping[str, Json]) -> Sequence[str]:
    kind = schema.get("type", ())
    return [kind] if isinstance(kind, str) else kind


def _scalar(schema: Mapping[str, Json], text: str) -> Json:
    """A value of a query as its schema has it. Raises _NoArgument."""
    types = [one for one in _types(schema) if one != "null"]
    if not types or "string" in types:
        return text
    if "boolean" in types and text in BOOLEANS:
        return BOOLEANS[text]
    if {"integer", "number"} & set(types) and WHOLE.fullmatch(text):
        number = int(text)
        # Clients would round it; tools of projects read it from text.
        return number if abs(number) <= json_text.MAX_SAFE_INTEGER else str(number)
    if "number" in types and FRACTION.fullmatch(text):
        value, is_rounded = json_text.parse_for_clients(text)
        if not is_rounded:
            return value
    raise _NoArgument
