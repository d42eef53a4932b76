"""The status of a token, condition by condition: why it is refused. For admins.

Authentication checks the same conditions in one statement and does not say which one failed
(`oauth/credentials.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from oauth import addresses, scopes
from oauth.grants import grant_conditions
from oauth.grants.grant_conditions import sentence
from oauth.models import AccessToken, Authorization
from oauth.scopes import ScopeSet
from workspace import flags, organizations
from workspace.administration.access import EVERYWHERE, Reach

MAX_REASON_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result of one condition; `page` and `row` are where an admin changes it."""

    name: str
    holds: bool
    message: str
    remedy: str = ""
    page: str = ""
    row: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStatus:
    """The owner of a token, its scope, and the results of its conditions."""

    token_id: str
    authorization_id: str
    organization_id: UUID
    organization: str
    user_email: str
    client_name: str
    scope: ScopeSet
    mcp_server_on: bool
    issued_for: str
    """The public address of the deployment that issued the token."""
    results: tuple[ConditionResult, ...]

    @property
    def is_active(self) -> bool:
        """Whether a request with this token is authenticated."""
        return all(result.holds for result in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAuthorization:
    """An authorization to choose from."""

    authorization_id: str
    user_email: str
    client_name: str
    organization: str
    created_at: datetime
    ended: bool


def explain(reference: str) -> TokenStatus | None:
    """Returns the status of the access token with this id, or of an authorization's newest token.

    Returns None for other text. Tokens themselves are not looked up.
    """
    given = _uuid(reference)
    if given is None:
        return None
    tokens = AccessToken.objects.filter(Q(pk=given) | Q(authorization=given))
    token = tokens.order_by("-expires", "-pk").first()
    root = given if token is None else token.authorization_id
    authorization = _authorizations().filter(pk=root).first()
    return None if authorization is None else _status(authorization, token)


def newest(words: str, own: Reach = EVERYWHERE, *, limit: int = 20) -> list[FoundAuthorization]:
    """Returns the newest authorizations whose person, client or organization matches the words."""
    words = words.replace("\0", "")[:MAX_REASON_LENGTH]
    called = (
        Q(user__email__icontains=words)
        | Q(client__name__icontains=words)
        | Q(organization__name__icontains=words)
    )
    return [
        _found_authorization(row)
        for row in own.limit(_authorizations(), "organization")
        .filter(called)
        .order_by("-pk")[:limit]
    ]


def _authorizations() -> QuerySet[Authorization]:
    rows = Authorization.objects.select_related("user", "client", "organization")
    return grant_conditions.annotate(rows)


def _found_authorization(row: Authorization) -> FoundAuthorization:
    return FoundAuthorization(
        authorization_id=str(row.pk),
        user_email=row.user.email,
        client_name=row.client.name,
        organization=row.organization.name,
        created_at=row.created_at,
        ended=grant_conditions.has_ended(row),
    )


def _uuid(reference: str) -> UUID | None:
    try:
        return UUID(reference.strip())
    except ValueError:
        return None


def _status(authorization: Authorization, token: AccessToken | None) -> TokenStatus:
    consented = scopes.parse(authorization.scope)
    return TokenStatus(
        token_id="" if token is None else str(token.pk),
        authorization_id=str(authorization.pk),
        organization_id=authorization.organization_id,
        organization=authorization.organization.name,
        user_email=authorization.user.email,
        client_name=authorization.client.name,
        scope=consented if token is None else scopes.parse(token.scope).intersect(consented),
        issued_for=addresses.origin_of(authorization.resource),
        mcp_server_on=organizations.flag(authorization.organization_id, flags.MCP_SERVER),
        results=(
            _not_expired(token),
            *_grant_results(authorization),
            _for_this_server(authorization),
        ),
    )


def _not_expired(token: AccessToken | None) -> ConditionResult:
    if token is None:
        message = (
            "There is no access token under this authorization now; the client gets one itself."
        )
        return ConditionResult("token", holds=False, message=message)
    until = f"{token.expires:%Y-%m-%d %H:%M} UTC"
    if token.expires > timezone.now():
        return ConditionResult(
            "token", holds=True, message=f"The access token is good until {until}."
        )
    message = f"The access token expired on {until}; the client gets a new one itself."
    return ConditionResult("token", holds=False, message=message)


def _grant_results(authorization: Authorization) -> Iterator[ConditionResult]:
    failing = grant_conditions.failing(authorization)
    for condition in grant_conditions.CONDITIONS:
        if condition not in failing:
            yield ConditionResult(condition.name, holds=True, message=sentence(condition.holding))
            continue
        yield ConditionResult(
            condition.name,
            holds=False,
            message=sentence(condition.explain(authorization)),
            remedy=str(condition.remedy),
            page=condition.page,
            row=str(getattr(authorization, condition.key)) if condition.key else "",
        )


def _for_this_server(authorization: Authorization) -> ConditionResult:
    here = addresses.resource()
    if authorization.resource == here:
        return ConditionResult("resource", holds=True, message="It was issued for this server.")
    project = addresses.project_of(authorization.resource)
    if project is not None:
        message = f"It was issued for the project {project} of this server."
        return ConditionResult("resource", holds=True, message=message)
    return ConditionResult(
        "resource",
        holds=False,
        message=f"It was issued for {authorization.resource}; this is {here}.",
        remedy="Ask the user to reconnect the client to this server.",
    )
