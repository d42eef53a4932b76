"""What a toolset must be before the server starts with it, each rule with an id and a hint.

A tool that breaks one of these would be hidden, refused or misread by some client later, far from
the file that is wrong.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004  Django's name
from django.core.exceptions import ImproperlyConfigured

from oauth import scopes
from tools_registry import registry
from tools_registry.api import INTEGRATION_ID, Guarded, Offer, Schema, Tool, Toolset
from tools_registry.api.schemas import validator_of
from tools_registry.checks import connections, flags, offers, schemas

# Of what MCP allows (2025-11-25, server/tools, Tool Names), what every host accepts next to the
# name it gives the server.
TOOL_NAME: Final = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?")
MAX_NAME_LENGTH: Final = 60
# Hosts turn schemas into their model's dialect, and these have no place in some of them.
NOT_AT_TOP: Final = ("anyOf", "oneOf", "allOf", "not", "enum", "if")

Problems: TypeAlias = Iterator[str]


class ToolsetRule(NamedTuple):
    """What a tool or toolset must satisfy; `problems` yields how it does not.

    The id has Django's form: E for an error, which prevents the start, W for a warning.
    """

    id: str
    hint: str
    problems: Callable[[Any], Problems]

    def message(self, text: str) -> CheckMessage:
        level = Warning if ".W" in self.id else Error
        return level(text, hint=self.hint, id=self.id)


@register("tools")
def native_toolsets_are_sound(**_options: Any) -> Sequence[CheckMessage]:
    """Judge the toolsets that are part of the code."""
    try:
        toolsets = registry.native_toolsets()
    except ImproperlyConfigured as missing:
        hint = "Declare `TOOLSET = Toolset(...)` in the file, or move the file elsewhere."
        return [Error(str(missing), hint=hint, id="tools.E001")]
    return list(find_problems(toolsets))


def find_problems(toolsets: Sequence[Toolset]) -> Iterator[CheckMessage]:
    """What is wrong with these toolsets together and one by one."""
    tools = [tool for toolset in toolsets for tool in toolset.tools]
    yield from _messages(ALL_TOOLSETS, toolsets, "The toolsets")
    for toolset in filter(_is_integration, toolsets):
        yield from _messages(EACH_INTEGRATION, toolset, f"The integration {toolset.integration!r}")
    for tool in tools:
        yield from _messages(EACH_TOOL, tool, f"The tool {tool.name!r}")
    for offer in (offer for toolset in toolsets for offer in _offers(toolset)):
        yield from _messages(EACH_OFFER, offer, f"The {type(offer).__name__} {offer.name!r}")


def _offers(toolset: Toolset) -> list[Offer]:
    return [*toolset.resources, *toolset.templates, *toolset.prompts, *toolset.skills]


def _messages(rules: Iterable[ToolsetRule], judged: Any, called: str) -> Iterator[CheckMessage]:
    for rule in rules:
        for problem in rule.problems(judged):
            yield rule.message(f"{called}: {problem}")


def _is_integration(toolset: Toolset) -> bool:
    return bool(toolset.integration)


def _check_unique_names(toolsets: Sequence[Toolset]) -> Problems:
    names = [tool.name for toolset in toolsets for tool in toolset.tools]
    ids = [toolset.integration for toolset in toolsets if toolset.integration]
    # Each alias once for a tool, so that an alias equal to another tool's name is found too.
    aliases = [word for name in set(names) for word in {name, registry.alias(name)}]
    for kind, words in (("the tool", names), ("the alias", aliases), ("the integration", ids)):
        for word, times in Counter(words).items():
            if times > 1:
                yield f"{kind} {word!r} is declared {times} times."


def _check_name(tool: Tool) -> Problems:
    if not TOOL_NAME.fullmatch(tool.name):
        yield "the name has characters or a form that some client refuses."
    if len(tool.name) > MAX_NAME_LENGTH:
        yield f"the name is longer than {MAX_NAME_LENGTH} characters."


def _check_description(offered: Tool | Offer) -> Problems:
    for part in ("title", "description"):
        if not getattr(offered, part).strip():
            yield f"it has no {part}."


def _unportable(tool: Tool) -> Problems:
    yield from (f"the input schema {problem}" for problem in _schema_problems(tool.input_schema))
    if tool.output_schema is not None:
        found = _schema_problems(tool.output_schema)
        yield from (f"the output schema {problem}" for problem in found)


def _schema_problems(schema: Schema) -> Problems:
    if schema.get("type") != "object":
        yield "does not describe an object at its top level."
    yield from (f"has {word} at its top level." for word in NOT_AT_TOP if word in schema)
    for inner in offers.subschemas(schema):
        if "$ref" in inner:
            yield "refers elsewhere with $ref."
        if isinstance(inner.get("type"), list):
            yield "has a list of types."


def _uncompilable(tool: Tool) -> Problems:
    for schema in (tool.input_schema, tool.output_schema or {}):
        try:
            validator_of(schema)
        except (ValueError, TypeError) as error:
            yield f"a schema cannot be used: {str(error).splitlines()[0]}"


def _check_integration(toolset: Toolset) -> Problems:
    if not INTEGRATION_ID.fullmatch(toolset.integration):
        yield "the id is not lower-case letters, digits and underscores after a letter."
    if not toolset.title.strip():
        yield "it has no title."


def _check_scope(offered: Guarded) -> Problems:
    if [str(scope) for scope in scopes.parse(offered.scope)] != [offered.scope]:
        yield f"no token can hold the scope {offered.scope!r}."


ALL_TOOLSETS: Final = (
    ToolsetRule(
        "tools.E002", "Rename one of them, or put them into one file.", _check_unique_names
    ),
    ToolsetRule(
        "tools.E010", "Rename one of them, or put them into one file.", offers.check_unique
    ),
)
CONNECTION_HINT: Final = "Give the Toolset a Connection (docs/develop/writing-an-integration.md)."
SETTING_HINT: Final = "Name it plainly, give it a title and a pattern of Python's `re`."
EACH_INTEGRATION: Final = (
    ToolsetRule(
        "tools.E003", "Give the Toolset an id such as hubspot and a title.", _check_integration
    ),
    ToolsetRule("tools.E012", CONNECTION_HINT, connections.unconnectable),
    ToolsetRule("tools.E013", CONNECTION_HINT, connections.check_connection),
    ToolsetRule("tools.E014", SETTING_HINT, connections.misset),
)
DESCRIBED: Final = ToolsetRule(
    "tools.E005", "Clients show both to people and models.", _check_description
)
SCOPED: Final = ToolsetRule(
    "tools.E008", "Use a scope of the grammar (docs/scopes.md).", _check_scope
)
MIRROR_HINT: Final = "Annotate strings, integers and booleans below `properties` alone."
COMPLETION_HINT: Final = "Name each argument once, and complete what is there."
BOUND_HINT: Final = (
    "Give strings a maxLength, arrays a maxItems of at most 1,000, and name members."
)
DESTRUCTIVE_HINT: Final = (
    "Set `destructive=True`, or say in `not_destructive` why the name misleads."
)
EACH_TOOL: Final = (
    ToolsetRule(
        "tools.E004", "Rename the function: <name> or <integration>.<action>.", _check_name
    ),
    DESCRIBED,
    ToolsetRule("tools.E006", "Spell the schema out as one object of plain types.", _unportable),
    ToolsetRule(
        "tools.E007", "Write JSON Schema 2020-12; patterns without look-around.", _uncompilable
    ),
    SCOPED,
    ToolsetRule("tools.E009", MIRROR_HINT, offers.unmirrorable),
    ToolsetRule("tools.E015", "Set `mutates=True` as well.", flags.check_destructive),
    ToolsetRule(
        "tools.E016", "Set `additionalProperties` to false.", connections.check_closed_schema
    ),
    ToolsetRule("tools.E017", BOUND_HINT, schemas.check_bounds),
    ToolsetRule("tools.E018", "Set `mutates=True` or `read_only=True`.", flags.check_mutates),
    ToolsetRule("tools.W001", DESTRUCTIVE_HINT, flags.unlike_its_name),
)
EACH_OFFER: Final = (
    DESCRIBED,
    SCOPED,
    ToolsetRule("tools.E010", "Give each an absolute URI, or a plain name.", offers.check_address),
    ToolsetRule("tools.E011", COMPLETION_HINT, offers.incompletable),
)
