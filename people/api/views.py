"""The addresses of the HR API. Each view serves the operations of one path."""

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias, cast

import structlog
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from audit import record
from audit.outcomes import ActorKind, Outcome
from audit.record import Actor, Execution
from foundation import ids
from foundation.store_failures import is_store_failure
from oauth.endpoints import replies
from people.api import callers, errors, requests
from people.api.callers import ApiCaller
from people.api.errors import HrApiError
from people.api.operation import Operation
from rest.key_limits import charge_request, limit_headers, read_bearer

log = structlog.get_logger(__name__)

# What declares an operation in the contract; a view knows nothing of the document.
Decorate: TypeAlias = Callable[[Operation], Callable[[Callable[..., Response]], Any]]

SURFACE: Final = "people"
OVER_LIMIT: Final = 429
OUTCOMES: Final[Mapping[int, Outcome]] = {
    400: Outcome.VALIDATION_FAILED,
    404: Outcome.NOT_FOUND,
    429: Outcome.RATE_LIMITED,
    500: Outcome.TOOL_ERROR,
}


class HrView(APIView):
    """Answers the operations of one path."""

    operations: ClassVar[Mapping[str, Operation]] = {}

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.request_id = ids.uuid7_hex()
        self.caller: ApiCaller | None = None
        self.began = time.perf_counter()
        self.secret = read_bearer(request.headers.get("Authorization", ""))
        self.address = replies.address_of(request)
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        charge_request(self.address, callers.bucket_of(self.secret))
        self.caller = callers.authenticate(self.secret, kwargs["workspace"], self.address)

    def answer(self, request: Request, operation: Operation, path: Mapping[str, str]) -> Response:
        caller = cast("ApiCaller", self.caller)
        found = requests.answer(operation, caller, request, path)
        headers = {"ETag": found["etag"]} if found["etag"] else {}
        self._record(caller, operation, path, Outcome.SUCCESS, rows=found["rows"])
        if operation.is_read and requests.is_known(request, found["etag"]):
            return Response(status=304, headers=headers)
        return Response(found["body"], operation.status, headers=headers)

    def get_exception_handler(self) -> Callable[..., Response]:
        return self._refuse

    def _refuse(self, exc: Exception, _context: Mapping[str, Any]) -> Response:
        problem = errors.from_exception(exc, self.request_id)
        operation = self.operations.get(str(self.request.method))
        path = {name: text for name, text in self.kwargs.items() if name != "workspace"}
        if self.caller is not None and operation is not None:
            outcome = OUTCOMES.get(problem.status, Outcome.REFUSED)
            try:
                self._record(self.caller, operation, path, outcome, problem=problem)
            except Exception as failure:
                if not is_store_failure(failure):
                    raise
                problem = errors.from_exception(failure, self.request_id)
        body = problem.body(self.request_id)
        return Response(body, problem.status, headers=dict(problem.headers))

    def finalize_response(
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        found: HttpResponse = super().finalize_response(request, response, *args, **kwargs)
        found["X-Request-ID"] = self.request_id
        found["Cache-Control"] = "private, no-store"
        if self.caller is not None or found.status_code == OVER_LIMIT:
            try:
                for name, value in limit_headers(callers.bucket_of(self.secret)).items():
                    found[name] = value
            except Exception:
                # What was requested is done: the answer goes out without these headers.
                log.exception("limit_headers_missing", request_id=self.request_id)
        return found

    def _record(
        self,
        caller: ApiCaller,
        operation: Operation,
        path: Mapping[str, str],
        outcome: Outcome,
        *,
        problem: HrApiError | None = None,
        rows: int | None = None,
    ) -> None:
        """Writes the audit row, without the body and the values of the query."""
        key = caller.key
        actor = Actor(
            kind=ActorKind.API_KEY,
            organization_id=str(key.organization_id),
            client_id=str(key.key_id),
            client_name=key.name,
            token_id=str(key.key_id),
        )
        call = Execution(
            actor_kind=ActorKind.API_KEY,
            address=self.address,
            surface=SURFACE,
            method=f"{operation.method} /api/v1/{operation.path}",
            tool=operation.id,
            arguments={**path, "parameters": sorted(self.request.query_params)[:20]},
            request_id=self.request_id,
            outcome=outcome,
            reason=problem.code if problem else "",
            duration_us=int((time.perf_counter() - self.began) * 1_000_000),
            row_count=rows,
        )
        record.insert_call(actor, call)


def view_of(operations: Mapping[str, Operation], decorate: Decorate) -> type[HrView]:
    """Returns the view of a path, with a method for each of its operations."""
    handlers = {
        method.lower(): decorate(operation)(_handler(operation))
        for method, operation in operations.items()
    }
    return type("HrPathView", (HrView,), {"operations": operations, **handlers})


def _handler(operation: Operation) -> Callable[..., Response]:
    def handle(view: HrView, request: Request, workspace: str, **path: str) -> Response:  # noqa: ARG001  read by `initial`
        return view.answer(request, operation, path)

    return handle
