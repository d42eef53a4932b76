"""Against the real server process: who wins when many ask at once, and what is left behind."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.drivers.oauth_client import REGISTER, TOKEN, OAuthClient
from tests.drivers.person import Person
from tests.drivers.server import Server

pytestmark = [pytest.mark.process, pytest.mark.sqlite]

CALLBACK = "http://127.0.0.1:33418/callback"


class RemoteClient:
    """A confidential client over HTTP, and the person who approves it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        document = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"}
        registered = httpx2.post(server.url + REGISTER, json=document, timeout=60).json()
        self.asked = OAuthClient(
            client_id=registered["client_id"],
            secret=registered["client_secret"],
            redirect_uri=CALLBACK,
        )

    def code(self, person: Person) -> str:
        location = person.open(self.server.url + self.asked.authorize_address())
        return parse_qs(urlsplit(location).query)["code"][0]

    def exchange(self, code: str) -> httpx2.Response:
        proof = {"redirect_uri": CALLBACK, "code_verifier": self.asked.verifier}
        return self.post(TOKEN, grant_type="authorization_code", code=code, **proof)

    def refresh(self, token: str) -> httpx2.Response:
        return self.post(TOKEN, grant_type="refresh_token", refresh_token=token)

    def post(self, path: str, **fields: str) -> httpx2.Response:
        who = {"client_id": self.asked.client_id, "client_secret": self.asked.secret}
        return httpx2.post(self.server.url + path, data=who | fields, timeout=120)

    def call(self, access: str, method: str = "ping") -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method}
        bearer = {"Authorization": f"Bearer {access}"}
        return httpx2.post(self.server.mcp_url, json=message, headers=bearer, timeout=60)


@pytest.fixture
def person() -> Iterator[Person]:
    person = Person()
    yield person
    person.browser.close()


@pytest.fixture
def client(server: Server) -> RemoteClient:
    return RemoteClient(server)


def send_at_once(asks: Sequence[Callable[[], httpx2.Response]]) -> list[httpx2.Response]:
    """The answers to requests that are all sent in the same moment."""
    start = Barrier(len(asks))

    def send(ask: Callable[[], httpx2.Response]) -> httpx2.Response:
        start.wait(60)
        return ask()

    with ThreadPoolExecutor(len(asks)) as pool:
        return list(pool.map(send, asks))


def the_one_pair(answers: list[httpx2.Response]) -> dict[str, str]:
    """The pair of the only winner; all others received `invalid_grant`."""
    won = [answer for answer in answers if answer.status_code == 200]
    lost = {(a.status_code, a.json()["error"]) for a in answers if a.status_code != 200}
    assert (len(won), lost) == (1, {(400, "invalid_grant")})
    pair: dict[str, str] = won[0].json()
    return pair


def is_dead(client: RemoteClient, pair: dict[str, str]) -> bool:
    renewed = client.refresh(pair["refresh_token"])
    called = client.call(pair["access_token"])
    return (renewed.status_code, called.status_code) == (400, 401)


@pytest.mark.parametrize("threads", [pytest.param(24, id="D03-V01")])
def test_of_many_who_bring_one_code_one_wins_and_the_token_family_is_revoked(
    threads: int, client: RemoteClient, person: Person, server: Server
) -> None:
    before = len(server.log.read_text())  # other tests have asked this server as well
    for _ in range(2):
        code = client.code(person)
        pair = the_one_pair(send_at_once([partial(client.exchange, code)] * threads))
        assert is_dead(client, pair)
    assert "level=error" not in server.log.read_text()[before:]


@pytest.mark.parametrize("threads", [pytest.param(24, id="E04-V02")])
def test_all_who_bring_one_refresh_token_at_a_time_get_the_one_pair(
    threads: int, client: RemoteClient, person: Person, server: Server
) -> None:
    before = len(server.log.read_text())  # other tests have asked this server as well
    pair = client.exchange(client.code(person)).json()
    for _ in range(2):
        answers = send_at_once([partial(client.refresh, pair["refresh_token"])] * threads)
        assert [answer.status_code for answer in answers] == [200] * threads
        pairs = {(a.json()["access_token"], a.json()["refresh_token"]) for a in answers}
        assert len(pairs) == 1
        pair = answers[0].json()
        assert client.call(pair["access_token"]).status_code == 200
    assert "level=error" not in server.log.read_text()[before:]


@pytest.mark.parametrize("error", [pytest.param("invalid_grant", id="V04")])
def test_a_replayed_code_next_to_a_refresh_leaves_nothing_alive(
    error: str, client: RemoteClient, person: Person
) -> None:
    code = client.code(person)
    first = client.exchange(code).json()
    replayed, renewed = send_at_once(
        [partial(client.exchange, code), partial(client.refresh, first["refresh_token"])]
    )
    assert (replayed.status_code, replayed.json()["error"]) == (400, error)
    assert is_dead(client, first)
    if renewed.status_code == 200:
        assert is_dead(client, renewed.json())
