"""A program that calls the HR API of a workspace with a key."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.http import HttpResponse
from django.test import Client

from oauth import server_keys
from oauth.models import KeyKind, ServerKey
from workspace.models import Organization

_numbers = count(1)


@dataclass(frozen=True)
class ApiReply:
    """An answer, read as JSON."""

    response: HttpResponse

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def body(self) -> Any:
        return self.response.json()  # type: ignore[attr-defined]  # of the test client

    @property
    def data(self) -> Any:
        assert self.status in {200, 201}, self.body
        return self.body["data"]

    @property
    def error(self) -> Any:
        return self.body["error"]

    @property
    def code(self) -> str:
        return f"{self.status} {self.error['code']}"

    @property
    def fields(self) -> list[str]:
        return [one["field"] for one in self.error["details"]]

    @property
    def etag(self) -> str:
        return str(self.response["ETag"])


class Program:
    """Sends requests with a key of its own, which has all scopes unless some are named."""

    def __init__(
        self,
        organization: Organization,
        *scopes: str,
        kind: str = KeyKind.LIVE,
        secret: str | None = None,
    ) -> None:
        self.organization = organization
        row = server_keys.build_row(
            organization, "Program", scopes or tuple(server_keys.HR_SCOPES), 1, kind
        )
        self.key = server_keys.issue(row, user=None, address="")
        self.secret = self.key.secret if secret is None else secret
        self.address = f"/w/{organization.slug}/api/v1/"

    @property
    def row(self) -> ServerKey:
        return self.key.row

    def get(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> ApiReply:
        # `from` is no name in Python.
        given = {name.removesuffix("_"): value for name, value in query.items()}
        return self.send("GET", path, None, headers, given)

    def post(self, path: str, body: Any = None, **headers: str) -> ApiReply:
        return self.send("POST", path, body, self._changing(headers))

    def patch(self, path: str, body: Any, **headers: str) -> ApiReply:
        return self.send("PATCH", path, body, self._changing(headers))

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        query: dict[str, Any] | None = None,
    ) -> ApiReply:
        every = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        client = Client(raise_request_exception=False)
        every |= headers or {}
        if method == "GET":
            return ApiReply(client.get(self.address + path, query or {}, headers=every))
        is_written = isinstance(body, (str, bytes))
        sent = body if is_written else "" if body is None else json.dumps(body)
        kind = every.pop("Content-Type", "application/json" if sent else "")
        return ApiReply(client.generic(method, self.address + path, sent, kind, headers=every))

    def _changing(self, headers: dict[str, str]) -> dict[str, str]:
        """The headers of a change, with underscores for hyphens; an empty one is left out."""
        given = {"Idempotency_Key": f"request-{next(_numbers)}"} | headers
        return {name.replace("_", "-"): text for name, text in given.items() if text}
