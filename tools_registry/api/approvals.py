"""How a tool requests an approval for a call, instead of making it itself; no Django.

Authors import these from `tools_registry.api`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tools_registry.api.results import Json, ToolFailure


@dataclass(frozen=True, slots=True)
class RequestedApproval:
    """A request for approval as its requester sees it; `status` is "pending" at first.

    `meta` is for the `_meta` of the result: what the card of the request shows. It is empty for
    clients that show no card.
    """

    id: str
    status: str
    summary: str
    meta: Mapping[str, Json] = field(default_factory=dict)


class RequestApproval(Protocol):
    """How a call requests what an admin has to approve."""

    def __call__(
        self, *, tool: str, arguments: Mapping[str, Json], summary: str, why: str = ""
    ) -> RequestedApproval:
        """Request that a tool be run which the gate allows only with an approval.

        `tool` is its name on the same surface, such as "stripe.refund"; the tool that makes the
        request decides which tools it names. `arguments` are that tool's and reach it unchanged,
        `summary` is what the admin reads first and `why` the reason that the requester gives. While
        a request is open, the same request again returns it.
        """
        ...


def cannot_request(**_facts: object) -> RequestedApproval:
    """For calls that cannot request an approval."""
    raise ToolFailure("This tool cannot request an approval.")
