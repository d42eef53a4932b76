"""Against a real server process without a replay window: of many who refresh at once one wins."""

from functools import partial

import pytest

from tests.drivers.fixture_server import Laboratory
from tests.drivers.person import Person
from tests.oauth.test_races_process import RemoteClient, is_dead, send_at_once, the_one_pair

pytestmark = [pytest.mark.process, pytest.mark.sqlite]


@pytest.mark.parametrize("threads", [pytest.param(24, id="E03-V02")])
def test_of_many_who_bring_one_refresh_token_one_wins_and_the_token_family_is_revoked(
    threads: int, wide_laboratory: Laboratory
) -> None:
    strict = wide_laboratory.with_account()
    person = Person(email=strict.account.email)
    client = RemoteClient(strict.server)
    codes = [client.code(person) for _ in range(2)]
    person.browser.close()
    for code in codes:
        first = client.exchange(code).json()
        pair = the_one_pair(
            send_at_once([partial(client.refresh, first["refresh_token"])] * threads)
        )
        assert is_dead(client, pair)
        assert is_dead(client, first)
