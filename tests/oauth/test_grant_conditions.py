"""Every condition of an active grant, broken by itself: all who check grants agree about it."""

from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from oauth import credentials
from oauth.grants import authorizations, connections, grant_conditions, token_status
from oauth.grants.grant_conditions import CONDITIONS, GrantCondition
from oauth.models import AccessToken, Authorization, Client
from oauth.principal import Unauthenticated
from tests.drivers.oauth_client import Browser, OAuthClient, Tokens, assert_refused
from workspace.models import Membership, Organization, User

LIST = "/connections"
TOOL = "search_docs"

BREAK: dict[str, Callable[[], object]] = {
    "authorization": lambda: authorizations.revoke(grant().pk, reason="revoked_by_admin"),
    "membership": lambda: Membership.objects.all().delete(),
    "member": lambda: Membership.objects.update(suspended_at=timezone.now()),
    "user": lambda: User.objects.update(is_active=False),
    "client": lambda: Client.objects.update(disabled_at=timezone.now()),
    "organization": lambda: Organization.objects.update(suspended_at=timezone.now()),
}
REPAIR: dict[str, Callable[[], object]] = {
    "member": lambda: Membership.objects.update(suspended_at=None),
    "user": lambda: User.objects.update(is_active=True),
    "client": lambda: Client.objects.update(disabled_at=None),
    "organization": lambda: Organization.objects.update(suspended_at=None),
}


@dataclass(frozen=True)
class BrokenGrant:
    """A grant with a token, of which one condition was broken."""

    condition: GrantCondition
    tokens: Tokens
    client: OAuthClient
    browser: Browser

    @property
    def user(self) -> User:
        return User.objects.get()

    @property
    def is_listed(self) -> bool:
        return not self.condition.is_final


def grant() -> Authorization:
    return grant_conditions.annotate(Authorization.objects.all()).get()


def why() -> str:
    out = StringIO()
    call_command("why", str(AccessToken.objects.get().pk), TOOL, stdout=out)
    return out.getvalue()


@pytest.fixture(params=CONDITIONS, ids=lambda one: one.name)
def broken_condition(
    request: pytest.FixtureRequest, tokens: Tokens, oauth_client: OAuthClient, browser: Browser
) -> BrokenGrant:
    condition: GrantCondition = request.param
    assert grant_conditions.failing(grant()) == ()
    assert oauth_client.ping(tokens.access) == 200
    BREAK[condition.name]()
    assert grant_conditions.failing(grant()) == (condition,)
    return BrokenGrant(condition, tokens, oauth_client, browser)


def test_every_condition_of_the_table_is_broken_here() -> None:
    assert [one.name for one in CONDITIONS] == [*BREAK]


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda one: one.name)
def test_authentication_reads_the_table(condition: GrantCondition) -> None:
    for statement in (credentials.AUTHENTICATE, credentials.STILL):
        assert f"AND {condition.sql}" in statement.sql


def test_a_bearer_token_is_refused(broken_condition: BrokenGrant) -> None:
    assert broken_condition.client.ping(broken_condition.tokens.access) == 401


def test_a_paused_grant_continues_and_an_ended_one_cannot(broken_condition: BrokenGrant) -> None:
    assert broken_condition.is_listed == (broken_condition.condition.name in REPAIR)
    if broken_condition.is_listed:
        REPAIR[broken_condition.condition.name]()
        assert broken_condition.client.ping(broken_condition.tokens.access) == 200


def test_a_refresh_token_is_refused(broken_condition: BrokenGrant) -> None:
    reply = broken_condition.client.refresh(broken_condition.tokens.refresh)
    assert assert_refused(reply) == (400, "invalid_grant")


def test_what_was_requested_under_it_is_not_done(broken_condition: BrokenGrant) -> None:  # noqa: ARG001  breaks it
    with pytest.raises(Unauthenticated):
        credentials.recheck_grant("halo_at_", grant().pk, credentials.ACCESS_TOKEN_VERIFIERS)


def test_connections_lists_it_as_paused_or_not_at_all(broken_condition: BrokenGrant) -> None:
    listed = connections.living(broken_condition.user)
    paused = f"Paused: {broken_condition.condition.explain(grant())}."
    assert [one.pause for one in listed.connections] == [paused] * broken_condition.is_listed
    if broken_condition.condition.name != "user":  # who is deactivated cannot open the page
        page = unescape(broken_condition.browser.open(LIST).content.decode())
        assert (paused in page) == broken_condition.is_listed


def test_the_page_of_a_connection_opens_only_while_it_has_not_ended(
    broken_condition: BrokenGrant,
) -> None:
    if broken_condition.is_listed:
        assert connections.mine(broken_condition.user, grant().pk).id == grant().pk
    else:
        with pytest.raises(connections.ConnectionEnded):
            connections.mine(broken_condition.user, grant().pk)


def test_counting_and_ending_agree_with_the_list(broken_condition: BrokenGrant) -> None:
    left = Authorization.objects.filter(grant_conditions.not_ended())
    assert connections.total(broken_condition.user) == left.count() == broken_condition.is_listed
    assert (
        connections.revoke_all(broken_condition.user, address="192.0.2.1")
        == broken_condition.is_listed
    )
    assert connections.total(broken_condition.user) == 0


def test_why_names_it_with_its_message_and_its_remedy(broken_condition: BrokenGrant) -> None:
    lines = why().splitlines()
    (refusing,) = (number for number, line in enumerate(lines) if line.startswith("  NO "))
    message = grant_conditions.sentence(broken_condition.condition.explain(grant()))
    assert lines[refusing].split(maxsplit=2)[1:] == [broken_condition.condition.name, message]
    assert lines[refusing + 1].strip().startswith(str(broken_condition.condition.remedy))
    assert "/admin/" in lines[refusing + 1]
    assert "refused as unauthorized (401)" in lines[1]


def test_the_list_of_authorizations_says_which_ones_have_ended(
    broken_condition: BrokenGrant,
) -> None:
    (found,) = token_status.newest(broken_condition.user.email)
    assert found.ended == broken_condition.condition.is_final


@pytest.mark.usefixtures("tokens")
def test_why_says_of_an_active_grant_that_every_condition_holds() -> None:
    said = why()
    assert "  NO " not in said
    for condition in CONDITIONS:
        assert grant_conditions.sentence(condition.holding) in said


def test_the_reason_of_a_revocation_is_text_and_no_template() -> None:
    message = CONDITIONS[0].explain(Authorization(revoke_reason="{0} {reason}"))
    assert message == "the authorization was revoked ({0} {reason})"
