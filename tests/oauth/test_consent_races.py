"""Against the real server process: one consent that is submitted many times at once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Final
from urllib.parse import urljoin

import httpx2
import pytest

from tests.drivers.evaluation import evaluate
from tests.drivers.person import Person, form_with
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.process, pytest.mark.sqlite]

SUBMITS: Final = 24
# What is in the tables for one client: requests decided, connections, codes.
COUNT = """
from oauth.models import Authorization, AuthorizationRequest, Grant
mine = {"client__client_id": "%s"}
print(AuthorizationRequest.objects.filter(decided_at__isnull=False, **mine).count(),
      Authorization.objects.filter(**mine).count(),
      Grant.objects.filter(authorization__client__client_id="%s").count())
"""


class Opened:
    """A consent page that is open in a browser, and what its form sends."""

    def __init__(self, client: BareClient) -> None:
        person = Reader()
        person.open(client.authorize_url)
        self.cookies = dict(person.browser.cookies)
        person.browser.close()
        form = form_with(person.consent_page, "request")
        self.address = urljoin(client.server.url, form.action)
        self.fields: dict[str, list[str]] = {}
        for name, value in form.fields:
            self.fields.setdefault(name, []).append(value)

    def submit(self, decisions: list[str]) -> list[httpx2.Response]:
        """The answers to submits that are all sent at the same moment."""
        start = Barrier(len(decisions))

        def send(decision: str) -> httpx2.Response:
            start.wait(60)
            sent = self.fields | {"decision": [decision]}
            return httpx2.post(self.address, data=sent, cookies=self.cookies, timeout=120)

        with ThreadPoolExecutor(len(decisions)) as pool:
            return list(pool.map(send, decisions))


class Reader(Person):
    """Opens the consent page and leaves it open."""

    def _decide(self, page: httpx2.Response) -> str:
        return str(page.url)


def count_rows(client: BareClient) -> list[int]:
    message = evaluate(client.server.env, COUNT % (client.client_id, client.client_id))
    return [int(count) for count in message.split()]


def test_of_many_submits_at_once_all_get_one_redirect_with_one_code(server: Server) -> None:
    before = len(server.log.read_text())
    client = BareClient(server)
    answers = Opened(client).submit(["approve"] * SUBMITS)
    assert Counter(answer.status_code for answer in answers) == {302: SUBMITS}
    (location,) = {answer.headers["location"] for answer in answers}
    assert count_rows(client) == [1, 1, 1]
    assert client.redeem(location)["token_type"] == "Bearer"
    assert "level=error" not in server.log.read_text()[before:]


def test_of_many_cancels_at_once_all_get_one_redirect(server: Server) -> None:
    client = BareClient(server)
    answers = Opened(client).submit(["cancel"] * SUBMITS)
    assert Counter(answer.status_code for answer in answers) == {302: SUBMITS}
    (location,) = {answer.headers["location"] for answer in answers}
    assert "error=access_denied" in location
    assert count_rows(client) == [1, 0, 0]


def test_of_approvals_and_cancels_at_once_the_first_rules(server: Server) -> None:
    client = BareClient(server)
    decisions = ["approve", "cancel"] * (SUBMITS // 2)
    answers = Opened(client).submit(decisions)
    assert {answer.status_code for answer in answers} == {302, 409}
    (location,) = {a.headers["location"] for a in answers if a.status_code == 302}
    came_first = "approve" if "code=" in location else "cancel"
    redirected = {
        decision
        for decision, answer in zip(decisions, answers, strict=True)
        if answer.status_code == 302
    }
    assert redirected == {came_first}
    connections = int(came_first == "approve")
    assert count_rows(client) == [1, connections, connections]
