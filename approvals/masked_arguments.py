"""Arguments as people are shown them: with the texts of secrets masked, and nothing else changed.

A secret is what the schema of a tool declares as one: by its format, or by a name that the schema
has. A name that a caller has chosen masks nothing, so that nobody hides what they request by its
name. The schema is that of the tool on its surface, unless the surface, or the family of surfaces,
binds another place where it is found.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from approvals.models import ApprovalRequest
from tools_registry.api.declared_members import SchemaPlace
from tools_registry.pipeline import surface as surfaces

MASK: Final = "*** (text, {count} characters)"
# Longer texts could say anything: nobody approves what they cannot read.
MAX_MASKED: Final = 200
MAX_ALL_MASKED: Final = 1_000
UNDECLARED: Final = "  (a name that is not in the API's description)"
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
    def __call__(self, request: ApprovalRequest) -> Mapping[str, Any] | None:
        """Returns the input schema of the tool of a request, None if it does not exist."""
        ...


_schemas: Final[dict[str, SchemaOf]] = {}


@dataclass(slots=True)
class MaskedArguments:
    """The arguments of a request with secrets masked.

    `undeclared` are the JSON Pointers (RFC 6901) of members whose names the schema does not have,
    and `unreadable` those of secrets that are too long, by themselves or together with those before
    them, to be approved without being read. `masked` is how many characters are masked. Without a
    schema the tool has gone, and every text is masked.
    """

    values: dict[str, Any] = field(default_factory=dict)
    undeclared: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    masked: int = 0
    has_schema: bool = True

    def is_declared(self, name: str) -> bool:
        return _below("", name) not in self.undeclared

    def text(self, name: str) -> str:
        """Returns the value of an argument as text, with undeclared names marked."""
        value = self.values[name]
        return value if isinstance(value, str) else "\n".join(self._lines(value, _below("", name)))

    def full_text(self) -> str:
        """Returns all arguments as JSON, with every character beyond ASCII escaped."""
        return "\n".join(self._lines(self.values, ""))

    def _lines(self, value: Any, pointer: str) -> Iterator[str]:
        if isinstance(value, Mapping) and value:
            yield "{"
            for index, (name, item) in enumerate(value.items()):
                below = _below(pointer, name)
                mark = UNDECLARED if below in self.undeclared else ""
                comma = "," if index < len(value) - 1 else ""
                yield from _indented(f"{json.dumps(name)}{mark}: ", self._lines(item, below), comma)
            yield "}"
        elif isinstance(value, list) and value:
            yield "["
            for index, item in enumerate(value):
                comma = "," if index < len(value) - 1 else ""
                yield from _indented("", self._lines(item, _below(pointer, str(index))), comma)
            yield "]"
        else:
            yield json.dumps(value)


def bind(surface: str, schema_of: SchemaOf) -> None:
    """Registers the schemas of a surface or of a family, by its prefix; called at start-up."""
    _schemas[surface] = schema_of


def of(request: ApprovalRequest) -> MaskedArguments:
    """Returns the arguments of a request as an approver reads them."""
    family = request.surface.partition(":")[0]
    schema_of = _schemas.get(request.surface) or _schemas.get(family) or _schema_of_tool
    return masked(request.arguments, schema_of(request))


def masked(arguments: Mapping[str, Any], schema: Mapping[str, Any] | None) -> MaskedArguments:
    """Returns arguments with the secret ones replaced.

    Without a schema every text counts as a secret: the tool has gone, and nothing can be approved.
    """
    made = MaskedArguments(has_schema=schema is not None)
    place = None if schema is None else SchemaPlace.at_root(schema)
    made.values = _members(made, arguments, place, "")
    return made


def is_secret(name: str) -> bool:
    """Returns whether a declared name is that of a secret."""
    words = [word.lower() for word in WORD.findall(name)]
    pair = tuple(words[-2:])
    if pair in PLAIN_PAIRS:
        return False
    return pair in SECRET_PAIRS or (bool(words) and words[-1] in SECRET_WORDS)


def _members(
    made: MaskedArguments, value: Mapping[str, Any], place: SchemaPlace | None, pointer: str
) -> dict[str, Any]:
    declared = None if place is None else place.names
    shown = {}
    for name, item in value.items():
        below = _below(pointer, name)
        is_declared = declared is None or name in declared
        if not is_declared:
            made.undeclared.add(below)
        inner = None if place is None else place.member(name)
        shown[name] = _value(made, item, inner, below, name if is_declared else "")
    return shown


def _value(
    made: MaskedArguments, value: Any, place: SchemaPlace | None, pointer: str, name: str
) -> Any:
    """The value; `name` is that of its member if it is declared."""
    if isinstance(value, Mapping):
        return _members(made, value, place, pointer)
    if isinstance(value, list):
        return [
            _value(made, item, place and place.item(index), _below(pointer, str(index)), name)
            for index, item in enumerate(value)
        ]
    is_password = place is None or "password" in place.formats
    if isinstance(value, str) and (is_password or is_secret(name)):
        made.masked += len(value)
        is_too_long = len(value) > MAX_MASKED or made.masked > MAX_ALL_MASKED
        # Without a schema, what is too long need not be a secret, and is not executed anyway.
        if is_too_long and made.has_schema:
            made.unreadable.add(pointer)
        return MASK.format(count=len(value))
    return value


def _schema_of_tool(request: ApprovalRequest) -> Mapping[str, Any] | None:
    surface = surfaces.find(request.surface)
    tool = surface and surface.catalogue.find(request.tool, request.organization_id)
    return (tool.argument_schema or tool.input_schema) if tool else None


def _below(pointer: str, name: str) -> str:
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def _indented(beginning: str, lines: Iterator[str], end: str) -> Iterator[str]:
    *first, last = lines
    for index, line in enumerate((*first, f"{last}{end}")):
        yield f"  {beginning if not index else ''}{line}"
