"""The surfaces of this server by name, for what outlives a request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from tools_registry.pipeline.invocation import Surface

# The surface of the workspace server, which the pages of this product are about.
WORKSPACE_NAME: Final = "workspace"


@dataclass(frozen=True, slots=True)
class SurfaceFamily:
    """Surfaces that are alike: a single one, or one for each row of a table, as for each project.

    A single surface has the name of its family. The others have the key of their row behind it and
    a colon. Calls and requests for approval have the name in their column `surface`.
    """

    name: str

    def name_of(self, key: str) -> str:
        """Returns the name of the surface of a row."""
        return f"{self.name}:{key}"

    def key_of(self, surface_name: str) -> str:
        """Returns the key in the name of a surface, empty for surfaces of other families."""
        family, _colon, key = surface_name.partition(":")
        return key if family == self.name else ""

    def condition(self, key: str = "") -> Q:
        """Returns the condition for calls and requests of the surface of a row, or of any row."""
        return Q(surface=self.name_of(key)) if key else Q(surface__startswith=self.name_of(""))


_mounted: dict[str, Surface] = {}
# How the surface of a row is found by its key.
_families: dict[SurfaceFamily, Callable[[str], Surface | None]] = {}


def family_of(surface_name: str) -> SurfaceFamily:
    """Returns the family of the surface of this name."""
    return SurfaceFamily(surface_name.partition(":")[0])


def mount_family(family: SurfaceFamily, find_by_key: Callable[[str], Surface | None]) -> None:
    """Have the surfaces of rows found by a function of the key; called once at start-up."""
    _families[family] = find_by_key


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
    family = family_of(name)
    key, find_by_key = family.key_of(name), _families.get(family)
    return find_by_key(key) if key and find_by_key else _mounted.get(name)
