"""The conditions under which a grant (an `Authorization`) is active, in one table.

Authentication reads `SQL`; the token endpoint, consent and approvals read `active`; Connections
and the page that explains a refusal read `failing`. What depends on the clock or on a setting is
not in the table: the age of tokens (`oauth/grants/authorizations.py`) and the resource that they
are for.
"""

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, Final, TypeAlias

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from oauth.models import Authorization

Text: TypeAlias = str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantCondition:
    """A condition; `sql` and `lookup` are equivalent.

    `sql` uses the aliases of `oauth/credentials.py`: a for the authorization, m for its membership,
    u for its user, o for its organization and c for its client. `lookup` is relative to
    `Authorization` and has to equal `value`. `holding` and `message` are sentences without capital
    and full stop; `{reason}` in a message is the reason of the revocation. `page` is the admin page
    on which the remedy is applied, and `key` the attribute of the authorization with the row of
    that page, if it has one.
    """

    name: str
    sql: str
    lookup: str
    value: bool
    holding: Text
    message: Text
    remedy: Text
    page: str
    key: str = ""
    is_final: bool = False
    """Whether a grant that fails has ended for good; else it is paused while it fails."""

    def q(self, prefix: str = "") -> Q:
        """Returns the filter for rows that meet it; `prefix` leads to the authorization."""
        return Q(**{f"{prefix}{self.lookup}": self.value})

    def explain(self, authorization: Authorization) -> str:
        """Explains why an authorization fails the condition, without capital and full stop."""
        return str(self.message).format(reason=authorization.revoke_reason or _("no reason given"))

    @property
    def annotation(self) -> str:
        return f"meets_{self.name}"


NOT_REVOKED: Final = GrantCondition(
    name="authorization",
    sql="a.revoked_at IS NULL",
    lookup="revoked_at__isnull",
    value=True,
    holding=_("the authorization is not revoked"),
    message=_("the authorization was revoked ({reason})"),
    remedy=_("Ask the user to reconnect the client."),
    page="oauth_authorization_change",
    key="pk",
    is_final=True,
)
# Null once the user has left: a later membership is another row and does not restore it.
IS_MEMBER: Final = GrantCondition(
    name="membership",
    sql="a.membership_id IS NOT NULL",
    lookup="membership__isnull",
    value=False,
    holding=_("the user is a member of the organization"),
    message=_("the user has left the organization since the authorization was given"),
    remedy=_("Add the user to the organization, then ask them to reconnect the client."),
    page="workspace_user_change",
    key="user_id",
    is_final=True,
)
MEMBER_IS_ACTIVE: Final = GrantCondition(
    name="member",
    sql="m.suspended_at IS NULL",
    lookup="membership__suspended_at__isnull",
    value=True,
    holding=_("the membership is not suspended"),
    message=_("an administrator of the organization has suspended the membership"),
    remedy=_("Restore the membership."),
    page="workspace_membership_change",
    key="membership_id",
)
USER_IS_ACTIVE: Final = GrantCondition(
    name="user",
    sql="u.is_active",
    lookup="user__is_active",
    value=True,
    holding=_("the user is active"),
    message=_("the user is deactivated"),
    remedy=_("Activate the user."),
    page="workspace_user_change",
    key="user_id",
)
CLIENT_IS_ENABLED: Final = GrantCondition(
    name="client",
    sql="c.disabled_at IS NULL",
    lookup="client__disabled_at__isnull",
    value=True,
    holding=_("the client is enabled"),
    message=_("an administrator has disabled this client"),
    remedy=_("Enable the client."),
    page="oauth_client_changelist",
)
ORGANIZATION_IS_ACTIVE: Final = GrantCondition(
    name="organization",
    sql="o.suspended_at IS NULL",
    lookup="organization__suspended_at__isnull",
    value=True,
    holding=_("the organization is not suspended"),
    message=_("the organization is suspended"),
    remedy=_("Clear “Suspended” on the organization."),
    page="workspace_organization_change",
    key="organization_id",
)

# In the order of explanation: Connections names the first that fails.
CONDITIONS: Final = (
    NOT_REVOKED,
    IS_MEMBER,
    MEMBER_IS_ACTIVE,
    USER_IS_ACTIVE,
    CLIENT_IS_ENABLED,
    ORGANIZATION_IS_ACTIVE,
)
SQL: Final = "\n   AND ".join(condition.sql for condition in CONDITIONS)
# For a credential of a user that no client was given, in a statement with the same aliases
# (`oauth/mcp_tokens.py`).
SQL_WITHOUT_CLIENT: Final = "\n   AND ".join(
    condition.sql for condition in CONDITIONS if condition is not CLIENT_IS_ENABLED
)


def active(prefix: str = "") -> Q:
    """Returns the filter for active grants, and for credentials under one with a prefix."""
    return reduce(and_, (condition.q(prefix) for condition in CONDITIONS))


def not_ended() -> Q:
    """Returns the filter for grants that are active or paused, including those that are too old."""
    return reduce(and_, (condition.q() for condition in CONDITIONS if condition.is_final))


def annotate(rows: QuerySet[Authorization]) -> QuerySet[Authorization]:
    """Returns the same authorizations, as `failing` needs them; costs no further statement."""
    values: dict[str, Any] = {
        condition.annotation: ExpressionWrapper(condition.q(), output_field=BooleanField())
        for condition in CONDITIONS
    }
    return rows.annotate(**values)


def failing(authorization: Authorization) -> tuple[GrantCondition, ...]:
    """Returns the conditions that an authorization from `annotate` did not meet."""
    return tuple(one for one in CONDITIONS if not getattr(authorization, one.annotation))


def has_ended(authorization: Authorization) -> bool:
    """Returns whether an authorization from `annotate` can never be active again."""
    return any(condition.is_final for condition in failing(authorization))


def sentence(text: Text) -> str:
    """Returns a text of the table with capital and full stop."""
    return f"{capfirst(str(text))}."
