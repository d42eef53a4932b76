"""The port to approvals, bound once at start-up (`halo_mcp/bindings.py`).

The gate and the pipeline know no more of approvals than this.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from oauth.principal import Principal
from oauth.scopes import ScopeSet
from tools_registry.api import BoundCustomer, Guarded, Json, Outgoing, RequestedApproval


@dataclass(frozen=True, slots=True)
class Approval:
    """An approved request whose call is being executed at this moment.

    `claim` proves that the execution was begun. `requested_with` is the tool that made the request:
    its switches and its scope are checked again. `scope` is what the requester's grant or key
    permits now, None once it has ended.
    """

    request_id: UUID
    claim: UUID
    requested_with: Guarded
    scope: ScopeSet | None


class ApprovalStore(Protocol):
    def request(
        self,
        requester: Principal,
        surface: str,
        requested_with: Guarded,
        customer: BoundCustomer | None,
        *,
        tool: str,
        arguments: Mapping[str, Json],
        summary: str,
        why: str = "",
    ) -> RequestedApproval:
        """Requests that a tool of the surface be run, for a call that is bound to this customer.

        `tool` is its name; `requested_with` is the tool that makes the request, which may be the
        same. An identical open request is returned instead of another. Raises LookupError for a
        tool that an approval cannot allow, ToolFailure for arguments that it does not take and for
        too many open requests.
        """
        ...

    def result_meta(self, requested: RequestedApproval) -> Mapping[str, Json]:
        """What the card of a request shows, for clients that show one (`meta_keys.APPROVAL`)."""
        ...

    def is_executing(self, approval: Approval, tool: Guarded) -> bool:
        """Whether this very call was approved and its execution has begun under this claim."""
        ...

    def is_unchanged(self, approval: Approval, outgoing: Outgoing | None) -> bool:
        """Whether the call would send what was approved, and nothing of the request has changed."""
        ...


_bound: list[ApprovalStore] = []


def bind(store: ApprovalStore) -> None:
    _bound[:] = [store]


def store() -> ApprovalStore:
    return _bound[0]
