"""A deployment with many tenants: enough rows in every table that reading one whole is a cost."""

from datetime import timedelta

from django.utils import timezone

from audit.models import ActionExecution
from foundation import ids
from oauth.models import AccessToken, Authorization, Client
from tools_registry.models import ActionToggle, ConnectionState, Credential, IntegrationMode
from workspace.flags import MCP_SERVER
from workspace.models import (
    Agent,
    AgentKind,
    Customer,
    FeatureFlag,
    Membership,
    Organization,
    User,
)

TENANTS = 2_000
INTEGRATIONS = ("crm", "desk", "linear")
ACTIONS = ("find_contact", "create_deal")


def gather() -> None:
    """Fill every table that the hot path reads or writes."""
    people = User.objects.bulk_create(
        User(email=f"tenants{number}@example.com") for number in range(TENANTS)
    )
    places = Organization.objects.bulk_create(
        Organization(
            name=f"Tenant {number}", slug=f"tenants-{number}", widget_key=f"tenants-{number}"
        )
        for number in range(TENANTS)
    )
    _consents(people, places)
    _switches(places)
    FeatureFlag.objects.bulk_create(
        FeatureFlag(organization=place, name=name, enabled=True)
        for place in places
        for name in (MCP_SERVER, "other")
    )
    Customer.objects.bulk_create(
        Customer(organization=place, email_key=f"{number}@example.com")
        for place in places
        for number in range(2)
    )
    ActionExecution.objects.bulk_create(
        ActionExecution(organization_id=str(place.pk), outcome="success") for place in places
    )


def _consents(people: list[User], places: list[Organization]) -> None:
    clients = Client.objects.bulk_create(
        Client(client_id=f"tenants-{number}") for number in range(TENANTS)
    )
    members = Membership.objects.bulk_create(
        Membership(user=person, organization=place)
        for person, place in zip(people, places, strict=True)
    )
    authorizations = Authorization.objects.bulk_create(
        Authorization(
            client=client,
            user=member.user,
            organization=member.organization,
            membership=member,
            scope="docs:read",
            resource="https://tenants.example/api/mcp",
        )
        for client, member in zip(clients, members, strict=True)
    )
    later = timezone.now() + timedelta(hours=1)
    AccessToken.objects.bulk_create(
        AccessToken(
            authorization=authorization,
            scope="docs:read",
            expires=later,
            token_checksum=ids.sha256_hex(f"{authorization.pk}-{number}"),
        )
        for authorization in authorizations
        for number in range(2)
    )


def _switches(places: list[Organization]) -> None:
    agents = Agent.objects.bulk_create(
        Agent(organization=place, kind=kind)
        for place in places
        for kind in (AgentKind.ASK_AI, AgentKind.INTERNAL)
    )
    ActionToggle.objects.bulk_create(
        ActionToggle(agent=agent, integration=integration, action=action, enabled=True)
        for agent in agents[::2]
        for integration in INTEGRATIONS
        for action in ACTIONS
    )
    modes = IntegrationMode.objects.bulk_create(
        IntegrationMode(
            organization=place, integration=integration, connection=ConnectionState.CONNECTED
        )
        for place in places
        for integration in INTEGRATIONS
    )
    Credential.objects.bulk_create(Credential(mode=mode, sealed=b"sealed") for mode in modes)
