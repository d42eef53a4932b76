"""What of an answer may leave over MCP: the fields that an operation lists, and nothing else.

Texts are redacted (`redact`), whatever field they are in.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias, Union

from foundation import masking
from foundation.text.folding import remove_invisible
from people.api.operation import Operation


@dataclass(frozen=True, slots=True)
class SourceField:
    """The field that is answered under another name."""

    name: str


# Fields by name, each with its own fields; none for a value that is answered whole, a text for
# one that is answered by the text, and a source for one that is answered by another field.
Fields: TypeAlias = Mapping[str, Union["Fields", str, SourceField]]

REDACTED: Final = "[redacted]"
# Words that are too short for a secret, days and times: most texts of an answer.
PLAIN: Final = re.compile(r"[A-Za-z]{0,15}|\d{4}-\d\d-\d\d(?:T[\d:.]{5,15}Z)?")
# Domains of names without a scheme. Two letters are a country, unless they end a file of source.
DOMAINS: Final = (
    r"(?:com|net|org|info|biz|app|dev|xyz|online|site|shop|store|tech|cloud|link|click|live|top|club"
    r"|work|page|pro|name|mobi|edu|gov|mil|int|example|test|onion|local|internal|xn--[a-z0-9-]+"
    r"|[a-z]{2}(?<!js)(?<!ts)(?<!cs))"
)
UNSAFE: Final = re.compile(
    # Links: with any scheme, with schemes that have no slashes, and addresses without a scheme.
    r"\b[a-z][a-z0-9+.-]{1,30}:\s?//\S*"
    r"|\b(?:mailto|tel|sms|callto|skype|data|javascript|vbscript|blob|urn|magnet|file):\S+"
    r"|\bwww\.\S+"
    rf"|(?<![@\w.-])(?!(?:asp|vb)\.net\b)(?:[\w-]{{1,63}}\.)*[\w-]{{2,63}}\.{DOMAINS}(?::\d+|[/?#])\S*"
    r"|(?<![@\w.-])[a-z]\.(?:co|me|ly|to|ai)(?::\d+|[/?#])\S*"
    r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?/\S*"
    r"|\\\\[\w.-]+\\\S+"
    # Secrets without a known prefix: a bearer token, digests, account numbers (ISO 13616), and
    # long runs of letters and digits of every kind.
    r"|\bBearer\s+\S{8,}"
    r"|\b(?=[0-9a-f]*\d)[0-9a-f]{32,}\b"
    r"|\b(?=(?:[a-z\s]*\d){9})[a-z]{2}\d{2}(?:\s?[a-z0-9]{4}){3,7}(?:\s?[a-z0-9]{1,3})?\b"
    r"|\b(?-i:(?=[A-Z0-9+/=]*[a-z])(?=[a-z0-9+/=]*[A-Z])(?=[A-Za-z+/=]*\d)[A-Za-z0-9+/=]{32,})",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Returns a text without invisible characters, and with links and secrets replaced."""
    return text if PLAIN.fullmatch(text) else _redact(remove_invisible(text))


# The rows of a page repeat departments, places and managers.
@lru_cache(maxsize=4_096)
def _redact(text: str) -> str:
    replaced = masking.replace_recognized(UNSAFE.sub(REDACTED, text), REDACTED)
    if replaced == text and not text.isascii():
        # Other forms of the same characters, such as full-width ones, are found in the usual form.
        usual = unicodedata.normalize("NFKC", text)
        return text if usual == text or _redact(usual) == usual else REDACTED
    return replaced


def parse_fields(paths: Iterable[str]) -> Fields:
    """Returns paths such as `department.name`, `type=Absence` and `name<-label` as a tree."""
    tree: dict[str, Any] = {}
    for path in paths:
        names, is_renamed, source = path.partition("<-")
        names, is_replaced, text = names.partition("=")
        *above, last = names.split(".")
        place = tree
        for name in above:
            place = place.setdefault(name, {})
        if is_renamed:
            place[last] = SourceField(source)
        else:
            place[last] = text if is_replaced else {}
    return tree


def project_answer(operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer of an operation with the fields of its projection."""
    found: dict[str, Any] = {
        "data": project_value(body["data"], parse_fields(operation.projection))
    }
    if operation.pages:
        found["pagination"] = dict(body["pagination"])
    if also := parse_fields(operation.also_projection):
        found |= project_value(body, also)
    return found


def project_value(given: Any, listed: Fields | str) -> Any:
    """Returns a value with the listed fields; a list with those of each of its members."""
    if isinstance(listed, str):
        return listed
    if isinstance(given, str):
        return redact(given)
    if isinstance(given, (list, tuple)):
        return [project_value(one, listed) for one in given]
    if not listed or given is None:
        return given
    return {name: _project_field(given, name, inner) for name, inner in listed.items()}


def _project_field(given: Mapping[str, Any], name: str, listed: Fields | str | SourceField) -> Any:
    if isinstance(listed, SourceField):
        return project_value(given[listed.name], {})
    return project_value(given[name], listed)


def project_schema(described: Mapping[str, Any], listed: Fields | str) -> dict[str, Any]:
    """Returns the JSON Schema of a value with the fields of a projection."""
    if isinstance(listed, str):
        return {"type": "string", "const": listed}
    if described.get("type") == "array":
        return {**described, "items": project_schema(described["items"], listed)}
    if not listed:
        return dict(described)
    if "oneOf" in described:
        inner = (
            project_schema(one, listed) if _is_object(one) else one for one in described["oneOf"]
        )
        return {"oneOf": list(inner)}
    properties = {
        name: (
            described["properties"][inner.name]
            if isinstance(inner, SourceField)
            else project_schema(described["properties"][name], inner)
        )
        for name, inner in listed.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _is_object(described: Mapping[str, Any]) -> bool:
    return described.get("type") == "object"
