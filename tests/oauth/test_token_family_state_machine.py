"""Whatever happens in whatever order, nothing lives under a dead root (RFC 9700 section 4.14.2).

A machine plays clients, person and operator against the token endpoint and keeps a small model of
what should be alive; after every step each bearer is held against the model, and each code and
refresh token under a dead root is tried, in a savepoint that takes the trial back.
"""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis
import pytest
import time_machine
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from foundation.limits import Limit
from oauth import addresses, scopes
from oauth.credentials import ACCESS_TOKEN_VERIFIERS, authenticate
from oauth.grants import authorizations, cleanup, codes, connections
from oauth.models import Authorization, AuthorizationRequest, Client
from oauth.principal import Principal, Unauthenticated
from oauth.scopes import ScopeSet
from tests.drivers.oauth_client import CALLBACK, OAuthClient, Response, challenge_of, tokens_of
from tests.oauth.token_family_model import Direct, Family, Pair, is_within, undo
from workspace import organizations
from workspace.models import Membership, User

WRITTEN = (
    "docs:read",
    "docs:read setup:read",
    "actions:hubspot:*",
    "actions:hubspot:create_note data:read",
)
WIDEST = "docs:read setup:read data:read actions:*"
PAUSES = {
    "a moment": timedelta(seconds=20),
    "until codes run out": timedelta(minutes=6),
    "until bearers run out": timedelta(minutes=61),
    "until codes are forgotten": timedelta(hours=26),
    "until bearers are forgotten": timedelta(days=8),
}
CODE, HOUR = timedelta(minutes=5), timedelta(hours=1)
DAY, WEEK = timedelta(days=1), timedelta(days=7)
VERIFIER, WRONG = "v" * 43, "w" * 43
BAD, MAX_TOKENS, HERE = 400, 4, "127.0.0.1"
REFUSED = (connections.ConnectionEnded, connections.NoSuchConnection, connections.NothingKept)
TWO = st.integers(min_value=0, max_value=1)


