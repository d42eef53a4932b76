"""An admin imports a file in a real browser, from the template to the report of refused rows."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import accessibility, chromium
from tests.browser.chromium import Visitor
from tests.drivers.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]

# The worker picks a file up within seconds; a machine that is busy takes longer.
SOON = 60_000
REFUSED = "external_id,mrr\n" + "".join(f"c-{number},much\n" for number in range(60))
UNCLEAR = (
    "Company ID;MRR;Renewal date;Stufe\n"
    "sprocket;40.000;06/07/2026;Gold\ngear;50.000;07/08/2026;Silber\ngizmo;much;08/09/2026;\n"
)


def upload(page: Page, name: str, content: bytes) -> None:
    organization = page.get_by_label("Organization")
    if not organization.input_value():
        organization.select_option(index=1)
    given = {"name": name, "mimeType": "text/csv", "buffer": content}
    page.get_by_label("File").set_input_files(files=[given])  # type: ignore[list-item]  # as Playwright documents it
    page.get_by_role("button", name="Upload and check").click()


def look(visitor: Visitor) -> None:
    assert accessibility.findings(visitor) == []
    assert visitor.problems == []


def test_a_file_is_previewed_confirmed_and_imported(browser: Browser, server: Server) -> None:
    with chromium.visiting(browser, server.url) as visitor:
        page = visitor.open_and_sign_in().page
        visitor.open("/admin/workspace/dataimport/add/?kind=companies")
        with page.expect_download() as download:
            page.get_by_role("link", name="Download a template for companies").click()
        template = Path(download.value.path()).read_bytes()
        upload(page, "companies.csv", template)

        expect(page.get_by_text("Ready to import")).to_be_visible(timeout=SOON)
        look(visitor)
        page.get_by_role("button", name="Import").click()

        expect(page.get_by_text("Imported", exact=True)).to_be_visible(timeout=SOON)
        expect(page.get_by_text("1 new")).to_be_visible()
        look(visitor)

        page.get_by_role("link", name="Upload another file").click()
        upload(page, "companies.csv", REFUSED.encode())
        expect(page.get_by_text("Nothing was imported.")).to_be_visible(timeout=SOON)
        look(visitor)


def test_a_file_that_is_unclear_is_corrected_and_imported_in_part(
    browser: Browser, server: Server
) -> None:
    with chromium.visiting(browser, server.url) as visitor:
        page = visitor.open_and_sign_in().page
        visitor.open("/admin/workspace/dataimport/add/?kind=companies")
        upload(page, "companies.csv", UNCLEAR.encode())

        expect(page.get_by_text("Needs your choices")).to_be_visible(timeout=SOON)
        look(visitor)
        page.get_by_label("Dates").select_option("dmy")
        page.get_by_label("Numbers").select_option("comma")
        page.get_by_label("Stufe").select_option("custom.Stufe")
        page.get_by_role("button", name="Check with these choices").click()

        expect(page.get_by_text("Nothing was imported.")).to_be_visible(timeout=SOON)
        page.get_by_text("Change how the file is read").click()
        expect(page.get_by_label("Numbers")).to_have_value("comma")
        look(visitor)
        page.get_by_role("button", name="Import the other 2 rows").click()

        expect(page.get_by_text("Imported", exact=True)).to_be_visible(timeout=SOON)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download the refused rows as CSV").click()
        assert "gizmo,much," in Path(download.value.path()).read_text(encoding="utf-8-sig")
        look(visitor)
