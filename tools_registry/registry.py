"""Which tools, resources and prompts there are. One file adds a toolset; no list names it.

A source answers for one organization: native toolsets are the same for all, imported documents
and external servers (later) are not. Another organization's tool is an unknown name.
"""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from operator import attrgetter
from typing import Final, Protocol
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tools_registry import icons
from tools_registry.api import (
    Guarded,
    Prompt,
    Resource,
    ResourceTemplate,
    Skill,
    Tool,
    Toolset,
    VendorConnection,
)

# Far above what toolsets hold; a bound on what sources bring later.
MAX_CACHED_ALIASES: Final = 8_192


class ToolSource(Protocol):
    """Where tools, resources and prompts come from. A tool is found by its alias too.

    A tool that has not changed is the same object each time: its descriptor is cached by the object
    (`tools_registry/endpoint/descriptors.py`).
    """

    def find(self, name: str, organization_id: UUID) -> Tool | None: ...

    def tools(self, organization_id: UUID) -> Sequence[Tool]: ...

    def find_resource(self, uri: str, organization_id: UUID) -> Resource | None: ...

    def resources(self, organization_id: UUID) -> Sequence[Resource]: ...

    def templates(self, organization_id: UUID) -> Sequence[ResourceTemplate]: ...

    def prompts(self, organization_id: UUID) -> Sequence[Prompt]: ...

    def skills(self, organization_id: UUID) -> Sequence[Skill]: ...


class ToolsetSource:
    """What toolsets offer that are part of the code, the same for every organization."""

    def __init__(self, toolsets: Iterable[Toolset]) -> None:
        self.toolsets = tuple(toolsets)
        self.connections: Mapping[str, VendorConnection | None] = {
            toolset.integration: toolset.connection for toolset in self.toolsets
        }
        self._tools: Mapping[str, Tool] = {
            tool.name: icons.with_icon_of_integration(tool)
            for toolset in self.toolsets
            for tool in toolset.tools
        }
        self._by_name: Mapping[str, Tool] = {**_index_by_alias(self._tools), **self._tools}
        self._resources: Mapping[str, Resource] = {
            resource.uri: resource for toolset in self.toolsets for resource in toolset.resources
        }
        self._templates = [one for toolset in self.toolsets for one in toolset.templates]
        self._prompts = [one for toolset in self.toolsets for one in toolset.prompts]
        self._skills = [one for toolset in self.toolsets for one in toolset.skills]

    def find(self, name: str, organization_id: UUID) -> Tool | None:  # noqa: ARG002  the port's
        return self._by_name.get(name)

    def tools(self, organization_id: UUID) -> Sequence[Tool]:  # noqa: ARG002  the port's
        return tuple(self._tools.values())

    def find_resource(self, uri: str, organization_id: UUID) -> Resource | None:  # noqa: ARG002  the port's
        if uri in self._resources:
            return self._resources[uri]
        families: Sequence[ResourceTemplate | Skill] = [*self._templates, *self._skills]
        found = (family.find_resource(uri) for family in families)
        return next((resource for resource in found if resource is not None), None)

    def resources(self, organization_id: UUID) -> Sequence[Resource]:  # noqa: ARG002  the port's
        return tuple(self._resources.values())

    def templates(self, organization_id: UUID) -> Sequence[ResourceTemplate]:  # noqa: ARG002  the port's
        return self._templates

    def prompts(self, organization_id: UUID) -> Sequence[Prompt]:  # noqa: ARG002  the port's
        return self._prompts

    def skills(self, organization_id: UUID) -> Sequence[Skill]:  # noqa: ARG002  the port's
        return self._skills


def alias(name: str) -> str:
    """The name of a tool for hosts that refuse dots."""
    return name.replace(".", "_")


@lru_cache(maxsize=MAX_CACHED_ALIASES)
def alias_tool(tool: Tool) -> Tool:
    """The same tool under its alias; the same object each time."""
    return replace(tool, name=alias(tool.name))


