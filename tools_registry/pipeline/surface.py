"""A surface: one mounted endpoint, as data.

The pipeline and the protocols read what differs between endpoints from here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from oauth.credentials import Verifiers
from tools_registry.pipeline import gate
from tools_registry.pipeline.gate import Layers
from tools_registry.registry import Catalogue

if TYPE_CHECKING:  # an invocation has a surface
    from tools_registry.pipeline.invocation import FinalOutcome, PreparedCall

# The surface of the workspace server, which the pages of this product are about.
WORKSPACE_NAME: Final = "workspace"


class Review(Protocol):
    def __call__(self, call: "PreparedCall") -> "PreparedCall | FinalOutcome":
        """Returns a call that every layer allows, to run it, or how it ends without being run.

        Called again with `is_charged` set for a call that has waited. The invocation has an
        `approval` if it is executed because it was approved. Raises ToolFailure.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surface:
    """What every protocol needs to know of an endpoint.

    `credentials` are the kinds it accepts, `catalogue` is what it offers, and `layers` are asked
    about each call, in this order. An approved request may run what a layer in `approvable`
    refuses. `review` is the last check of a call, which depends on its arguments. `recorded`
    returns what the audit row of a call keeps of its arguments, by its tool, None for an unknown
    one; without it, all of them.
    """

    name: str
    credentials: Verifiers
    catalogue: Catalogue
    layers: Layers = field(default_factory=lambda: gate.LAYERS)
    approvable: frozenset[str] = frozenset({"destructive"})
    review: Review | None = None
    recorded: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]] | None = None


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
