"""MCP over WebSocket, with a real server process and a real client."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.sync.client import connect

from mcp_protocol.revisions import Revision
from tests.drivers.fixture_server import Laboratory
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.servers import SOCKETS_PER_CREDENTIAL
from tests.drivers.websocket_client import PROJECT, WebSocketClient, address, open_socket, refusal
from tests.tools_registry.test_asgi_process import wait_until

pytestmark = pytest.mark.process

UNKNOWN = "halo_at_" + "x" * 43
# As many grants of the same person, each with an access token.
GRANTS = """
import json
from foundation import ids
from oauth import scopes
from oauth.grants import tokens
from oauth.models import Authorization
minted = []
for _ in range({count}):
    grant = Authorization.objects.get(pk={authorization!r})
    grant.pk = ids.uuid7()
    grant.save(force_insert=True)
    minted.append((tokens.issue(grant, scopes.parse(grant.scope)).access, str(grant.pk)))
print(json.dumps(minted))
"""
REVOKE = """
from uuid import UUID
from oauth.grants import authorizations
print(authorizations.revoke(UUID({authorization!r}), reason="test"))
"""
PROJECT_AND_TOKEN = """
from oauth import mcp_tokens
from tests.drivers import project_rows
from workspace.models import Membership
member = Membership.objects.select_related("user", "organization").get(
    organization={organization!r}
)
user, organization = member.user, member.organization
made = project_rows.project(organization, user)
token = mcp_tokens.issue(
    user, organization, "/" + made.pk, name="ws", days=1, address="127.0.0.1"
)
print(made.pk, token.secret)
"""
FORM = {"elicitation": {}}


@pytest.fixture(scope="module")
def running(wide_laboratory: Laboratory) -> Laboratory:
    return wide_laboratory.with_account()


@pytest.fixture(scope="module")
def minted_grants(running: Laboratory) -> dict[str, str]:
    """Grants by token, that are each used up by one test."""
    return mint(running, 30)


def mint(running: Laboratory, count: int) -> dict[str, str]:
    code = GRANTS.format(count=count, authorization=running.account.authorization)
    return dict(json.loads(running.evaluate(code)))


@pytest.fixture
def grant(minted_grants: dict[str, str]) -> tuple[str, str]:
    """A token and its grant, so that no test meets the limits of another."""
    return minted_grants.popitem()


@pytest.fixture
def token(grant: tuple[str, str]) -> str:
    return grant[0]


@pytest.mark.parametrize(
    "offered",
    ["", UNKNOWN, "x y"],
    ids=["none", "unknown", "unreadable"],
)
def test_q01_a_handshake_without_a_valid_token_is_a_401_with_a_challenge(
    running: Laboratory, offered: str
) -> None:
    status, headers, body = refusal(address(running.port, token=offered.replace(" ", "%20")))
    assert status == 401
    assert headers["WWW-Authenticate"].startswith("Bearer ")
    assert json.loads(body)["error"]["code"] == -32001


def test_a_refused_handshake_is_no_error_in_the_log(running: Laboratory, token: str) -> None:
    before = len(running.server.log.read_text())
    assert refusal(address(running.port, token=UNKNOWN))[0] == 401
    assert refusal(f"ws://127.0.0.1:{running.port}/?token=x")[0] == 400
    with open_socket(running.port, token) as client:
        assert client.request("ping")["result"] == {}
    assert "level=error" not in running.server.log.read_text()[before:]


def test_q01_q02_a_token_in_the_query_opens_a_socket_and_is_in_no_log(
    running: Laboratory, token: str
) -> None:
    for path in ("/", "/ws"):
        url = address(running.port, path=path, token=token)
        assert refusal(url, additional_headers={"Authorization": "Bearer x"})[0] == 401
    with open_socket(running.port, token) as client:
        assert client.request("ping")["result"] == {}
    log = running.server.log.read_text()
    assert token not in log
    assert token.removeprefix("halo_at_") not in log
    assert PROJECT not in log


def test_a_token_in_the_header_opens_a_socket(running: Laboratory, token: str) -> None:
    bearer = {"Authorization": f"Bearer {token}"}
    with connect(address(running.port, path="/ws"), additional_headers=bearer) as socket_:
        assert WebSocketClient(socket_).request("ping")["result"] == {}


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/?token=x", 400),
        ("/?projectId=a&projectId=b", 400),
        ("/ws?projectId=prj_short", 404),
        (f"/api/mcp?projectId={PROJECT}", 404),
        ("/ws?" + "&".join(f"a{n}=1" for n in range(50)), 400),
        ("/ws?projectId=%ff", 404),
    ],
)
def test_an_address_without_a_project_is_refused(
    running: Laboratory, url: str, status: int
) -> None:
    assert refusal(f"ws://127.0.0.1:{running.port}{url}")[0] == status


def test_q04_a_page_of_another_site_gets_a_403(running: Laboratory, token: str) -> None:
    url = address(running.port, token=token)
    assert refusal(url, origin="https://evil.example")[0] == 403
    with open_socket(running.port, token, origin=f"http://127.0.0.1:{running.port}") as client:
        assert client.request("ping")["result"] == {}


def test_a_credential_has_a_limited_number_of_sockets(running: Laboratory, token: str) -> None:
    with ExitStack() as stack:
        for _ in range(SOCKETS_PER_CREDENTIAL):
            stack.enter_context(open_socket(running.port, token))
        status, headers, _ = refusal(address(running.port, token=token))
        assert (status, headers["Retry-After"]) == (429, "5")
    wait_until(lambda: _opens(running, token))


def _opens(running: Laboratory, token: str) -> bool:
    with open_socket(running.port, token) as client:
        return client.request("ping")["result"] == {}


def test_a_project_is_reached_with_its_mcp_token_and_no_other(
    running: Laboratory, token: str
) -> None:
    code = PROJECT_AND_TOKEN.format(organization=running.account.organization)
    project, secret = running.evaluate(code).split()
    with connect(address(running.port, project=project, token=secret)) as socket:
        listed = WebSocketClient(socket).request("tools/list")["result"]["tools"]
        assert {tool["name"] for tool in listed} == {"delete_user", "list_users"}
    of_others = "prj_" + "b" * 22
    answers = [
        refusal(address(running.port, project=where, token=given))
        for where, given in ((project, token), (of_others, secret), (of_others, UNKNOWN))
    ]
    assert {status for status, _, _ in answers} == {401}
    assert len({body for _, _, body in answers}) == 1
    assert secret.removeprefix("halo_mt_") not in running.server.log.read_text()


@pytest.mark.parametrize("revision", list(Revision), ids=str)
def test_every_revision_is_spoken(running: Laboratory, token: str, revision: Revision) -> None:
    with open_socket(running.port, token) as client:
        meta = {}
        if revision is Revision.V2026_07_28:
            meta = {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": revision.value,
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            }
            assert client.request("server/discover", meta)["result"]
        else:
            answered = client.initialize(revision)["result"]
            assert answered["protocolVersion"] == revision.value
        tools = client.request("tools/list", meta)["result"]["tools"]
        assert "echo" in {tool["name"] for tool in tools}
        client.call("mirror", {"region": "eu"}, **meta)
        assert client.receive()["result"]["content"][0]["text"] == '"eu"'
        if revision is Revision.V2026_07_28:
            return
        single = {"jsonrpc": "2.0", "id": "in", "method": "ping"}
        client.socket.send(json.dumps([single, single]))
        answered = json.loads(client.socket.recv(20))
        if revision is Revision.V2025_03_26:
            assert [one["id"] for one in answered] == ["in", "in"]
        else:
            assert answered["error"]["code"] == -32600


def test_what_is_no_message_gets_an_error_or_the_end(running: Laboratory, token: str) -> None:
    with open_socket(running.port, token) as client:
        for text, code in (("{", -32700), ("[]", -32600), ('{"jsonrpc": "1.0"}', -32600)):
            client.socket.send(text)
            assert client.receive()["error"]["code"] == code
        client.notify("no/such/notification")
        assert client.request("nonsense")["error"]["code"] == -32601
        client.socket.send(b"{}")
        assert client.close_code() == 4400
    with open_socket(running.port, token) as client:
        client.socket.send(" " * 1_048_577)
        assert client.close_code() == 4413
    with open_socket(running.port, token) as client:
        # The head of a text frame of 2.2 MB (RFC 6455 section 5.2) without its payload: a server
        # that closes with data unread resets the connection, and its reason may be lost.
        client.socket.socket.sendall(b"\x81\xff" + (2_200_000).to_bytes(8, "big") + b"mask")
        assert client.close_code() == 1009


def test_progress_and_log_messages_come_before_the_response(
    running: Laboratory, token: str
) -> None:
    with open_socket(running.port, token) as client:
        client.initialize()
        assert client.request("logging/setLevel", {"level": "warning"})["result"] == {}
        client.call("count_up", {"to": 2}, _meta={"progressToken": "p"})
        received = [client.receive() for _ in range(5)]
    methods = [message.get("method", "response") for message in received]
    assert methods == ["notifications/progress", "notifications/message"] * 2 + ["response"]
    assert received[0]["params"]["progressToken"] == "p"


def test_a_question_goes_out_and_its_answer_comes_back(running: Laboratory, token: str) -> None:
    with open_socket(running.port, token) as client:
        client.initialize(capabilities=FORM)
        identifier = client.call("greet", {})
        asked = client.receive()
        assert asked["method"] == "elicitation/create"
        filled = {"action": "accept", "content": {"name": "Ada"}}
        client.send({"id": asked["id"], "result": filled})
        answered = client.receive()
        assert answered["id"] == identifier
        assert "Hello, Ada" in answered["result"]["content"][0]["text"]


@pytest.mark.parametrize("streams", [True, False], ids=["streams", "in one piece"])
def test_a_cancelled_call_stops_and_has_no_response(
    running: Laboratory, token: str, tmp_path: Path, *, streams: bool
) -> None:
    awaited = tmp_path / "go"
    with open_socket(running.port, token) as client:
        client.initialize()
        meta = {"_meta": {"progressToken": 1}} if streams else {}
        identifier = client.call("write_slowly", {"file": str(awaited)}, **meta)
        wait_until(begun_mark(awaited).exists)
        client.notify("notifications/cancelled", {"requestId": identifier})
        wait_until(lambda: _outcomes(running) == "cancelled")
        awaited.touch()
        if streams:
            assert client.receive()["method"] == "notifications/progress"
        assert client.request("ping")["result"] == {}


def _outcomes(running: Laboratory) -> str:
    return running.evaluate(
        "from audit.models import ActionExecution as A\n"
        f"rows = A.objects.filter(organization_id='{running.account.organization}')\n"
        "print(rows.filter(tool='write_slowly').latest('pk').outcome)"
    ).strip()


def test_q07_a_socket_has_32_requests_in_progress_and_refuses_the_next(
    running: Laboratory, token: str, tmp_path: Path
) -> None:
    awaited = tmp_path / "go"
    with open_socket(running.port, token) as client:
        client.initialize()
        begun = {client.call("wait", {"file": str(awaited)}) for _ in range(60)}
        refused = [client.receive() for _ in range(28)]
        assert {one["error"]["code"] for one in refused} == {-32002}
        assert {one["error"]["data"]["reason"] for one in refused} == {"rate_limited"}
        awaited.touch()
        answered = [client.receive() for _ in range(32)]
        assert {one["id"] for one in refused + answered} == begun
        assert all("result" in one for one in answered)
        assert client.request("ping")["result"] == {}


def test_q08_two_sockets_with_the_same_request_ids_get_their_own_responses(
    running: Laboratory, token: str, tmp_path: Path
) -> None:
    with open_socket(running.port, token) as one, open_socket(running.port, token) as two:
        one.call("wait", {"file": str(tmp_path / "one")})
        two.call("wait", {"file": str(tmp_path / "two")})
        wait_until(
            lambda: begun_mark(tmp_path / "one").exists() and begun_mark(tmp_path / "two").exists()
        )
        two.notify("notifications/cancelled", {"requestId": 1})
        (tmp_path / "one").touch()
        assert '"one"' in one.receive()["result"]["content"][0]["text"]
        assert two.request("ping")["id"] == 2


def test_q05_a_revoked_token_closes_its_sockets_and_no_others(
    running: Laboratory, grant: tuple[str, str], tmp_path: Path
) -> None:
    token, authorization = grant
    awaited = tmp_path / "go"
    with (
        open_socket(running.port, token) as client,
        open_socket(running.port, running.token) as other,
    ):
        client.initialize()
        client.call("wait", {"file": str(awaited)})
        wait_until(begun_mark(awaited).exists)
        assert running.evaluate(REVOKE.format(authorization=authorization)).strip() == "True"
        assert client.close_code() == 4401
        awaited.touch()
        assert other.request("ping")["result"] == {}
    assert refusal(address(running.port, token=token))[0] == 401


def test_a_client_that_does_not_read_is_closed(running: Laboratory, token: str) -> None:
    before = len(running.server.log.read_text())
    # It reads one message and then nothing: the rest stays in the buffers of both sides.
    with open_socket(running.port, token, max_queue=1) as client:
        for _ in range(24):
            client.call("echo", {"value": "x" * 900_000})
        wait_until(lambda: "code=4408" in running.server.log.read_text()[before:])
        # What waits in the buffers comes first, so that the code may come too late.
        assert client.close_code() in {4408, None}
