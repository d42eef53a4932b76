"""All that has to stand behind a token, each asked by itself: why a token is refused.

The hot path asks the same in one statement and tells nobody which of it failed
(`oauth/principal.py`); this is for admins. A test holds the two together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from oauth import addresses, scopes
from oauth.models import AccessToken, Authorization
from oauth.scopes import ScopeSet
from workspace import flags, organizations

MOST_WORDS = 200


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that has to hold, in words; `model` and `row` say where an admin looks."""

    name: str
    holds: bool
    told: str
    model: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whose token it is, what it carries, and what holds of all that has to."""

    token_id: str
    authorization_id: str
    organization_id: UUID
    organization: str
    user_email: str
    client_name: str
    scope: ScopeSet
    mcp_server_on: bool
    conditions: tuple[Condition, ...]

    @property
    def holds(self) -> bool:
        """Whether a request with this token would be let in at all."""
        return all(condition.holds for condition in self.conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An authorization to choose from."""

    authorization_id: str
    user_email: str
    client_name: str
    organization: str
    created_at: datetime
    ended: bool


def behind(reference: str) -> Standing | None:
    """What stands behind the id of an access token, or of an authorization: its newest token.

    None for what is no such id. Tokens themselves are not looked up.
    """
    given = _uuid(reference)
    if given is None:
        return None
    tokens = AccessToken.objects.filter(Q(pk=given) | Q(authorization=given))
    token = tokens.order_by("-expires", "-pk").first()
    root = given if token is None else token.authorization_id
    authorization = _chains().filter(pk=root).first()
    return None if authorization is None else _standing(authorization, token)


def newest(words: str, *, most: int = 20) -> list[Found]:
    """The newest authorizations of people, clients or organizations that are called like this."""
    words = words.replace("\0", "")[:MOST_WORDS]
    called = (
        Q(user__email__icontains=words)
        | Q(client__name__icontains=words)
        | Q(organization__name__icontains=words)
    )
    return [_found(row) for row in _chains().filter(called).order_by("-pk")[:most]]


def _chains() -> QuerySet[Authorization]:
    return Authorization.objects.select_related("user", "client", "organization")


def _found(row: Authorization) -> Found:
    return Found(
        authorization_id=str(row.pk),
        user_email=row.user.email,
        client_name=row.client.name,
        organization=row.organization.name,
        created_at=row.created_at,
        ended=row.revoked_at is not None,
    )


def _uuid(reference: str) -> UUID | None:
    try:
        return UUID(reference.strip())
    except ValueError:
        return None


def _standing(chain: Authorization, token: AccessToken | None) -> Standing:
    consented = scopes.parse(chain.scope)
    return Standing(
        token_id="" if token is None else str(token.pk),
        authorization_id=str(chain.pk),
        organization_id=chain.organization_id,
        organization=chain.organization.name,
        user_email=chain.user.email,
        client_name=chain.client.name,
        scope=consented if token is None else scopes.parse(token.scope).intersect(consented),
        mcp_server_on=organizations.flag(chain.organization_id, flags.MCP_SERVER),
        conditions=(_alive(token), *_conditions(chain)),
    )


def _alive(token: AccessToken | None) -> Condition:
    if token is None:
        told = "There is no access token under this authorization now; the client gets one itself."
        return Condition("token", holds=False, told=told)
    until = f"{token.expires:%Y-%m-%d %H:%M} UTC"
    if token.expires > timezone.now():
        return Condition("token", holds=True, told=f"The access token is good until {until}.")
    told = f"The access token expired on {until}; the client gets a new one itself."
    return Condition("token", holds=False, told=told)


def _conditions(chain: Authorization) -> Iterator[Condition]:
    yield _condition(
        "authorization",
        "The authorization is in force.",
        "" if chain.revoked_at is None else f"It was ended: {chain.revoke_reason or 'revoked'}.",
        ("oauth_authorization", chain.pk),
    )
    yield _condition(
        "user",
        f"{chain.user} is active.",
        "" if chain.user.is_active else f"{chain.user} is deactivated.",
        ("workspace_user", chain.user_id),
    )
    gone = f"{chain.user} has left {chain.organization} since, and has to approve the client anew."
    yield _condition(
        "membership",
        f"{chain.user} is a member of {chain.organization}.",
        "" if chain.membership_id else gone,
        ("workspace_user", chain.user_id),
    )
    yield _condition(
        "organization",
        f"{chain.organization} is not suspended.",
        f"{chain.organization} is suspended." if chain.organization.suspended_at else "",
        ("workspace_organization", chain.organization_id),
    )
    yield _condition(
        "client",
        f"{chain.client.name} is enabled.",
        f"{chain.client.name} is disabled." if chain.client.disabled_at else "",
        ("oauth_client", chain.client_id),
    )
    mine = chain.resource == addresses.resource()
    yield _condition(
        "resource", "It was given for this server.", "" if mine else "It is for another address."
    )


def _condition(
    name: str, holding: str, trouble: str, place: tuple[str, object] = ("", "")
) -> Condition:
    return Condition(name, not trouble, trouble or holding, place[0], str(place[1]))
