"""Against a real server process with a replay window: many who ask at once."""

from functools import partial

import pytest

from tests.drivers.fixture_server import Laboratory
from tests.drivers.person import Person
from tests.oauth.test_races_process import RemoteClient, at_once

pytestmark = [pytest.mark.process, pytest.mark.sqlite]


@pytest.mark.parametrize("threads", [pytest.param(24, id="E04-V02")])
def test_while_the_replay_window_is_open_all_of_them_get_the_one_pair(
    threads: int, wide_laboratory: Laboratory
) -> None:
    forgiving = wide_laboratory.with_account()
    person = Person(email=forgiving.account.email)
    client = RemoteClient(forgiving.server)
    first = client.exchange(client.code(person)).json()
    person.browser.close()
    answers = at_once([partial(client.refresh, first["refresh_token"])] * threads)
    assert [answer.status_code for answer in answers] == [200] * threads
    (pair,) = {(a.json()["access_token"], a.json()["refresh_token"]) for a in answers}
    assert client.call(pair[0]).status_code == 200
    assert client.refresh(pair[1]).status_code == 200
