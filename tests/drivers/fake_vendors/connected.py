"""Connects an organization to a fake vendor by writing its rows."""

from typing import Any

from tests.drivers.fake_vendors.contract import FakeVendor
from tests.drivers.grants import Grant
from tools_registry import registry, vendors
from tools_registry.api import BoundCustomer, ToolContext, Toolset, VendorConnection
from tools_registry.models import IntegrationMode
from tools_registry.pipeline.calls import ORGANIZATION_FACTS
from tools_registry.vendors import credentials

# For toolsets that never send anything.
SOUND = VendorConnection(
    base_url="https://crm.example/api", credential="API key", check=lambda _vendor: "the CRM"
)


def connect(grant: Grant, integration: str, fake: FakeVendor, **settings: str) -> None:
    """Every action on, the fake vendor's token stored, the integration's settings as given."""
    toolsets = registry.native_toolsets()
    (toolset,) = (one for one in toolsets if one.integration == integration)
    connect_toolset(grant, toolset, fake.token, **settings)


def connect_toolset(grant: Grant, toolset: Toolset, secret: str, **settings: str) -> None:
    """As `connect`, for any toolset and with any credential."""
    name = toolset.integration
    grant.connect(name, enabled=tuple(tool.action for tool in toolset.tools))
    mode = IntegrationMode.objects.get(organization=grant.organization, integration=name)
    mode.settings = settings
    mode.save()
    credentials.store(mode, secret)


def connection(integration: str) -> VendorConnection:
    """How an integration is connected, for one that is."""
    found = registry.connection(integration)
    assert found is not None
    return found


def run(grant: Grant, name: str, arguments: dict[str, Any], customer: BoundCustomer | None) -> Any:
    """What a tool makes of its arguments for a customer, behind the gate and with a real vendor."""
    tool = registry.WORKSPACE_CATALOGUE.find(name, grant.organization.pk)
    assert tool is not None
    context = ToolContext(
        organization_id=str(grant.organization.pk),
        user_id=str(grant.user.pk),
        public_url="http://127.0.0.1:8000",
        workspace=ORGANIZATION_FACTS,
        customer=customer,
        vendor=vendors.get_vendor(grant.organization.pk, tool.integration),
    )
    result: Any = tool.run(context, **arguments)
    return result.value
