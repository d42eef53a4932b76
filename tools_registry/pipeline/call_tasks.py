"""Tasks: calls that go on without the request that made them, as their callers read them.

A surface whose calls may wait for an approval has a source of them (`McpSurface.tasks`). A task is
no record of its own: it is what a request for approval says of its call.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal, Protocol, TypeAlias
from uuid import UUID

from oauth.principal import Principal
from tools_registry.pipeline.invocation import Failed, Succeeded

# A task of MCP also fails, with an error of JSON-RPC. The calls of this server end with results at
# the revisions that have tasks.
TaskStatus: TypeAlias = Literal["working", "completed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class CallTask:
    """One call of a tool that goes on, or has ended.

    `describe` returns its message, which may take queries. `ends_at` is when it can no longer be
    read, and `poll_seconds` after how many seconds the client polls again. `outcome` is how a
    completed call has ended. `note` is what an audit row says of the task.
    """

    id: str
    tool: str
    status: TaskStatus
    describe: Callable[[], str] = field(repr=False)
    created_at: datetime
    updated_at: datetime
    ends_at: datetime
    poll_seconds: float
    outcome: Succeeded | Failed | None = field(default=None, repr=False)
    note: str = ""

    @cached_property
    def message(self) -> str:
        """What a person reads of the task, made when it is read first; empty for none."""
        return self.describe()


class CallTasks(Protocol):
    """The tasks of a surface. A caller has those that its own connection made there, no others."""

    def find(self, caller: Principal, task_id: str) -> CallTask | None:
        """Returns a task, None for one that the caller does not have."""
        ...

    def list_tasks(self, caller: Principal) -> Sequence[CallTask]:
        """Returns the newest tasks of a caller, without messages and outcomes."""
        ...

    def cancel(self, caller: Principal, task_id: str) -> bool:
        """Ends a task whose call waits for a decision; returns whether it did."""
        ...

    def list_tools(self, organization_id: UUID) -> Collection[str]:
        """Returns the tools whose calls always become tasks for clients that ask for them."""
        ...
