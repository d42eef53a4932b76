"""Which argument writes which name of a request: no name is written by two of them.

Policies and approvers read arguments, and an API reads names. Everything that writes a name of a
request has it from here, so that a name means one argument. Names are compared as lenient servers
read them: in any case, with brackets and dots as steps, and as PHP changes them.
Source: OWASP Web Security Testing Guide, "HTTP parameter pollution"; CWE-235.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from gateway.openapi.shapes import OpenApiOperation, OperationBody
from gateway.openapi.wire.values import ALL, InvalidArgument, Json
from tools_registry.api.declared_members import SchemaPlace, fold_name

WirePlace: TypeAlias = Literal["path", "query", "header", "cookie", "json", "form"]
Steps: TypeAlias = tuple[str, ...]

# They make another method, or another address, of the request that was decided on.
REWRITING_HEADERS: Final = frozenset(
    {
        *("x-http-method-override", "x-http-method", "x-method-override", "x-original-method"),
        *("x-forwarded-method", "x-original-url", "x-original-uri", "x-rewrite-url"),
        *("x-rewrite-uri", "x-forwarded-uri", "x-forwarded-url", "x-forwarded-path"),
        *("x-forwarded-prefix",),
    }
)
# What frameworks read in the query and in bodies. `_charset_` changes how all values of a form are
# read (RFC 7578 section 4.6).
REWRITING_MEMBERS: Final = REWRITING_HEADERS | {"_method", "_httpmethod", "_charset_"}
ARGUMENT: Final = "the argument "
FIXED: Final = "a parameter that always has the same value"
CREDENTIAL: Final = "the credential"
BRACKETS: Final = re.compile(r"[\[\]]+")
BRACKETS_AND_DOTS: Final = re.compile(r"[\[\].]+")
# What PHP makes an underscore in the name of a parameter.
CHANGED_BY_PHP: Final = re.compile(r"[ .]")
MATRIX: Final = re.compile(r";([^=;/{}]+)")
# Frameworks read the query and the body as one set of parameters.
PARAMETERS: Final = frozenset({"query", "json", "form"})
MAX_SHOWN: Final = 80


@lru_cache(maxsize=4096)
def is_rewriting(place: str, name: str) -> bool:
    """Returns whether a header, a query parameter or a field changes what others of a request mean.

    CGI, and what is like it, does not distinguish a hyphen from an underscore in a header.
    """
    if place == "header":
        return _header(name) in REWRITING_HEADERS
    if place not in {"query", "json", "form", "formData"}:
        return False
    roots = {steps[0] for steps in _readings("form", name)}
    return bool(roots & REWRITING_MEMBERS) or bool(
        {_header(each) for each in roots} & REWRITING_HEADERS
    )


@dataclass(slots=True)
class DeclaredNames:
    """What an operation declares: made once for all of its calls, when one needs it."""

    operation: OpenApiOperation
    _reserved: "_ReservedNames | None" = None
    _schema: SchemaPlace | None = None

    @property
    def reserved_names(self) -> "_ReservedNames":
        """The names of a request."""
        if self._reserved is None:
            self._reserved = _ReservedNames.from_operation(self.operation)
        return self._reserved

    @property
    def schema(self) -> SchemaPlace:
        """The arguments as the document describes them."""
        if self._schema is None:
            self._schema = SchemaPlace.from_schema(self.operation.full_schema)
        return self._schema


@dataclass(slots=True)
class NamesOnWire:
    """The names of one request while it is built.

    A declared name is the document's; a free one was chosen by the caller: a further member of an
    open body or a key of an object. A free name may not be one that the document declares, whether
    or not that has a value.
    """

    of_operation: DeclaredNames
    _declared: dict[tuple[str, str], str] = field(default_factory=dict)
    _free: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fixed = self.of_operation.operation.fixed_query
        self._declared |= {("query", name): FIXED for name, _value in fixed}

    def write(self, place: WirePlace, name: str, owner: str) -> None:
        """Notes a declared name. Raises InvalidArgument if another owner has written it.

        `owner` is that of `owner_of`, or CREDENTIAL.
        """
        self._refuse_rewriting(place, name, owner)
        key = place, _header(name) if place == "header" else name
        before = self._declared.setdefault(key, owner)
        if before != owner:
            raise _same_name(owner, name, before)

    def write_free(self, place: WirePlace, name: str, argument: str) -> None:
        """Notes a free name. Raises InvalidArgument if it is, or may be read as, one of another."""
        self._refuse_rewriting(place, name, owner_of(argument))
        for steps in _readings(place, name):
            if (
                owner := self.of_operation.reserved_names.other_owner(place, steps, argument)
            ) is not None:
                raise _same_name(owner_of(argument), name, owner)
        # Members of JSON are often a map, whose names may differ in their case alone.
        key = place, name if place == "json" else fold_name(name)
        before = self._free.setdefault(key, (argument, name))
        if before != (argument, name):
            other = f"{owner_of(before[0])} as {_quote_name(before[1])}"
            raise _same_name(owner_of(argument), name, other)

    def write_member(self, place: WirePlace, name: str, argument: str) -> None:
        """Notes a member of a body that is one argument: a declared name, else a free one."""
        if name in self.of_operation.schema.member(argument).names:
            self.write(place, name, owner_of(argument))
        else:
            self.write_free(place, name, argument)

    def refuse_other_case(self, arguments: Mapping[str, Json]) -> None:
        """Raises InvalidArgument for a member of an object that is a declared one in another case.

        Servers that bind members to fields in any case would take it for that one.
        """
        for argument, value in arguments.items():
            if isinstance(value, Mapping | list):
                _refuse_other_case(argument, value, self.of_operation.schema.member(argument))

    def _refuse_rewriting(self, place: WirePlace, name: str, owner: str) -> None:
        if is_rewriting(place, name):
            reason = f"writes the name {_quote_name(name)}, which changes how the request is read"
            raise InvalidArgument(_argument(owner), reason)


@dataclass(slots=True)
class _ReservedNames:
    """The names that a document declares, by place and steps, and the steps that lead to them."""

    owners: dict[tuple[str, Steps], set[str]] = field(default_factory=dict)
    below: dict[tuple[str, Steps], set[str]] = field(default_factory=dict)

    @classmethod
    def from_operation(cls, operation: OpenApiOperation) -> "_ReservedNames":
        made = cls()
        for place, name, owner in _declared_names(operation):
            for steps in _readings(place, name):
                made.owners.setdefault((place, steps), set()).add(owner)
                for length in range(1, len(steps)):
                    made.below.setdefault((place, steps[:length]), set()).add(owner)
        return made

    def other_owner(self, place: str, steps: Steps, argument: str) -> str | None:
        """Returns who else owns the name, a part of it, or what it is a part of.

        What lies below a name of the argument itself is that name, which the document may have
        declared in the query and in the body.
        """
        own = owner_of(argument)
        parts = [steps[:length] for length in range(1, len(steps) + 1)]
        is_below = any(own in self.owners.get((place, part), ()) for part in parts)
        places = {place} if is_below or place not in PARAMETERS else PARAMETERS
        found: set[str] = set()
        for each in places:
            found |= self.below.get((each, steps), set())
            found = found.union(*(self.owners.get((each, part), ()) for part in parts))
        return min(found - {own}, default=None)


def owner_of(argument: str) -> str:
    """Returns the owner of a parameter's name: its argument, or none where its value is fixed."""
    return f"{ARGUMENT}{argument}" if argument else FIXED


