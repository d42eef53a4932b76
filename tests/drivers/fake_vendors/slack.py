"""Slack on the loopback: a workspace with a few channels, guarded by the published Web API."""

from collections.abc import Mapping
from typing import Any

from tests.drivers.fake_vendors.contract import FORM_TYPE, Breach, FakeVendor, Request, VendorReply

TS = "1503435956.000247"


class Slack(FakeVendor):
    """The bot is in #general and #support; #board exists without it."""

    contract = "slack/web-api-v2.json"

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.url += "/api"
        self.channels = {"general": "C0GENERAL1", "support": "C0SUPPORT1", "board": "C0BOARD001"}
        self.joined = {"C0GENERAL1", "C0SUPPORT1"}
        self.is_bot = True
        self.scopes = "chat:write,channels:read,groups:read"
        self.archived: set[str] = set()
        # How many channels are on one page.
        self.page = 2

    def judge(self, operation: Mapping[str, Any], request: Request) -> None:
        # The contract lists the token as a header; Slack takes it as a bearer token, and a query
        # would end up in logs.
        query = {one["name"] for one in operation["parameters"] if one["in"] == "query"}
        if not set(request.query) <= query - {"token"}:
            raise Breach("something stands in the query")
        fields = {one["name"]: one for one in operation["parameters"] if one["in"] == "formData"}
        if request.method == "GET":
            return
        if request.headers.get("content-type") != FORM_TYPE:
            raise Breach("the body is no form")
        for name, given in request.form.items():
            if name not in fields:
                raise Breach(f"no parameter {name}")
            if fields[name]["type"] == "boolean" and given not in {"true", "false"}:
                raise Breach(f"{name} is no boolean")
        if missing := {n for n, one in fields.items() if one.get("required")} - set(request.form):
            raise Breach(f"without {missing}")

    def response_schema(self, operation: Mapping[str, Any], status: int) -> Any:
        responses = operation["responses"]
        # Slack says failures with 200 too, so an answer may fit either.
        return {"anyOf": [responses[str(status)]["schema"], responses["default"]["schema"]]}

    def unauthorized_reply(self) -> VendorReply:
        return _refusal("invalid_auth")

    def answer(self, request: Request) -> VendorReply:
        if request.path.endswith("/conversations.list"):
            return self._list(request.query)
        if request.method == "GET":
            return VendorReply(
                200,
                {
                    "ok": True,
                    "url": "https://acme.slack.com/",
                    "team": "Acme",
                    "user": "halo",
                    "team_id": "T0ACME001",
                    "user_id": "U0HALO001",
                    **({"bot_id": "B0HALO001"} if self.is_bot else {}),
                },
                {"x-oauth-scopes": self.scopes},
            )
        return self._post(request.form)

    def _list(self, query: Mapping[str, str]) -> VendorReply:
        if "channels:read" not in self.scopes:
            return _refusal("missing_scope")
        start = int(query.get("cursor") or 0)
        names = list(self.channels)[start : start + self.page]
        end = start + self.page
        cursor = str(end) if end < len(self.channels) else ""
        channels = [
            {
                "id": self.channels[name],
                "name": name,
                "is_member": self.channels[name] in self.joined,
                "is_archived": self.channels[name] in self.archived,
            }
            for name in names
        ]
        metadata = {"response_metadata": {"next_cursor": cursor}}
        return VendorReply(200, {"ok": True, "channels": channels, **metadata})

    def _post(self, form: Mapping[str, str]) -> VendorReply:
        wanted = form["channel"]
        named = self.channels.get(wanted.removeprefix("#")) if wanted.startswith("#") else wanted
        if named not in self.channels.values():
            return _refusal("channel_not_found")
        if named not in self.joined:
            return _refusal("not_in_channel")
        if not form.get("text"):
            return _refusal("no_text")
        if len(form["text"]) > 40_000:
            return _refusal("msg_too_long")
        message = {"type": "message", "text": form["text"], "ts": TS, "user": "U0HALO001"}
        return VendorReply(200, {"ok": True, "channel": named, "ts": TS, "message": message})


def _refusal(error: str) -> VendorReply:
    return VendorReply(200, {"ok": False, "error": error})
