"""Clients of two strict, independent libraries go the whole way against the real server process."""

from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.clients import oauth4webapi_client
from tests.clients.strict_flow import ASKED, NARROWED, FlowOutcome, Journey, Refused
from tests.drivers.node import Unavailable
from tests.drivers.person import Person
from tests.drivers.server import Server

pytestmark = pytest.mark.process

Travel = Callable[[Journey], FlowOutcome]
METHODS = ["none", "client_secret_basic", "client_secret_post"]


@pytest.fixture
def oauth4webapi() -> Travel:
    try:
        oauth4webapi_client.command()
    except Unavailable as lacking:
        pytest.skip(f"oauth4webapi: {lacking}")
    return oauth4webapi_client.travel


@pytest.fixture
def authlib() -> Travel:
    pytest.importorskip("authlib", reason="authlib is not installed: ./run clients installs it")
    from tests.clients import authlib_client  # noqa: PLC0415  only where authlib is

    return authlib_client.travel


@pytest.fixture(params=["oauth4webapi", "authlib"])
def travel(request: pytest.FixtureRequest) -> Travel:
    chosen: Travel = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def person() -> Iterator[Person]:
    ada = Person()
    with ada.browser:
        yield ada


@pytest.mark.parametrize("method", METHODS)
def test_a_strict_client_goes_from_the_challenge_to_the_revocation(
    server: Server, travel: Travel, person: Person, method: str
) -> None:
    assert travel(Journey(server.mcp_url, method, person.open)) == FlowOutcome(
        auth_method=method,
        secret=method != "none",
        scopes=(ASKED, NARROWED),
        tools=(
            "read_doc",
            "search_docs",
            "setup_get_install_snippet",
            "setup_get_jwt_sample",
        ),
        rotated=True,
        refused="invalid_grant",
        status=401,
    )


def test_a_strict_client_that_spends_a_refresh_token_twice_has_ended_its_family(
    server: Server, travel: Travel, person: Person
) -> None:
    outcome = travel(Journey(server.mcp_url, "none", person.open, ending="replay"))

    assert (outcome.refused, outcome.status) == ("invalid_grant", 401)


def test_a_strict_client_learns_that_the_person_said_no(
    server: Server, travel: Travel, person: Person
) -> None:
    person.decision = "deny"

    with pytest.raises(Refused, match=r"^access_denied$"):
        travel(Journey(server.mcp_url, "none", person.open))


@pytest.mark.parametrize(
    ("issuer", "complaint"),
    [("", r'"iss" .* missing'), ("https://elsewhere.example", r'unexpected "iss"')],
    ids=["missing", "foreign"],
)
def test_what_the_metadata_promises_lets_a_strict_client_see_a_mix_up(
    server: Server, oauth4webapi: Travel, person: Person, issuer: str, complaint: str
) -> None:
    def mixed_up(address: str) -> str:
        answer = urlsplit(person.open(address))
        pairs = [pair for pair in parse_qsl(answer.query) if pair[0] != "iss"]
        query = urlencode([*pairs, *([("iss", issuer)] if issuer else [])])
        return answer._replace(query=query).geturl()

    with pytest.raises(Refused, match=complaint):
        oauth4webapi(Journey(server.mcp_url, "none", mixed_up))
