"""What resources, templates, prompts and mirrored parameters must be: problems in plain words.

The rules that name them, with their ids and hints, are in `checks/__init__.py`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from mcp_protocol.headers import ANNOTATION, HeaderAnnotation, find_annotations
from tools_registry.api import Json, Offer, Prompt, Resource, ResourceTemplate, Skill, Tool, Toolset
from tools_registry.api.uri_templates import compile_template

Problems: TypeAlias = Iterator[str]

OFFER_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
# agentskills.io/specification, name and description.
SKILL_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_SKILL_NAME: Final = 64
MAX_SKILL_DESCRIPTION: Final = 1_024
# What a header can carry so that every client spells it alike (MCP 2026-07-28, server/tools).
MIRRORED_TYPES: Final = ("string", "integer", "boolean")


def subschemas(schema: Json) -> Iterator[Mapping[str, Json]]:
    """Every object in a schema, itself first: a keyword is looked for wherever it may stand."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list | tuple):
            waiting.extend(node)


def unmirrorable(tool: Tool) -> Problems:
    """Annotations that clients drop the whole tool for."""
    found = list(find_annotations(tool.input_schema))
    for one in found:
        yield from _check_annotation(one)
    for name in _twice(str(one.name).lower() for one in found):
        yield f"{ANNOTATION} {name!r} stands at two parameters."
    reachable = {id(one.schema) for one in found}
    for schema in subschemas(tool.input_schema):
        # Below `properties` the word may be a parameter's name, whose value is a schema.
        if not isinstance(schema.get(ANNOTATION, {}), Mapping) and id(schema) not in reachable:
            yield f"{ANNOTATION} {schema[ANNOTATION]!r} cannot be reached through `properties`."


def _check_annotation(one: HeaderAnnotation) -> Problems:
    where = ".".join(one.path)
    if not one.is_token:
        yield f"{ANNOTATION} of {where} is no token of a header's name."
    if one.schema.get("type") not in MIRRORED_TYPES:
        yield f"{ANNOTATION} of {where} is not at a {', '.join(MIRRORED_TYPES)}."


def check_unique(toolsets: Sequence[Toolset]) -> Problems:
    """What two of these toolsets, or one of them twice, call the same."""
    for kind, names in (
        ("resource", [one.uri for each in toolsets for one in each.resources]),
        ("template", [one.uri_template for each in toolsets for one in each.templates]),
        ("prompt", [one.name for each in toolsets for one in each.prompts]),
        ("skill", [one.uri for each in toolsets for one in each.skills]),
    ):
        yield from (f"the {kind} {name!r} is declared twice." for name in _twice(names))


def check_address(offer: Offer) -> Problems:
    """Names and addresses of another form."""
    if not OFFER_NAME.fullmatch(offer.name):
        yield "the name has characters that some client refuses."
    if isinstance(offer, Resource) and not urlsplit(offer.uri).scheme:
        yield f"{offer.uri!r} is no absolute URI."
    if isinstance(offer, ResourceTemplate):
        yield from _check_template(offer.uri_template)
    if isinstance(offer, Skill):
        if len(offer.name) > MAX_SKILL_NAME or not SKILL_NAME.fullmatch(offer.name):
            yield "the name is none of a skill: words in lower case with hyphens between."
        if not 0 < len(offer.description) <= MAX_SKILL_DESCRIPTION:
            yield f"the description of a skill has 1 to {MAX_SKILL_DESCRIPTION} characters."


def _check_template(template: str) -> Problems:
    if not urlsplit(template).scheme:
        yield f"{template!r} is no template of an absolute URI."
    try:
        compile_template(template)
    except ValueError as error:
        yield f"{template!r} cannot be matched: {error}."


def incompletable(offer: Offer) -> Problems:
    """Arguments and completions that do not belong together."""
    if isinstance(offer, Prompt):
        names = _twice(argument.name for argument in offer.arguments)
        yield from (f"the argument {name!r} is declared twice." for name in names)
    if isinstance(offer, ResourceTemplate):
        known = _variables(offer.uri_template)
        unknown = (name for name in offer.completions if name not in known)
        yield from (f"there is no variable {name!r} to complete." for name in unknown)


def _variables(template: str) -> Sequence[str]:
    try:
        return compile_template(template).variables
    except ValueError:
        return ()


def _twice(words: Iterable[str]) -> list[str]:
    return [word for word, times in Counter(words).items() if times > 1]
