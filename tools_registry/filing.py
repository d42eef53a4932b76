"""How a tool files a request for an admin to decide on, instead of acting itself; no Django.

Authors import these from `tools_registry.types`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tools_registry.results import Json, ToolFailure


@dataclass(frozen=True, slots=True)
class Filed:
    """A billing request as whoever asked for it may know it; `status` is "pending" at first."""

    id: str
    status: str
    summary: str


class Billing(Protocol):
    """Where a call files what an admin has to approve."""

    def request(
        self, *, perform: str, arguments: Mapping[str, Json], summary: str, why: str = ""
    ) -> Filed:
        """Ask that the destructive action `perform` of the same integration be run.

        `arguments` are that action's and reach it unchanged, `summary` is what the admin reads
        first and `why` what the asker says of it. The same request is filed once while it is open.
        """
        ...


class NoBilling:
    """The desk of a call that has none."""

    def request(self, **_facts: object) -> Filed:
        raise ToolFailure("Billing requests cannot be filed from here.")
