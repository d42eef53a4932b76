"""An organization's own app: its pages and its servers, as they call the SDK API."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt
from django.test import Client

from oauth import server_keys
from tests.drivers import grants
from tests.drivers.grants import Grant
from workspace import organizations
from workspace.models import FeatureFlag, Organization

SDK = "/api/sdk/"


@dataclass
class IngestionAnswer:
    status: int
    json: Any
    headers: Mapping[str, str]

    @property
    def refusal(self) -> tuple[int, str | None]:
        """The status, and the field that is concerned."""
        return self.status, self.json.get("field")


@dataclass
class App:
    """Sends requests with its own headers; `page` and `server` return one with others."""

    grant: Grant
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def organization(self) -> Organization:
        return self.grant.organization

    def page(self, user_id: str | None = None, **claims: Any) -> "App":
        """A page with the widget key, and with an identity token if it names somebody."""
        headers = {"X-Api-Key": self.organization.widget_key}
        if user_id is not None:
            token = self.token({"user_id": user_id, "exp": time.time() + 60, **claims})
            headers["Authorization"] = f"Bearer {token}"
        return App(self.grant, headers)

    def bearing(self, token: str) -> "App":
        """A page with the widget key and this token."""
        key = {"X-Api-Key": self.organization.widget_key}
        return App(self.grant, key | {"Authorization": f"Bearer {token}"})

    def server(self, *scopes: str) -> "App":
        """A server with a new key."""
        row = server_keys.build_row(
            self.organization, "Test", scopes or tuple(server_keys.SDK_SCOPES), 1
        )
        key = server_keys.issue(row, user=self.grant.user, address="192.0.2.1")
        return App(self.grant, {"Authorization": f"Bearer {key.secret}"})

    def token(self, claims: Mapping[str, Any], *, algorithm: str = "HS256") -> str:
        """A token that the organization's own server signs."""
        secret = organizations.identity_secret(self.organization)
        assert secret is not None
        return jwt.encode(dict(claims), secret, algorithm=algorithm)

    def trust_pages(self) -> None:
        """Switch identity verification off."""
        FeatureFlag.objects.create(
            organization=self.organization, name="identity_verification", enabled=False
        )

    def post(self, where: str, body: Any = None, **headers: str) -> IngestionAnswer:
        sent = json.dumps({} if body is None else body)
        return self.send("POST", where, sent.encode(), **headers)

    def send(
        self, method: str, where: str, body: bytes, kind: str = "application/json", **headers: str
    ) -> IngestionAnswer:
        given = self.headers | {name.replace("_", "-"): text for name, text in headers.items()}
        response = Client().generic(method, SDK + where, body, content_type=kind, headers=given)
        return IngestionAnswer(response.status_code, json.loads(response.content), response.headers)


def create_app() -> App:
    """The app of a new organization; without headers it has no key."""
    return App(grants.make_grant())
