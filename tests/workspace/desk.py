"""An admin at the pages about customers."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.console import markup
from workspace.models import Organization

CUSTOMERS = "/admin/workspace/customer/"
IMPORT = f"{CUSTOMERS}import/"


def words(response: Any) -> str:
    """What a page says."""
    return markup.read(response.content).text


def send(admin: Client, organization: Organization, data: bytes | str) -> Any:
    """The page after a file was sent, or after the one it leads to."""
    content = data.encode() if isinstance(data, str) else data
    file = SimpleUploadedFile("customers.csv", content, "text/csv")
    return admin.post(IMPORT, {"organization": str(organization.pk), "file": file}, follow=True)
