"""The reported status of a token agrees with whether it is accepted."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from oauth import principal
from oauth.credentials import ACCESS_TOKEN_VERIFIERS
from oauth.grants import token_status
from oauth.models import AccessToken, Authorization, Client
from oauth.principal import Unauthenticated
from tests.drivers.grants import Grant, make_grant
from workspace.models import Organization, User


def expire(_grant: Grant) -> None:
    AccessToken.objects.update(expires=timezone.now() - timedelta(seconds=1))


def leave(grant: Grant) -> None:
    grant.membership.delete()


def move_server(_grant: Grant) -> None:
    Authorization.objects.update(resource="https://elsewhere.example/api/mcp")


WAYS: dict[str, Callable[[Grant], object]] = {
    "token": expire,
    "authorization": Grant.revoke,
    "user": lambda _grant: User.objects.update(is_active=False),
    "membership": leave,
    "organization": lambda _grant: Organization.objects.update(suspended_at=timezone.now()),
    "client": lambda _grant: Client.objects.update(disabled_at=timezone.now()),
    "resource": move_server,
}


def is_let_in(token: AccessToken) -> bool:
    try:
        ACCESS_TOKEN_VERIFIERS[principal.ACCESS_TOKEN].recheck(token.pk)
    except Unauthenticated:
        return False
    return True


def token_of(grant: Grant) -> AccessToken:
    grant.token("docs:read setup:read")
    return AccessToken.objects.latest("pk")


def failing(token: AccessToken) -> list[str]:
    status = token_status.explain(str(token.pk))
    assert status is not None
    assert status.is_active == is_let_in(token)
    return [result.name for result in status.results if not result.holds]


def test_nothing_is_wrong_with_a_living_token(grant: Grant) -> None:
    assert failing(token_of(grant)) == []


@pytest.mark.parametrize("way", WAYS)
def test_what_keeps_a_token_out_is_named(grant: Grant, way: str) -> None:
    token = token_of(grant)
    WAYS[way](grant)
    assert failing(token) == [way]


def test_the_scope_is_the_one_that_the_gate_goes_by(grant: Grant) -> None:
    token = token_of(grant)
    grant.narrow("docs:read data:read")
    status = token_status.explain(str(token.pk))
    assert status is not None
    assert (
        str(status.scope)
        == str(ACCESS_TOKEN_VERIFIERS[principal.ACCESS_TOKEN].recheck(token.pk).scope)
        == "docs:read"
    )


def test_the_status_of_an_authorization_is_that_of_its_newest_token(grant: Grant) -> None:
    wide = token_status.explain(str(grant.authorization.pk))
    assert wide is not None
    assert (wide.token_id, wide.is_active) == ("", False)
    token = token_of(grant)
    status = token_status.explain(f" {grant.authorization.pk.hex} ")
    assert status is not None
    assert (status.token_id, status.is_active) == (str(token.pk), True)


@pytest.mark.django_db
@pytest.mark.parametrize("reference", ["", "x", "\0", "halo_at_" + "a" * 43, "0" * 32, "9" * 500])
def test_what_is_no_id_of_ours_has_no_status(reference: str) -> None:
    assert token_status.explain(reference) is None


def test_authorizations_are_found_by_person_client_and_organization(grant: Grant) -> None:
    make_grant(client_name="Another client")
    for words in (grant.user.email, grant.organization.name.upper(), "Test cli"):
        (found,) = token_status.newest(words)
        assert found.authorization_id == str(grant.authorization.pk)
    assert len(token_status.newest("")) == 2
    assert token_status.newest("%") == token_status.newest("\0zzz") == []
