"""One request of the HR API: checks, the operation, and the headers of the answer."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from people.api.callers import ApiCaller
from people.api.errors import HrApiError
from people.api.operation import CheckedCall, Operation
from rest import etags, idempotency
from rest.errors import FieldIssue
from rest.idempotency import CallerKey
from rest.serializers import validate

# Printable ASCII.
IDEMPOTENCY_KEY: Final = re.compile(r"[ -~]{8,255}")


def answer(
    operation: Operation, caller: ApiCaller, request: Request, path: Mapping[str, str]
) -> Mapping[str, Any]:
    """Runs an operation; returns its `body`, `etag` and `rows`. Raises what errors.py knows.

    A request with the Idempotency-Key of an earlier one gets the answer of that one.
    """
    if operation.scope and operation.scope not in caller.key.scopes:
        raise HrApiError("permission_denied", f"The key needs the scope {operation.scope}.")
    query = validate_values(operation.query, _single(request))
    body = validate_values(operation.request, {} if operation.is_read else request.data)
    call = CheckedCall(
        organization_id=caller.records_of,
        key=caller.key,
        path=path,
        query=query,
        body=body,
        if_match=_if_match(operation, request),
    )
    if operation.dry:
        return _run_dry(operation, call)
    if operation.is_read:
        return _run(operation, call)
    header = request.headers.get(idempotency.HEADER, "")
    _check_key(header)
    sent = [operation.id, request.path, call.if_match, request.data]
    key = CallerKey(
        caller.key.organization_id, api="hr", credential=str(caller.key.key_id), key=header
    )
    return idempotency.run_once(key, sent, lambda: _run(operation, call))


def is_known(request: Request, etag: str) -> bool:
    """Returns whether the caller has this version already (If-None-Match)."""
    return bool(etag) and etags.has_tag(request.headers.get("If-None-Match", ""), etag)


def _run(operation: Operation, call: CheckedCall) -> Mapping[str, Any]:
    found = operation.run(call)
    return {"body": found.body, "etag": found.etag, "rows": operation.rows(found.body)}


def _run_dry(operation: Operation, call: CheckedCall) -> Mapping[str, Any]:
    with transaction.atomic():
        found = _run(operation, call)
        transaction.set_rollback(True)
    return found


def _single(request: Request) -> dict[str, str]:
    """The query parameters; one that is repeated is an error."""
    repeated = [name for name, values in request.query_params.lists() if len(values) > 1]
    if repeated:
        details = [FieldIssue(name, "Send this once.") for name in repeated]
        raise HrApiError("invalid_request", "A parameter is repeated.", details)
    found: dict[str, str] = request.query_params.dict()
    return found


def validate_values(shape: type[Serializer] | None, given: Any) -> Mapping[str, Any]:
    """Returns the values of a query or a body. Raises ApiError and ValidationError."""
    if shape is None:
        if given:
            details = [
                FieldIssue(name[:80], "There is no such field.") for name in list(given)[:20]
            ]
            raise HrApiError("invalid_request", "This address takes no parameters.", details)
        return {}
    return validate(shape, given)


def _if_match(operation: Operation, request: Request) -> str:
    if not operation.on_version:
        return ""
    given: str = request.headers.get("If-Match", "")
    if not given:
        message = "Send the ETag of the record as If-Match."
        raise HrApiError("precondition_required", message)
    return given


def _check_key(header: str) -> None:
    if not header:
        raise HrApiError("idempotency_required", f"Send a new {idempotency.HEADER}.")
    rule = "Send 8 to 255 printable ASCII characters."
    idempotency.check_key(header, IDEMPOTENCY_KEY, rule)
