"""tasks/get, tasks/update, tasks/cancel, and at 2025-11-25 tasks/result and tasks/list.

A surface without tasks has none of these methods.
"""

from functools import partial
from typing import Final, cast

from audit import record
from audit.outcomes import Outcome
from audit.record import Execution
from mcp_protocol import client_capabilities, failures, shapes, task_shapes
from mcp_protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, method_not_found
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import JsonObject
from tools_registry.endpoint import replies
from tools_registry.endpoint.http import Stream
from tools_registry.endpoint.methods.request import MethodRequest, object_in, text_in
from tools_registry.endpoint.paging import Key
from tools_registry.endpoint.replies import Reply
from tools_registry.endpoint.streams import task_results
from tools_registry.pipeline.call_tasks import CallTask, CallTasks

# In its `params`, at 2025-11-25.
TASK: Final = "task"


def takes_task(request: MethodRequest) -> bool:
    """Whether the caller of a tool accepts a task instead of the result. Raises ProtocolError.

    At 2025-11-25 it asks with `task`, which is ignored at every other revision.
    """
    if request.revision in MODERN:
        return _has_declared(request)
    if request.revision not in task_shapes.REQUESTED or TASK not in request.params:
        return False
    object_in(request.params, TASK)
    return True


def get(request: MethodRequest) -> JsonObject:
    task = _find(request)
    result = _record_and_get_result(request, task) if request.revision in MODERN else None
    return task_shapes.task_result(task, request.revision, cast("JsonObject | None", result))


def update(request: MethodRequest) -> JsonObject:
    """Tasks of this server have no input requests; responses are ignored."""
    object_in(request.params, "inputResponses")
    if "inputResponses" not in request.params:
        raise failures.invalid_field(
            "inputResponses", "`inputResponses` is missing.", "must be an object"
        )
    _find(request)
    return shapes.empty_result(request.revision)


def cancel(request: MethodRequest) -> JsonObject:
    """Withdraw the request of a call that waits; one that was approved cannot be stopped any more.

    At 2026-07-28 that is acknowledged all the same; at 2025-11-25 it is an error.
    """
    task, tasks = _find(request), _tasks(request)
    is_cancelled = tasks.cancel(request.principal, task.id)
    if is_cancelled:
        _record(request, task)
    if request.revision in MODERN:
        return shapes.empty_result(request.revision)
    task = _find(request)
    if not is_cancelled:
        reason = "has ended" if task.status != "working" else "is being executed"
        message = f"The call {reason} and cannot be cancelled."
        raise ProtocolError(INVALID_PARAMS, message, data={"field": "taskId", "reason": reason})
    return task_shapes.task_result(task, request.revision)


def read_result(request: MethodRequest) -> Reply | Stream:
    """The result of the call; while it goes on, a stream that ends with the result."""
    task = _find(request)
    if task.status == "working":
        return task_results.stream(request, partial(_find_reply, request, _tasks(request), task.id))
    return _final_reply(request, task)


def list_tasks(request: MethodRequest) -> JsonObject:
    page = request.page(_tasks(request).list_tasks(request.principal), _key)
    return task_shapes.tasks_list_result(page.things, request.revision, page.next_cursor)


def require_tasks_declared(request: MethodRequest) -> None:
    """Refuse to listen to tasks for a client that does not have the extension.

    Nobody is notified of them: the acknowledgement leaves them out. Raises ProtocolError.
    """
    is_wanted = "taskIds" in request.params["notifications"]
    if is_wanted and request.surface.tasks is not None and not _has_declared(request):
        raise task_shapes.not_declared_error()


def _find_reply(request: MethodRequest, tasks: CallTasks, task_id: str) -> Reply | None:
    """The result of the call, None while it goes on. Its request has no params any more.

    Raises ProtocolError.
    """
    task = tasks.find(request.principal, task_id)
    if task is None:
        raise task_shapes.unknown_task()
    return None if task.status == "working" else _final_reply(request, task)


def _final_reply(request: MethodRequest, task: CallTask) -> JsonObject:
    """The result of a task that has ended. Raises ProtocolError if it was cancelled."""
    if task.status == "cancelled":
        raise ProtocolError(INTERNAL_ERROR, "The task was cancelled.")
    result = _record_and_get_result(request, task)
    if result is None or isinstance(result, ProtocolError):
        raise TypeError(f"the call of task {task.id} has no result")
    return task_shapes.add_related_task(result, task.id)


def _record_and_get_result(request: MethodRequest, task: CallTask) -> Reply | None:
    """The result of a completed task, which is recorded as read; None if it is not completed."""
    organization_id = request.principal.organization_id
    result = replies.task_result(task, organization_id, request.revision, request.surface)
    if result is not None:
        _record(request, task)
    return result


def _find(request: MethodRequest) -> CallTask:
    """The caller's task of this id: that of somebody else is unknown. Raises ProtocolError."""
    tasks = _tasks(request)
    task = tasks.find(request.principal, text_in(request.params, "taskId"))
    if task is None:
        raise task_shapes.unknown_task()
    return task


def _tasks(request: MethodRequest) -> CallTasks:
    tasks = request.surface.tasks
    if tasks is None:
        raise method_not_found(request.method)
    if request.revision in MODERN and not _has_declared(request):
        raise task_shapes.not_declared_error()
    return tasks


def _has_declared(request: MethodRequest) -> bool:
    declared = request.terms.client_capabilities
    return client_capabilities.has_extension(declared, task_shapes.EXTENSION)


def _record(request: MethodRequest, task: CallTask) -> None:
    """Write the audit row of a task that was cancelled, or whose result was read."""
    http = request.http
    call = Execution(
        address=http.address,
        surface=request.surface.name,
        method=request.method,
        tool=task.tool,
        request_id=http.request_id,
        revision=request.revision.value,
        outcome=Outcome.SUCCESS,
        detail=task.note,
    )
    record.insert_call(request.principal, call)


def _key(task: CallTask) -> Key:
    return (task.id,)