def place_of(body: OperationBody) -> Literal["json", "form"]:
    return "json" if body.kind == "json" else "form"


def _declared_names(operation: OpenApiOperation) -> Iterator[tuple[str, str, str]]:
    for parameter in operation.parameters:
        yield parameter.place, parameter.name, owner_of(parameter.argument)
    for name, _value in operation.fixed_query:
        yield "query", name, FIXED
    for name in MATRIX.findall(operation.path):
        yield "path", name, FIXED
    body = operation.body
    if body is not None:
        for each in body.fields:
            yield place_of(body), each.name, owner_of(each.argument)
    for alternative in operation.security:
        for scheme in alternative:
            place = scheme.place if scheme.place != "body" else place_of(body) if body else "form"
            yield place, scheme.parameter, CREDENTIAL


def _refuse_other_case(argument: str, value: Json, place: SchemaPlace) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            other = place.find_other_case(name)
            if other is not None:
                reason = (
                    f"has the member {_quote_name(name)}, which is {_quote_name(other)} in another"
                    " case"
                )
                raise InvalidArgument(argument, reason)
            if isinstance(item, Mapping | list):
                _refuse_other_case(argument, item, place.member(name))
    else:
        for index, item in enumerate(value):
            if isinstance(item, Mapping | list):
                _refuse_other_case(argument, item, place.item(index))


def _readings(place: str, name: str) -> set[Steps]:
    """How servers may read a name: as steps into an object."""
    if place == "header":
        return {(_header(name),)}
    folded = fold_name(name)
    if place == "json":
        return {(folded,)}
    folded = folded.strip()
    root, bracket, rest = folded.partition("[")
    if "]" not in rest:
        root, bracket, rest = folded.replace("[", "_"), "", ""
    by_php = f"{CHANGED_BY_PHP.sub('_', root)}{bracket}{rest}"
    return {_steps(BRACKETS_AND_DOTS, folded), _steps(BRACKETS, by_php)}


def _steps(separator: re.Pattern[str], name: str) -> Steps:
    return tuple(filter(None, separator.split(name))) or ("",)


def _header(name: str) -> str:
    return name.casefold().replace("_", "-")


def _same_name(owner: str, name: str, other: str) -> InvalidArgument:
    reason = f"writes the name {_quote_name(name)}, which belongs to {other}"
    return InvalidArgument(_argument(owner), reason)


def _argument(owner: str) -> str:
    """The argument that an error is about."""
    name = owner.removeprefix(ARGUMENT)
    return ALL if name == owner else name


def _quote_name(name: str) -> str:
    return repr(name[:MAX_SHOWN])
