"""Somebody's consent, made straight in the database: who, where, through which client, for what."""

from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from django.utils import timezone

from customers import customers
from oauth import addresses, scopes
from oauth.grants import tokens
from oauth.models import Authorization, Client
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace import organizations
from workspace.models import Customer, FeatureFlag, Membership, Organization, User

_numbers = count(1)


@dataclass(frozen=True)
class Grant:
    """A token family: its user, organization and client, and access tokens of it on demand."""

    user: User
    organization: Organization
    membership: Membership
    client: Client
    authorization: Authorization

    def token(self, scope: str | None = None) -> str:
        """A new access token of this family, as a refresh would return it."""
        wanted = scopes.parse(self.authorization.scope if scope is None else scope)
        return tokens.issue(self.authorization, wanted).access

    def another(self) -> "Grant":
        """The consent of the same person to another client."""
        client = Client.objects.create(client_id=f"client-{next(_numbers)}", name="Another client")
        authorization = Authorization.objects.create(
            client=client,
            user=self.user,
            organization=self.organization,
            membership=self.membership,
            scope=self.authorization.scope,
            resource=self.authorization.resource,
        )
        return replace(self, client=client, authorization=authorization)

    def connect(
        self,
        integration: str,
        *,
        enabled: tuple[str, ...] = (),
        actions_on: bool = True,
        connection: ConnectionState = ConnectionState.CONNECTED,
    ) -> None:
        """Put an integration's switches into a state, whatever they were before."""
        IntegrationMode.objects.update_or_create(
            organization=self.organization,
            integration=integration,
            defaults={"actions_on": actions_on, "connection": connection},
        )
        agent = self.organization.agents.get()
        ActionToggle.objects.filter(agent=agent, integration=integration).delete()
        ActionToggle.objects.bulk_create(
            ActionToggle(agent=agent, integration=integration, action=action, enabled=True)
            for action in enabled
        )

    def customer(self, **facts: Any) -> Customer:
        """A customer of the organization."""
        return customers.keep(Customer(organization=self.organization, **facts))

    def switch_off(self, flag: str) -> None:
        FeatureFlag.objects.update_or_create(
            organization=self.organization, name=flag, defaults={"enabled": False}
        )

    def narrow(self, scope: str) -> None:
        Authorization.objects.filter(pk=self.authorization.pk).update(scope=scope)

    def revoke(self) -> None:
        Authorization.objects.filter(pk=self.authorization.pk).update(revoked_at=timezone.now())


def count_from(number: int) -> None:
    """Give the people, organizations and clients that follow these numbers."""
    global _numbers  # noqa: PLW0603  one count for a process
    _numbers = count(number)


def make_grant(scope: str = "actions:*", *, client_name: str = "Test client") -> Grant:
    """A consent by a new person, in a new organization, to a new client."""
    number = next(_numbers)
    user = User.objects.create_user(f"person{number}@example.com")
    organization = organizations.create(f"Organization {number}", owner=user)
    client = Client.objects.create(client_id=f"client-{number}", name=client_name)
    membership = Membership.objects.get(user=user, organization=organization)
    authorization = Authorization.objects.create(
        client=client,
        user=user,
        organization=organization,
        membership=membership,
        scope=scope,
        resource=addresses.resource(),
    )
    return Grant(user, organization, membership, client, authorization)
