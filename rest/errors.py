"""Refusals of the REST APIs, which each API writes in a form of its own.

Nothing here needs Django REST framework: agents are served without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foundation import store_failures


@dataclass(frozen=True, slots=True)
class FieldIssue:
    """What is wrong with one field; an empty `field` is the whole body."""

    field: str
    issue: str


class ApiError(Exception):
    """A refusal; `message` is a sentence for the client's developer."""

    def __init__(
        self,
        status: int,
        message: str,
        details: Sequence[FieldIssue] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.details, self.headers = details, headers or {}


def field_error(status: int, name: str, issue: str) -> ApiError:
    """Returns a refusal because of one field."""
    return ApiError(status, issue, [FieldIssue(name, issue)])


def unavailable() -> ApiError:
    """Returns the refusal of a request that can be sent again as it is."""
    headers = {"Retry-After": str(store_failures.RETRY_AFTER_SECONDS)}
    return ApiError(503, store_failures.MESSAGE, headers=headers)


def internal_error(request_id: str) -> ApiError:
    """Returns the refusal for an unexpected exception, which is logged with this id."""
    return ApiError(500, f"Internal error. Quote {request_id} to your admin.")
