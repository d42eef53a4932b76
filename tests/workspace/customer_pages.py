"""The admin's pages about customers, and about files of customers, companies and tickets."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from customers.imports import uploads
from foundation.admin_urls import row_url
from tests.console import markup
from workspace.models import DataImport, ImportStatus, Organization

CUSTOMERS = "/admin/workspace/customer/"
IMPORTS = "/admin/workspace/dataimport/"
UPLOAD = f"{IMPORTS}add/"
# Files, the last one without its rows.
COMPANIES = (
    "external_id,name,domain,mrr,on_contract,renewal_date,custom.Tier\n"
    "acme,Acme,https://www.Acme.example/,1499.90,yes,2027-01-31,gold\n"
)
TICKETS = (
    "external_id,subject,status,customer_id,created_at,resolved_at,message,custom.browser\n"
    "T-1,Export fails,resolved,user-1,2026-03-02T09:30:00Z,2026-03-03,"
    '"Nothing happens.\nPlease help.",Firefox\n'
)
EMAILS = "external_id,email\n"


def words(response: Any) -> str:
    """What a page says."""
    return markup.read(response.content).text


def upload(
    admin: Client, organization: Organization, data: bytes | str, kind: str = "customers"
) -> Any:
    """The response to a file that was sent: the form with errors, or the way to its page."""
    content = data.encode() if isinstance(data, str) else data
    file = SimpleUploadedFile(f"{kind}.csv", content, "text/csv")
    return admin.post(UPLOAD, {"organization": str(organization.pk), "kind": kind, "file": file})


def check(
    admin: Client, organization: Organization, data: bytes | str, kind: str = "customers"
) -> Any:
    """The page of a file that the worker has checked, or the form that refuses it."""
    answer = upload(admin, organization, data, kind)
    if answer.status_code != 302:
        return answer
    given = DataImport.objects.latest("created_at")
    uploads.work(given.pk)
    return admin.get(row_url(given))


def send(
    admin: Client, organization: Organization, data: bytes | str, kind: str = "customers"
) -> Any:
    """The page of a file that was uploaded, checked, confirmed and imported, as far as it came."""
    page = check(admin, organization, data, kind)
    given = DataImport.objects.order_by("created_at").last()
    if page.status_code != 200 or given is None or given.status != ImportStatus.READY:
        return page
    admin.post(row_url(given, "confirm"))
    uploads.work(given.pk)
    return admin.get(row_url(given))
