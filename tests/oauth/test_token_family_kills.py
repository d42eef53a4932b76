"""kill -9 at every step: never half a pair, and a retry still works.

Before the COMMIT nothing has happened, and the same credential still works. After it the credential
is used: a refresh that is repeated gets the pair, and a second use of a code revokes the family.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection

from foundation.limits import Limit
from oauth.models import AccessToken, Authorization, RefreshToken
from tests.drivers.killed_process import Fate, KilledProcess, start_process
from tests.drivers.oauth_client import (
    TOKEN,
    Browser,
    OAuthClient,
    Tokens,
    assert_refused,
    tokens_of,
)

pytestmark = [pytest.mark.process, pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


@dataclass(frozen=True)
class Right:
    """A credential's claim to a pair, as a form, and the family that it stands under."""

    client: OAuthClient
    claim: Mapping[str, str]
    root: Authorization
    had: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "had", _rows(self.root))

    @property
    def got(self) -> tuple[int, int]:
        """How many access and refresh tokens the family has more than at first."""
        access, refresh = _rows(self.root)
        return access - self.had[0], refresh - self.had[1]

    @property
    def is_ended(self) -> bool:
        self.root.refresh_from_db()
        return self.root.revoked_at is not None

    def claim_again(self) -> Any:
        return self.client.send(TOKEN, self.claim)


def _rows(root: Authorization) -> tuple[int, int]:
    access = AccessToken.objects.filter(authorization=root)
    refresh = RefreshToken.objects.filter(authorization=root)
    return access.count(), refresh.count()


Prepare = Callable[[OAuthClient, Browser], Right]


def a_code(client: OAuthClient, browser: Browser) -> Right:
    code = client.code(browser)
    proof = {"code": code, "code_verifier": client.verifier, "client_id": client.client_id}
    return Right(client, {"grant_type": "authorization_code"} | proof, newest())


def a_refresh_token(client: OAuthClient, browser: Browser) -> Right:
    return to_refresh(client, client.connect(browser).refresh)


def to_refresh(client: OAuthClient, token: str) -> Right:
    proof = {"refresh_token": token, "client_id": client.client_id}
    return Right(client, {"grant_type": "refresh_token"} | proof, newest())


def newest() -> Authorization:
    return Authorization.objects.order_by("-id")[0]


@pytest.fixture(scope="module")
def killed_process(django_db_setup: None) -> Iterator[KilledProcess]:  # noqa: ARG001  its database
    with start_process(database_url()) as process:
        yield process


@pytest.fixture
def doom(killed_process: KilledProcess, settings: Any) -> KilledProcess:
    settings.HALO_RATE_TOKEN = Limit(1_000_000, 60)
    return killed_process


def database_url() -> str:
    """The URL of the database that the tests of this file run on."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{quote(str(known['NAME']))}"
    who = ":".join(quote(part, safe="") for part in (known["USER"], known["PASSWORD"]) if part)
    return f"postgres://{who}@{known['HOST']}:{known['PORT']}/{known['NAME']}"


def cut_short(doom: KilledProcess, prepare: Callable[[], Right]) -> Iterator[tuple[Right, Fate]]:
    """A fresh right for each step of its request, and how far the request came.

    The last was answered: there was no such step.
    """
    for step in count():
        right = prepare()
        fate = doom.post(TOKEN, right.claim, die_at=step)
        yield right, fate
        if not fate.killed:
            return


def works(client: OAuthClient, pair: Tokens) -> bool:
    return client.ping(pair.access) == 200 and client.refresh(pair.refresh).status_code == 200


@pytest.mark.parametrize(
    ("prepare", "spent"),
    [
        pytest.param(a_code, "oauth_grant", id="W02-W04-exchange", marks=pytest.mark.daily),
        pytest.param(a_refresh_token, "oauth_refreshtoken", id="W01-W02-refresh"),
    ],
)
def test_a_kill_leaves_either_the_right_to_a_pair_or_the_pair(
    prepare: Prepare, spent: str, doom: KilledProcess, oauth_client: OAuthClient, browser: Browser
) -> None:
    fatal: list[str] = []
    is_repeatable = prepare is a_refresh_token
    for right, fate in cut_short(doom, lambda: prepare(oauth_client, browser)):
        assert right.got == ((1, 1) if fate.has_committed else (0, 0)), fate
        assert not right.is_ended
        answer = right.claim_again()
        if fate.has_committed and not is_repeatable:
            assert assert_refused(answer) == (400, "invalid_grant"), fate
            assert right.is_ended
        else:
            assert right.got == (1, 1)
            assert works(oauth_client, tokens_of(answer)), fate
        fatal.append(fate.steps[-1])
    assert fate.status == 200
    # The moments that matter were among them: around the compare-and-swap, the pair, the commit.
    tables = ("UPDATE " + spent, "INSERT oauth_accesstoken", "INSERT oauth_refreshtoken", "COMMIT")
    assert {f"{when} {what}" for when in ("before", "after") for what in tables} <= {*fatal}


@pytest.mark.daily
def test_a_kill_in_the_middle_of_a_replay_saves_no_token_family(
    doom: KilledProcess, oauth_client: OAuthClient, browser: Browser
) -> None:
    newer: list[str] = []

    def a_spent_token() -> Right:
        first = oauth_client.connect(browser).refresh
        second = tokens_of(oauth_client.refresh(first)).refresh
        newer.append(tokens_of(oauth_client.refresh(second)).refresh)
        return to_refresh(oauth_client, first)

    fatal: list[str] = []
    for right, fate in cut_short(doom, a_spent_token):
        assert right.is_ended is ("after UPDATE oauth_authorization" in fate.steps), fate
        assert assert_refused(right.claim_again()) == (400, "invalid_grant")
        assert right.is_ended
        assert assert_refused(oauth_client.refresh(newer[-1])) == (400, "invalid_grant")
        assert right.got == (0, 0)
        fatal.append(fate.steps[-1])
    assert fate.status == 400
    assert {"before UPDATE oauth_authorization", "after UPDATE oauth_authorization"} <= {*fatal}
