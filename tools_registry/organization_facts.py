"""What tools may learn of their organization (`types.Workspace`), read when they ask."""

from django.conf import settings

from tools_registry.types import WidgetKeys
from workspace.models import Organization


class OrganizationFacts:
    """Answers from the database, always for the organization of the caller's token."""

    def widget_keys(self, organization_id: str) -> WidgetKeys:
        organization = Organization.objects.only("widget_key").get(pk=organization_id)
        return WidgetKeys(
            organization_id=str(organization.pk),
            widget_key=organization.widget_key,
            script_url=settings.HALO_WIDGET_SCRIPT_URL,
        )
