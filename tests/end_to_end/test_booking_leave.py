"""The official client books leave: it looks up, prepares, and a person approves at the client."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx2
import pytest
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client

from tests.drivers.evaluation import evaluate
from tests.drivers.server import Server

pytestmark = pytest.mark.process

MODES = ["legacy", "2026-07-28"]
PREPARE = """
import json, secrets
from django.utils import timezone
from oauth import server_keys
from oauth.models import KeyKind
from people import seeding
from people.models import TimeOff
from workspace.models import Organization
slug = f"booking-{secrets.token_hex(4)}"
office = Organization.objects.create(name="Booking", slug=slug, widget_key=slug)
seeding.seed(office, timezone.localdate())
row = server_keys.build_row(office, "Client", tuple(server_keys.HR_SCOPES), 1, KeyKind.LIVE)
print(json.dumps([slug, server_keys.issue(row, user=None, address="").secret]))
"""
# The same change, with a token that was over a second ago.
EXPIRE = """
import dataclasses, json, time
from oauth import server_keys
from oauth.models import KeyKind
from people.mcp import confirmation_tokens
key = server_keys.authenticate({secret!r}, [KeyKind.LIVE])
found = confirmation_tokens.from_token({token!r}, key)
ended = dataclasses.replace(found, ends=time.time() - 1)
print(json.dumps(confirmation_tokens.to_token(ended, key)))
"""
COUNT = """
from people.models import TimeOff
print(TimeOff.objects.filter(organization__slug={slug!r}).count())
"""

Call: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Workspace:
    """The server, a workspace on it, and the key of a client of that workspace."""

    server: Server
    slug: str
    secret: str

    def requests(self) -> int:
        return int(evaluate(self.server.env, COUNT.format(slug=self.slug)))


@pytest.fixture(scope="module")
def workspace(server: Server) -> Workspace:
    return make_workspace(server)


def make_workspace(server: Server) -> Workspace:
    """A workspace with people, and a key for everything in it."""
    return Workspace(server, *json.loads(evaluate(server.env, PREPARE)))


class ElicitedPerson:
    """Who sits at the client, and what was shown to them."""

    def __init__(self, answer: types.ElicitResult) -> None:
        self.answer = answer
        self.shown: list[str] = []

    async def elicit(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.shown.append(params.message)
        return self.answer


@asynccontextmanager
async def connect(
    workspace: Workspace, mode: str, person: ElicitedPerson | None
) -> AsyncIterator[Call]:
    """A client that calls tools of the workspace and returns their results."""
    headers = {"Authorization": f"Bearer {workspace.secret}"}
    url = f"{workspace.server.url}/w/{workspace.slug}/api/mcp"
    asked = {} if person is None else {"elicitation_callback": person.elicit}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, **asked) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                return await client.call_tool(tool, arguments)

            yield call


async def prepare_leave(call: Call, days: tuple[str, str]) -> Any:
    """The recipe up to the prepared change: who, which category, no overlap."""
    assert (await call("whoami")).structured_content["environment"]["type"] == "live"
    found = (await call("search_people", limit=1)).structured_content["data"][0]
    listed = (await call("list_reference", kind="time_off_categories")).structured_content["data"]
    period = {"from": days[0], "to": days[1], "person_id": found["id"]}
    assert (await call("list_time_off", **period)).structured_content["data"] == []
    body = {"person_id": found["id"], "category_id": listed[0]["id"]}
    body |= {"start_date": days[0], "end_date": days[1]}
    args = {"pathParams": {}, "body": body}
    return await call("prepare_api_write", operation_id="createTimeOff", args=args)


@pytest.mark.parametrize("mode", MODES)
def test_leave_is_booked_once_with_the_approval_of_a_person(
    workspace: Workspace, mode: str
) -> None:
    person = ElicitedPerson(types.ElicitResult(action="accept", content={"approve": True}))
    days = ("2031-03-03", "2031-03-05") if mode == "legacy" else ("2031-04-07", "2031-04-09")
    before = workspace.requests()

    async def book() -> list[Any]:
        async with connect(workspace, mode, person) as call:
            facts = (await prepare_leave(call, days)).structured_content
            token = {"confirmation_token": facts["confirmation_token"]}
            return [await call("commit_api_write", **token) for _number in range(2)]

    first, second = asyncio.run(book())
    assert first.structured_content["is_repeated"] is False
    assert second.structured_content["is_repeated"] is True
    assert first.structured_content["answer"]["data"]["start_date"] == days[0]
    (shown,) = person.shown
    assert f" {days[0]} to " in shown
    assert workspace.requests() == before + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "answer",
    [{"action": "decline"}, {"action": "accept", "content": {"approve": "yes"}}],
    ids=["declines", "answers-with-text"],
)
def test_nothing_is_booked_when_the_answer_is_no_clear_yes(
    workspace: Workspace, mode: str, answer: dict[str, Any]
) -> None:
    person = ElicitedPerson(types.ElicitResult(**answer))
    before = workspace.requests()

    async def book() -> Any:
        async with connect(workspace, mode, person) as call:
            facts = (await prepare_leave(call, ("2031-05-05", "2031-05-06"))).structured_content
            return await call("commit_api_write", confirmation_token=facts["confirmation_token"])

    result = asyncio.run(book())
    assert (result.is_error, "declined" in result.content[0].text) == (True, True)
    assert len(person.shown) == 1
    assert workspace.requests() == before


def test_nothing_is_booked_by_a_client_that_cannot_ask(workspace: Workspace) -> None:
    before = workspace.requests()

    async def book() -> Any:
        async with connect(workspace, "legacy", None) as call:
            facts = (await prepare_leave(call, ("2031-06-02", "2031-06-03"))).structured_content
            return await call("commit_api_write", confirmation_token=facts["confirmation_token"])

    result = asyncio.run(book())
    assert result.is_error
    assert workspace.requests() == before


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_booked_with_a_token_that_has_expired(workspace: Workspace, mode: str) -> None:
    person = ElicitedPerson(types.ElicitResult(action="accept", content={"approve": True}))
    before = workspace.requests()

    async def book() -> Any:
        async with connect(workspace, mode, person) as call:
            facts = (await prepare_leave(call, ("2031-07-07", "2031-07-08"))).structured_content
            code = EXPIRE.format(secret=workspace.secret, token=facts["confirmation_token"])
            expired = await asyncio.to_thread(evaluate, workspace.server.env, code)
            return await call("commit_api_write", confirmation_token=json.loads(expired))

    result = asyncio.run(book())
    assert (result.is_error, "expired" in result.content[0].text) == (True, True)
    assert (person.shown, workspace.requests()) == ([], before)


@pytest.mark.parametrize("mode", MODES)
def test_a_request_that_a_program_has_changed_meanwhile_stays_as_it_is(
    workspace: Workspace, mode: str
) -> None:
    person = ElicitedPerson(types.ElicitResult(action="accept", content={"approve": True}))
    days = ("2031-08-04", "2031-08-06") if mode == "legacy" else ("2031-09-01", "2031-09-03")

    async def move() -> tuple[Any, dict[str, Any]]:
        async with connect(workspace, mode, person) as call:
            token = (await prepare_leave(call, days)).structured_content["confirmation_token"]
            booked = (await call("commit_api_write", confirmation_token=token)).structured_content
            request_id = booked["answer"]["data"]["id"]
            args = {"pathParams": {"time_off_id": request_id}, "body": {"start_date": days[1]}}
            facts = await call("prepare_api_write", operation_id="updateTimeOff", args=args)
            changed = await asyncio.to_thread(shorten, workspace, request_id)
            token = facts.structured_content["confirmation_token"]
            return await call("commit_api_write", confirmation_token=token), changed

    result, changed = asyncio.run(move())
    assert (result.is_error, "changed" in result.content[0].text) == (True, True)
    assert len(person.shown) == 1  # when it was booked
    assert api(workspace, f"time-off/{changed['id']}").json()["data"] == changed


def api(workspace: Workspace, path: str, **sent: Any) -> httpx2.Response:
    """A request of a program to the HR API, with the key of the client."""
    headers = {"Authorization": f"Bearer {workspace.secret}", **sent.pop("headers", {})}
    url = f"{workspace.server.url}/w/{workspace.slug}/api/v1/{path}"
    return httpx2.request(sent.pop("method", "GET"), url, headers=headers, timeout=30, **sent)


def shorten(workspace: Workspace, request_id: str) -> dict[str, Any]:
    """A program lets the request end a half day earlier; returns what it is then."""
    read = api(workspace, f"time-off/{request_id}")
    headers = {"If-Match": read.headers["ETag"], "Idempotency-Key": f"shorten-{request_id}"}
    sent = {"method": "PATCH", "headers": headers, "json": {"is_to_half_day": True}}
    answered = api(workspace, f"time-off/{request_id}", **sent)
    assert answered.status_code == httpx2.codes.OK, answered.text
    changed: dict[str, Any] = answered.json()["data"]
    return changed
