"""Serializes tasks: calls that go on without their request, in the form of each revision.

At 2025-11-25 a client asks for a task in a call. At 2026-07-28 the extension Tasks has the server
decide, for clients that declare it with the call. Source: MCP 2025-11-25, basic/utilities/tasks;
SEP-2663, modelcontextprotocol/ext-tasks, specification/draft/tasks.md.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol

from mcp_protocol.errors import INVALID_PARAMS, METHOD_NOT_FOUND, ProtocolError, missing_capability
from mcp_protocol.meta_keys import IMMEDIATE_RESPONSE, META, RELATED_TASK
from mcp_protocol.revisions import MODERN, Revision
from mcp_protocol.shapes import complete, page_result
from mcp_protocol.strict_json import JsonObject

EXTENSION: Final = "io.modelcontextprotocol/tasks"
# The revision at which a client asks for a task in a call, and reads its result apart.
REQUESTED: Final = frozenset({Revision.V2025_11_25})
# The names of the lifetime and of the interval between two looks, both in milliseconds.
_TIMES: Final[Mapping[Revision, tuple[str, str]]] = {
    Revision.V2025_11_25: ("ttl", "pollInterval"),
    Revision.V2026_07_28: ("ttlMs", "pollIntervalMs"),
}


class TaskFacts(Protocol):
    """What a client reads of a task; `ends_at` is when the server may forget it."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def updated_at(self) -> datetime: ...
    @property
    def ends_at(self) -> datetime: ...
    @property
    def poll_seconds(self) -> float: ...


def new_task_result(task: TaskFacts, revision: Revision) -> JsonObject:
    """Returns the result of a call that became a task (CreateTaskResult)."""
    if revision in MODERN:
        return complete(_members(task, revision), revision) | {"resultType": "task"}
    # The host may give the message to its model, whose turn goes on.
    meta = {META: {IMMEDIATE_RESPONSE: task.message}} if task.message else {}
    return {"task": _members(task, revision), **meta}


def task_result(
    task: TaskFacts, revision: Revision, result: JsonObject | None = None
) -> JsonObject:
    """Returns the result of tasks/get, and of tasks/cancel at 2025-11-25.

    `result` is that of the call once it has ended; clients of 2025-11-25 read it apart.
    """
    inlined = {} if result is None else {"result": result}
    return complete(_members(task, revision) | inlined, revision)


def add_related_task(result: JsonObject, task_id: str) -> JsonObject:
    """Returns the result of a call as tasks/result returns it: with the id of its task."""
    return {**result, META: {**result.get(META, {}), RELATED_TASK: {"taskId": task_id}}}


def tasks_list_result(
    tasks: Sequence[TaskFacts], revision: Revision, next_cursor: str | None
) -> JsonObject:
    """Returns one page of tasks."""
    return page_result("tasks", [_members(task, revision) for task in tasks], revision, next_cursor)


def not_declared_error() -> ProtocolError:
    """Returns the error for a client that did not declare the extension with its request."""
    return missing_capability({"extensions": {EXTENSION: {}}})


def no_task_error() -> ProtocolError:
    """Returns the error for a call that asks for a task and does not wait.

    Source: MCP 2025-11-25, basic/utilities/tasks, Tool-Level Negotiation.
    """
    message = "This call does not wait for an approval, so it cannot be a task."
    return ProtocolError(METHOD_NOT_FOUND, f"{message} Make it again without `task`.")


def unknown_task() -> ProtocolError:
    """Returns the error for a task that does not exist for the caller, or exists no more."""
    message = "Unknown task, or its time is over."
    return ProtocolError(INVALID_PARAMS, message, data={"field": "taskId"})


def _members(task: TaskFacts, revision: Revision) -> JsonObject:
    lifetime, interval = _TIMES[revision]
    return {
        "taskId": task.id,
        "status": task.status,
        **({"statusMessage": task.message} if task.message else {}),
        "createdAt": _timestamp(task.created_at),
        "lastUpdatedAt": _timestamp(task.updated_at),
        lifetime: round((task.ends_at - task.created_at).total_seconds() * 1_000),
        interval: round(task.poll_seconds * 1_000),
    }


def _timestamp(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
