"""The surfaces of this server by name, for what outlives a request."""

from collections.abc import Callable
from typing import Final

from tools_registry.pipeline.invocation import Surface

# The surface of the workspace server, which the pages of this product are about.
WORKSPACE_NAME: Final = "workspace"

_mounted: dict[str, Surface] = {}
# Surfaces of rows, as one for each project, by what their names have before the colon.
_families: dict[str, Callable[[str], Surface | None]] = {}


def mount_family(prefix: str, of: Callable[[str], Surface | None]) -> None:
    """Have the surfaces whose names are `prefix:...` found by a function of the whole name."""
    _families[prefix] = of


def mount(surface: Surface) -> None:
    """Have a surface found by its name; called once for each at start-up."""
    _mounted[surface.name] = surface


def get_mounted(name: str) -> Surface:
    """The surface of this name. Raises KeyError."""
    surface = find(name)
    if surface is None:
        raise KeyError(name)
    return surface


def find(name: str) -> Surface | None:
    """The surface of this name, for what outlives a request: it may not be mounted any more."""
    prefix, colon, _rest = name.partition(":")
    of = _families.get(prefix) if colon else None
    return of(name) if of else _mounted.get(name)
