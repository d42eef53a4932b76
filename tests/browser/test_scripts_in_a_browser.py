"""The small scripts that every page loads: copy buttons, and times in the reader's zone."""

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser import chromium
from tests.browser.chromium import Visitor
from tests.drivers.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]

SAMPLE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Sample</title></head>
<body>
<pre id="snippet">first line<br>second line</pre>
<input id="field" value="of a field">
<button type="button" hidden data-copy="#snippet" data-copied="Copied">Copy snippet</button>
<button type="button" hidden data-copy="#field" data-copied="Copied">Copy field</button>
<button type="button" hidden data-copy="#missing">Copy nothing</button>
<time datetime="2026-11-22T23:30:05+00:00" data-local="time">Nov 22, 2026, 23:30:05 UTC</time>
<time datetime="2026-11-22T23:30:05+00:00" data-local="date">Nov 22, 2026</time>
<time datetime="never" data-local="time">unknown</time>
%s
</body></html>"""


def sample(visitor: Visitor) -> Page:
    """A page with each kind of element, and the scripts that a page of the server loads."""
    visitor.open("/signin")
    found = visitor.page.locator("script[type=module]")
    sources = found.evaluate_all("all => all.map(one => one.src)")
    scripts = [one for one in sources if "/copy." in one or "/times." in one]
    assert len(scripts) == 2
    tags = "".join(f'<script type="module" src="{one}"></script>' for one in scripts)

    def answer(route: Route) -> None:
        route.fulfill(body=SAMPLE % tags, content_type="text/html; charset=utf-8")

    visitor.page.route("**/sample", answer)
    visitor.open("/sample")
    return visitor.page


def test_a_copy_button_copies_text_with_its_lines_or_the_value_of_a_field(
    visitor: Visitor,
) -> None:
    page = sample(visitor)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for name, text in (("snippet", "first line\nsecond line"), ("field", "of a field")):
        page.get_by_role("button", name=f"Copy {name}").click()
        expect(page.get_by_role("status")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == text
        expect(page.get_by_role("button", name=f"Copy {name}")).to_be_visible()
    expect(page.get_by_text("Copy nothing")).to_be_hidden()


def test_times_are_shown_in_the_zone_of_the_reader(browser: Browser, server: Server) -> None:
    with chromium.visiting(browser, server.url, timezone_id="Europe/Berlin") as visitor:
        page = sample(visitor)
        times = page.locator("time")
        expect(times.nth(0)).to_have_text("Nov 23, 2026, 12:30:05\u202fAM GMT+1")
        expect(times.nth(0)).to_have_attribute("title", "Nov 22, 2026, 23:30:05 UTC")
        expect(times.nth(1)).to_have_text("Nov 23, 2026")
        expect(times.nth(2)).to_have_text("unknown")
        assert visitor.problems == []


def test_without_script_times_are_in_utc_and_no_copy_button_is_shown(
    browser: Browser, server: Server
) -> None:
    with chromium.visiting(browser, server.url, java_script_enabled=False) as visitor:
        visitor.page.route("**/plain", lambda route: route.fulfill(body=SAMPLE % ""))
        visitor.open("/plain")
        expect(visitor.page.locator("time").first).to_have_text("Nov 22, 2026, 23:30:05 UTC")
        expect(visitor.page.get_by_text("Copy snippet")).to_be_hidden()


def test_ux_10_code_of_a_documentation_page_has_a_copy_button(visitor: Visitor) -> None:
    visitor.open("/docs/connect-a-client")
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    blocks = page.locator(".prose pre")
    buttons = page.locator(".prose").get_by_role("button", name="Copy", exact=True)
    expect(buttons).to_have_count(blocks.count())
    buttons.first.click()
    expect(page.get_by_role("status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == blocks.first.inner_text().strip()
