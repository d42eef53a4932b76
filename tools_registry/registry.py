"""Which tools there are. One file adds a toolset; no list anywhere names it.

A source answers for one organization: native toolsets are the same for all, imported documents
and external servers (later) are not. Another organization's tool is an unknown name.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Protocol
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured

from tools_registry import integrations, sources
from tools_registry.types import Tool, Toolset


class Source(Protocol):
    """Where tools come from."""

    def find(self, name: str, organization_id: UUID) -> Tool | None: ...

    def tools(self, organization_id: UUID) -> Sequence[Tool]: ...


class ToolsetSource:
    """The tools of toolsets that are part of the code, the same for every organization."""

    def __init__(self, toolsets: Iterable[Toolset]) -> None:
        self.toolsets = tuple(toolsets)
        self._by_name: Mapping[str, Tool] = {
            tool.name: tool for toolset in self.toolsets for tool in toolset.tools
        }

    def find(self, name: str, organization_id: UUID) -> Tool | None:  # noqa: ARG002  the port's
        return self._by_name.get(name)

    def tools(self, organization_id: UUID) -> Sequence[Tool]:  # noqa: ARG002  the port's
        return tuple(self._by_name.values())


def find(name: str, organization_id: UUID) -> Tool | None:
    """The tool of this name as one organization sees it."""
    found = (source.find(name, organization_id) for source in _sources())
    return next((tool for tool in found if tool is not None), None)


def tools(organization_id: UUID) -> list[Tool]:
    """Every tool of an organization, before the gate, in an order that never changes by itself.

    Clients cache prompts by it, so integrations and names sort, and built-in tools come first.
    """
    found = (tool for source in _sources() for tool in source.tools(organization_id))
    return sorted(found, key=lambda tool: (tool.integration, tool.name))


def native_toolsets() -> tuple[Toolset, ...]:
    """The toolsets of the code. Raises ImproperlyConfigured for a file that declares none."""
    return _native().toolsets


def integration_names() -> dict[str, str]:
    """Display names of the native integrations, by id."""
    named = (toolset for toolset in native_toolsets() if toolset.integration)
    return {toolset.integration: toolset.title for toolset in named}


@contextmanager
def including(*toolsets: Toolset) -> Iterator[None]:
    """Further toolsets for as long as the block runs: fixture tools of tests come in here."""
    extra = ToolsetSource(toolsets)
    _extra.append(extra)
    try:
        yield
    finally:
        _extra.remove(extra)


_extra: list[Source] = []


def _sources() -> tuple[Source, ...]:
    return (_native(), *_extra)


@cache
def _native() -> ToolsetSource:
    return ToolsetSource((*_toolsets_in(sources), *_toolsets_in(integrations)))


def _toolsets_in(package: ModuleType) -> Iterator[Toolset]:
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        toolset = getattr(importlib.import_module(module.name), "TOOLSET", None)
        if not isinstance(toolset, Toolset):
            raise ImproperlyConfigured(f"{module.name} declares no TOOLSET.")
        yield toolset
