"""What this floor asks of the floors above, bound once at start-up (`halo_mcp/bindings.py`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from oauth.scopes import Scope


@dataclass(frozen=True, slots=True)
class UnlockedTool:
    """A tool as a person reads of it."""

    name: str
    title: str
    description: str


class ScopeExplainer(Protocol):
    """Says what scopes would unlock in an organization at this moment."""

    def tools(
        self, scopes: Iterable[Scope], organization_id: UUID
    ) -> Mapping[Scope, Sequence[UnlockedTool]]:
        """For each scope the tools that a token with it alone could call today; maybe none."""
        ...

    def integration_names(self) -> dict[str, str]:
        """Display names of the integrations, by id."""
        ...


_bound: list[ScopeExplainer] = []


def bind_scope_explainer(explainer: ScopeExplainer) -> None:
    _bound[:] = [explainer]


def scope_explainer() -> ScopeExplainer:
    return _bound[0]