class Catalogue:
    """What sources offer together: the tools, resources and prompts of one surface.

    `sources` returns them in the order in which they are asked.
    """

    def __init__(self, sources: Callable[[], Sequence[ToolSource]]) -> None:
        self._sources = sources

    def find(self, name: str, organization_id: UUID) -> Tool | None:
        """The tool of this name, or of this alias, as one organization sees it."""
        for source in self._sources():
            if (tool := source.find(name, organization_id)) is not None:
                return tool
        return None

    def tools(self, organization_id: UUID) -> list[Tool]:
        """Every tool of an organization, before the gate, in an order that never changes by itself.

        Clients cache prompts by it, so integrations and names sort, and built-in tools come first.
        """
        found = (tool for source in self._sources() for tool in source.tools(organization_id))
        return sorted(found, key=_PLACE)

    def find_resource(self, uri: str, organization_id: UUID) -> Resource | None:
        """The resource at this URI as one organization sees it: a declared one, or a template's."""
        found = (source.find_resource(uri, organization_id) for source in self._sources())
        return next((resource for resource in found if resource is not None), None)

    def resources(self, organization_id: UUID) -> list[Resource]:
        """Every declared resource, before the gate; those of templates are not among them."""
        return [one for source in self._sources() for one in source.resources(organization_id)]

    def templates(self, organization_id: UUID) -> list[ResourceTemplate]:
        """Every resource template, before the gate."""
        return [one for source in self._sources() for one in source.templates(organization_id)]

    def prompts(self, organization_id: UUID) -> list[Prompt]:
        """Every prompt, before the gate."""
        return [one for source in self._sources() for one in source.prompts(organization_id)]

    def skills(self, organization_id: UUID) -> list[Skill]:
        """Every skill, before the gate. Their files are in no list of resources."""
        return [one for source in self._sources() for one in source.skills(organization_id)]

    def find_prompt(self, name: str, organization_id: UUID) -> Prompt | None:
        """The prompt of this name as one organization sees it."""
        return next((one for one in self.prompts(organization_id) if one.name == name), None)


def native_toolsets() -> tuple[Toolset, ...]:
    """The toolsets of the code. Raises ImproperlyConfigured for a file that declares none."""
    return _native().toolsets


def integration_names() -> dict[str, str]:
    """Display names of the integrations, by id."""
    return {toolset.integration: toolset.title for toolset in integration_toolsets()}


def integration_toolsets() -> list[Toolset]:
    """The toolset of every integration there is, by id."""
    found = (toolset for source in _toolset_sources() for toolset in source.toolsets)
    named = (toolset for toolset in found if toolset.integration)
    return sorted(named, key=lambda toolset: toolset.integration)


def offers_of(integration: str) -> list[Guarded] | None:
    """Every tool, resource, template and prompt of an integration; None for an unknown id."""
    found = [one for one in integration_toolsets() if one.integration == integration]
    if not found:
        return None
    return [offer for toolset in found for offer in _offers(toolset)]


def connection(integration: str) -> VendorConnection | None:
    """How this integration is connected; None for one that is not, or is unknown."""
    for source in _toolset_sources():
        if integration in source.connections:
            return source.connections[integration]
    return None


def title(integration: str) -> str:
    """What an integration is called on pages; its id where nobody named it."""
    found = (one.title for one in _toolsets() if one.integration == integration)
    return next(found, "") or integration


@contextmanager
def including(*toolsets: Toolset) -> Iterator[None]:
    """Further toolsets for as long as the block runs: what only tests offer comes in here."""
    extra = ToolsetSource(toolsets)
    _extra.append(extra)
    try:
        yield
    finally:
        _extra.remove(extra)


def _offers(toolset: Toolset) -> Iterator[Guarded]:
    yield from toolset.tools
    yield from toolset.resources
    yield from toolset.templates
    yield from toolset.prompts
    yield from toolset.skills


def _index_by_alias(tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
    # An alias that two tools share names neither: a guess could write to the wrong place.
    shared = Counter(alias(name) for name in tools)
    return {alias(name): tool for name, tool in tools.items() if shared[alias(name)] == 1}


_PLACE: Final = attrgetter("integration", "name")

_extra: list[ToolsetSource] = []


def _toolsets() -> Iterator[Toolset]:
    return (one for source in _toolset_sources() for one in source.toolsets)


def _toolset_sources() -> tuple[ToolsetSource, ...]:
    return (_native(), *_extra)


# What the workspace server offers, and with it every page about its tools.
WORKSPACE_CATALOGUE: Final = Catalogue(_toolset_sources)


@cache
def _native() -> ToolsetSource:
    found = (toolset for package in settings.TOOL_PACKAGES for toolset in _toolsets_in(package))
    return ToolsetSource(found)


def _toolsets_in(package: str) -> Iterator[Toolset]:
    path = importlib.import_module(package).__path__
    for module in pkgutil.iter_modules(path, f"{package}."):
        if module.ispkg:
            continue
        toolset = getattr(importlib.import_module(module.name), "TOOLSET", None)
        if not isinstance(toolset, Toolset):
            raise ImproperlyConfigured(f"{module.name} declares no TOOLSET.")
        yield toolset
