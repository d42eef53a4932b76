"""A person asks their workspace in a real browser, without script too."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import accessibility, chromium
from tests.browser.chromium import Visitor
from tests.drivers.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.process]


@pytest.fixture
def person(browser: Browser, server: Server) -> Iterator[Visitor]:
    with chromium.visiting(browser, server.url) as visitor:
        yield visitor.open_and_sign_in()
        assert visitor.problems == []


def test_a_person_asks_and_reads_the_answer(person: Visitor) -> None:
    page = person.page
    page.get_by_role("link", name="Ask", exact=True).click()
    assert accessibility.findings(person) == []
    page.get_by_role("link", name="Search the documentation").click()
    page.get_by_label("Query").fill("how long does a token live " * 8)
    page.get_by_label("Page size").fill("3")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="Answer", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("row")).to_have_count(4)
    assert accessibility.findings(person) == []
    page.reload()
    expect(page.get_by_role("row")).to_have_count(4)
    page.go_back()
    expect(page.get_by_role("button", name="Send")).to_be_enabled()


def test_the_pages_are_held_to_axe_and_work_without_script(
    browser: Browser, server: Server
) -> None:
    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in().open("/ask")
        visitor.page.get_by_role("link", name="Search tickets").click()
        visitor.page.get_by_label("From").fill("last tuesday")
        visitor.page.get_by_role("button", name="Send").click()
        expect(visitor.page.get_by_label("From")).to_have_attribute("aria-invalid", "true")
        assert accessibility.findings(visitor) == []
        visitor.page.get_by_label("From").fill("-30d")
        visitor.page.get_by_role("button", name="Send").click()
        expect(visitor.page.get_by_role("heading", name="Answer", exact=True)).to_be_visible()
        assert accessibility.findings(visitor) == []
        assert visitor.problems == []
        kept = visitor.page.context.storage_state()
    with chromium.visiting(
        browser, server.url, storage_state=kept, java_script_enabled=False
    ) as plain:
        plain.open("/ask")
        plain.page.get_by_role("link", name="Read a documentation page").click()
        plain.page.get_by_label("Page").fill("tokens")
        plain.page.get_by_role("button", name="Send").click()
        expect(plain.page.get_by_role("heading", name="As JSON")).to_be_visible()