class Families(RuleBasedStateMachine):
    window = timedelta(0)
    """How long the answer to a refresh may be asked for again."""

    families = Bundle("families")
    pairs = Bundle("pairs")

    def __init__(self) -> None:
        super().__init__()
        self.around = ExitStack()
        self.clock = self.around.enter_context(
            time_machine.travel(datetime(2026, 3, 1, tzinfo=UTC), tick=False)
        )
        self.around.enter_context(undo())
        self.given: list[Family] = []
        self.issued: list[Pair] = []
        self.disabled: set[str] = set()
        self.suspended: set[Any] = set()
        self._cast()

    def _cast(self) -> None:
        self.user = User.objects.create_user("ada@acme.example")
        self.places = [organizations.create(name, owner=self.user) for name in ("Acme", "Bolt")]
        http: Any = Direct(HTTP_HOST="127.0.0.1:8000")
        self.clients = [OAuthClient(verifier=VERIFIER, http=http) for _ in range(2)]
        for client in self.clients:
            assert client.register().status_code == 201

    def teardown(self) -> None:
        self.around.close()

    @initialize(target=pairs, who=TWO, where=TWO)
    def begin(self, who: int, where: int) -> Any:
        """One pair to play with: left to chance, most games would end before they had any."""
        return self.redeem(self.consent(who, where, WIDEST))

    # --- What clients do -------------------------------------------------------------------------

    @precondition(lambda self: len(self.given) < MAX_TOKENS)
    @rule(target=families, who=TWO, where=TWO, scope=st.sampled_from([*WRITTEN, WIDEST]))
    def consent(self, who: int, where: int, scope: str) -> Any:
        client = self.clients[who]
        row = Client.objects.filter(client_id=client.client_id).first()
        membership = self._membership(where)
        if row is None or membership is None:
            return multiple()
        asked = AuthorizationRequest(
            client=row,
            redirect_uri=CALLBACK,
            resource=addresses.resource(),
            code_challenge=challenge_of(VERIFIER),
        )
        granted = scopes.parse(scope)
        root = authorizations.give(asked, membership, granted)
        code = codes.issue(root, asked)
        family = Family(client, membership, root, granted, code, timezone.now() + CODE)
        self.given.append(family)
        return family

    @rule(target=pairs, family=families)
    def redeem(self, family: Family) -> Any:
        works = self._code_works(family)
        answer = family.client.exchange(family.code)
        self._end_if_spent(family, family.code_spent and not family.code_gone)
        family.code_spent |= works
        return self._pair(family, answer, expected=works, scope=family.scope)

    @rule(family=families)
    def redeem_with_a_wrong_verifier(self, family: Family) -> None:
        assert family.client.exchange(family.code, code_verifier=WRONG).status_code == 400
        self._end_if_spent(family, family.code_spent and not family.code_gone)
        # One guess: who holds a code without its verifier burns it.
        family.code_spent |= timezone.now() < family.runs_out

    @rule(target=pairs, pair=pairs)
    def refresh(self, pair: Pair) -> Any:
        return self._refresh(pair)

    @rule(target=pairs, pair=pairs, asked=st.sampled_from([*WRITTEN, WIDEST]))
    def refresh_for(self, pair: Pair, asked: str) -> Any:
        return self._refresh(pair, scope=asked)

    @rule(pair=pairs, field=st.sampled_from(["access", "refresh"]))
    def revoke_by_the_client(self, pair: Pair, field: str) -> None:
        assert pair.family.client.revoke(getattr(pair, field)).status_code == 200
        pair.family.ended |= field == "refresh" or not pair.access_gone

    @rule(pair=pairs, family=families)
    def a_stranger_tries(self, pair: Pair, family: Family) -> None:
        """Another client holds everything that was issued, and can neither use nor end it."""
        assert self._other(pair.family).refresh(pair.refresh).status_code >= BAD
        assert self._other(pair.family).revoke(pair.refresh).status_code == 200
        assert self._other(family).exchange(family.code).status_code >= BAD

    # --- What the person and operators do --------------------------------------------------------

    @rule(family=families)
    def revoke_by_the_person(self, family: Family) -> None:
        known = not family.ended and self._is_listed(family)
        try:
            connections.revoke(self.user, family.root.pk, address=HERE)
        except REFUSED:
            assert not known
        else:
            assert known
            family.ended = True

    @rule(pair=pairs, takes=st.integers(min_value=0, max_value=3))
    def narrow_by_the_person(self, pair: Pair, takes: int) -> None:
        """Untick some of what a family holds, from now on and for every token of it."""
        family = pair.family
        held = [str(scope) for scope in family.scope]
        ticked = held[: len(held) - takes]  # the last says the most
        known = not family.ended and self._is_listed(family) and bool(ticked)
        try:
            connections.narrow(self.user, family.root.pk, ticked, address=HERE)
        except REFUSED:
            assert not known
        else:
            assert known
            family.scope = scopes.parse(" ".join(ticked))
            self._nothing_comes_back(family)

    @rule(family=families)
    def revoke_by_an_admin(self, family: Family) -> None:
        authorizations.revoke(family.root.pk, reason="revoked_by_admin")
        family.ended = True

    @rule()
    def switch_the_person(self) -> None:
        self.user.is_active = not self.user.is_active
        self.user.save()

    @rule(who=TWO)
    def switch_a_client(self, who: int) -> None:
        client_id = self.clients[who].client_id
        self.disabled ^= {client_id}
        moment = timezone.now() if client_id in self.disabled else None
        Client.objects.filter(client_id=client_id).update(disabled_at=moment)

    @rule(where=TWO)
    def switch_an_organization(self, where: int) -> None:
        place = self.places[where]
        self.suspended ^= {place.pk}
        place.suspended_at = timezone.now() if place.pk in self.suspended else None
        place.save()

    @rule()
    def all_is_well_again(self) -> None:
        # Without this something is switched off most of the time, and nothing is tried.
        self.user.is_active = True
        self.user.save()
        Client.objects.update(disabled_at=None)
        for place in self.places:
            place.suspended_at = None
            place.save()
        self.disabled.clear()
        self.suspended.clear()

    @rule(where=TWO)
    def leave_or_come_back(self, where: int) -> None:
        membership = self._membership(where)
        if membership is None:
            organizations.join(self.places[where], self.user)
        else:
            membership.delete()

    @rule(pause=st.sampled_from(sorted(PAUSES)))
    def time_passes(self, pause: str) -> None:
        self.clock.shift(PAUSES[pause])

    @rule()
    def night_falls(self) -> None:
        cleanup.prune_unused_clients()
        cleanup.prune_spent_credentials()
        now = timezone.now()
        for family in self.given:
            family.code_gone |= now > family.runs_out + DAY
        for pair in self.issued:
            pair.access_gone |= now > pair.runs_out + WEEK

    def _nothing_comes_back(self, family: Family) -> None:
        for pair in self.issued:
            with undo():
                answer = pair.family.client.refresh(pair.refresh)
                if pair.family is family and answer.status_code < BAD:
                    assert is_within(scopes.parse(tokens_of(answer).scope), family.scope)

    # --- What must hold after every step ---------------------------------------------------------

    @invariant()
    def a_bearer_works_exactly_while_its_token_family_is_active(self) -> None:
        for pair in self.issued:
            principal = self._principal(pair)
            alive = self._stands(pair.family) and timezone.now() < pair.runs_out
            assert (principal is not None) is alive
            if principal is not None:
                assert all(map(pair.scope.covers, principal.scope))
                assert all(map(pair.family.scope.covers, principal.scope))

    @invariant()
    def no_refresh_token_works_under_a_dead_root(self) -> None:
        for pair in self.issued:
            if not self._stands(pair.family):
                with undo():
                    assert pair.family.client.refresh(pair.refresh).status_code >= BAD

    @invariant()
    def no_code_works_under_a_dead_root(self) -> None:
        for family in self.given:
            if not self._stands(family):
                with undo():
                    assert family.client.exchange(family.code).status_code >= BAD

    # --- The model -------------------------------------------------------------------------------

    def _stands(self, family: Family) -> bool:
        return (
            not family.ended
            and self.user.is_active
            and self._is_member(family)
            and family.client.client_id not in self.disabled
            and family.membership.organization_id not in self.suspended
        )

    def _is_member(self, family: Family) -> bool:
        return Membership.objects.filter(pk=family.membership.pk).exists()

    def _is_listed(self, family: Family) -> bool:
        return self._is_member(family) and Authorization.objects.filter(pk=family.root.pk).exists()

    def _code_works(self, family: Family) -> bool:
        fresh = not family.code_spent and timezone.now() < family.runs_out
        return fresh and self._stands(family)

    def _refresh(self, pair: Pair, **fields: str) -> Any:
        # What a token holds is what it was given, less what the person has taken away since.
        held = pair.scope.intersect(pair.family.scope)
        asked = scopes.parse(fields["scope"]) if fields else held
        works = not pair.spent and self._stands(pair.family) and is_within(asked, held)
        successor = self._find_successor(pair, asked, held)
        answer = pair.family.client.refresh(pair.refresh, **fields)
        if successor:
            again = tokens_of(answer)
            assert (again.access, again.refresh) == (successor.access, successor.refresh)
            return multiple()
        self._end_if_spent(pair.family, pair.spent)
        given = self._pair(pair.family, answer, expected=works, scope=asked)
        if works:
            pair.spent, pair.spent_at, pair.successor = True, timezone.now(), given
        return given

    def _find_successor(self, pair: Pair, asked: ScopeSet, held: ScopeSet) -> Pair | None:
        """The pair that a spent token is still good for."""
        child, since = pair.successor, pair.spent_at
        if child is None or since is None or timezone.now() >= since + self.window:
            return None
        same = is_within(asked, held) and child.scope.intersect(pair.family.scope) == asked
        return child if same and not child.spent and self._stands(pair.family) else None

    def _end_if_spent(self, family: Family, spent: object) -> None:
        """A spent credential came back: whatever else was wrong with it, its family is over."""
        if spent:
            family.ended = True
            family.root.refresh_from_db()
            assert family.root.revoked_at is not None

    def _pair(self, family: Family, answer: Response, *, expected: bool, scope: ScopeSet) -> Any:
        assert (answer.status_code == 200) is expected, answer.content
        if not expected:
            return multiple()
        given = tokens_of(answer)
        assert scopes.parse(given.scope) == scope
        assert is_within(scope, family.scope)
        pair = Pair(family, given.access, given.refresh, scope, timezone.now() + HOUR)
        self.issued.append(pair)
        return pair

    def _membership(self, where: int) -> Membership | None:
        return Membership.objects.filter(user=self.user, organization=self.places[where]).first()

    def _other(self, family: Family) -> OAuthClient:
        return self.clients[family.client is self.clients[0]]

    def _principal(self, pair: Pair) -> Principal | None:
        try:
            return authenticate(f"Bearer {pair.access}", ACCESS_TOKEN_VERIFIERS)
        except Unauthenticated:
            return None


class ForgivingFamilies(Families):
    window = timedelta(seconds=30)

    @rule(target=Families.pairs, pair=Families.pairs)
    def refresh_and_lose_the_answer(self, pair: Pair) -> Any:
        given = self._refresh(pair)
        self._refresh(pair)
        return given


@pytest.fixture
def high_limits(settings: Any) -> None:
    for name in ("TOKEN", "IP", "REGISTER", "REGISTER_ATTEMPTS"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 1))


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("high_limits")
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(Families, id="codes-refreshes-revocations-and-departures"),
        pytest.param(ForgivingFamilies, id="with-the-replay-window-open"),
    ],
)
def test_nothing_lives_under_a_dead_root(machine: type[Families], settings: Any) -> None:
    settings.HALO_REFRESH_REPLAY_SECONDS = int(machine.window.total_seconds())
    few = hypothesis.settings(
        max_examples=20,
        stateful_step_count=25,
        deadline=None,
        # No shrinking: it would play for minutes before it shows what it found.
        phases=[hypothesis.Phase.reuse, hypothesis.Phase.generate],
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=few)
