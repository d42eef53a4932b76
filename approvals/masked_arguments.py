"""Arguments as people are shown them: with secrets masked, and nothing else changed.

A secret is known by its name, and by its schema if the surface of the request, or the family of
surfaces, binds where the schema of a tool is found.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from approvals.models import ApprovalRequest

MASK: Final = "***"
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


class SchemaOf(Protocol):
    def __call__(self, request: ApprovalRequest) -> Mapping[str, Any]:
        """Returns the input schema of the tool of a request, empty if it does not exist."""
        ...


_schemas: Final[dict[str, SchemaOf]] = {}


def bind(surface: str, schema_of: SchemaOf) -> None:
    """Registers the schemas of a surface or of a family, by its prefix; called at start-up."""
    _schemas[surface] = schema_of


def of(request: ApprovalRequest) -> dict[str, Any]:
    """Returns the arguments of a request with the secret ones replaced."""
    family = request.surface.partition(":")[0]
    schema_of = _schemas.get(request.surface) or _schemas.get(family)
    return masked(request.arguments, schema_of(request) if schema_of else {})


def masked(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments with the secret ones replaced, by their names and by their schema."""
    parts = schema.get("properties")
    known = parts if isinstance(parts, Mapping) else {}
    return {name: _value(name, value, known.get(name)) for name, value in arguments.items()}


def is_secret(name: str, schema: Any = None) -> bool:
    """Returns whether an argument of this name, or with this schema, is a secret."""
    if isinstance(schema, Mapping) and schema.get("format") == "password":
        return True
    words = [word.lower() for word in WORD.findall(name)]
    pair = tuple(words[-2:])
    if pair in PLAIN_PAIRS:
        return False
    return pair in SECRET_PAIRS or (bool(words) and words[-1] in SECRET_WORDS)


def _value(name: str, value: Any, schema: Any) -> Any:
    if value is not None and not isinstance(value, bool) and is_secret(name, schema):
        return MASK
    if isinstance(value, Mapping):
        return masked(value, schema if isinstance(schema, Mapping) else {})
    if isinstance(value, list):
        items = schema.get("items") if isinstance(schema, Mapping) else None
        return [_value("", one, items) for one in value]
    return value
