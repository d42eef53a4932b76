"""What only a browser can tell: width, size of targets, and what the policy stops."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.test import Client
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.fixtures import Settings

from tests.browser.chromium import SharedBrowser
from tests.console import consent_context
from workspace.models import User

ORIGIN = "http://localhost"
LEAST_TARGET = 44  # CSS pixels: WCAG 2.2, 2.5.5
pytestmark = [
    pytest.mark.browser,
    pytest.mark.usefixtures("acme"),
]
# Links inside a sentence are excepted by 2.5.5 itself.
SMALL_TARGETS = """
    [...document.querySelectorAll(
            'button, summary, input:not([type=hidden]), nav a, .rows a, .button')]
        .map(one => one.matches('[type=checkbox], [type=radio]') ? one.parentElement : one)
        .filter(one => one.checkVisibility() && !one.matches('.skip'))
        .filter(one => one.getBoundingClientRect().height < 44)
        .map(one => one.outerHTML)
"""
# The page clips what is too wide instead of scrolling, so every element is asked for its edge.
TOO_WIDE = """
    [...document.querySelectorAll('body *')]
        .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
        .map(one => one.outerHTML.slice(0, 200))
"""


@dataclass(frozen=True)
class SavedPage:
    body: bytes
    headers: dict[str, str]


@pytest.fixture
def site(client: Client, ada: User, settings: Settings) -> dict[str, SavedPage]:
    """The pages as the server sends them, asked for before the browser's event loop runs."""
    settings.HALO_PUBLIC_URL = "https://assistants.a-company-with-a-long-name.example"
    paths = {"/signin", "/docs/", "/nowhere"}
    pages = {path: client.get(path) for path in paths}
    client.force_login(ada)
    pages |= {path: client.get(path) for path in ("/", "/signout")}
    kept = {path: SavedPage(one.content, dict(one.headers)) for path, one in pages.items()}
    return kept | {"/consent": SavedPage(consent(), kept["/"].headers)}


@pytest.fixture
def chromium(shared_browser: SharedBrowser, site: dict[str, SavedPage]) -> Iterator[Browser]:  # noqa: ARG001  must come first
    with shared_browser.use() as browser:
        yield browser


def consent() -> bytes:
    long = consent_context.page(
        client_name="Client" * 12,
        user_email="a.very.long.address.of.somebody@a-company-with-a-long-name.example",
        organizations=[consent_context.organization("Acme " * 9, selected=True)] * 2,
        remember=consent_context.remember(),
        notice="The tools shown are now those of " + "Acme " * 9,
    )
    return render_to_string("oauth/consent.html", {"page": long}).encode()


def show(
    browser: Browser, site: dict[str, SavedPage], path: str, **options: Any
) -> tuple[Page, list[str]]:
    """Open a page of the site; the second is what the browser complained of."""
    page = browser.new_page(**options)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.route("**/*", lambda route: answer(route, site))
    page.goto(ORIGIN + path)
    return page, complaints


def answer(route: Route, site: dict[str, SavedPage]) -> None:
    path = route.request.url.removeprefix(ORIGIN)
    if path in site:
        route.fulfill(body=site[path].body, headers=site[path].headers)
    elif path.startswith("/static/"):
        route.fulfill(path=str(finders.find(path.removeprefix("/static/"))))
    else:
        route.fulfill(status=204)


def test_pages_fit_narrow_screens_with_targets_a_finger_can_hit(
    chromium: Browser, site: dict[str, SavedPage]
) -> None:
    for path in site:
        for width in (320, 1280):
            page, complaints = show(chromium, site, path, viewport={"width": width, "height": 800})
            assert page.evaluate(TOO_WIDE) == [], (path, width)
            assert page.evaluate(SMALL_TARGETS) == [], (path, width)
            assert complaints == [], (path, width)
            page.close()


def test_pages_work_without_script_and_follow_the_systems_colours(
    chromium: Browser, site: dict[str, SavedPage]
) -> None:
    grounds = set()
    for scheme in ("light", "dark"):
        page, _ = show(chromium, site, "/", color_scheme=scheme, java_script_enabled=False)
        page.locator("summary", has_text="VS Code").click()
        assert page.locator("details[open]").count() == 1
        assert page.get_by_text("code --add-mcp").is_visible()
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert len(grounds) == 2


def test_the_answer_names_its_origin_although_the_page_tells_no_referrer(
    chromium: Browser, site: dict[str, SavedPage]
) -> None:
    reported = {"Referrer-Policy": "no-referrer"}
    page, _ = show(chromium, {"/consent": replace(site["/consent"], headers=reported)}, "/consent")
    with page.expect_request("**/api/mcp/oauth/consent") as answered:
        page.get_by_role("button", name="Approve").click()
    # Django's CSRF check refuses "Origin: null", which browsers send under no-referrer.
    assert answered.value.all_headers()["origin"] == ORIGIN


def test_the_keyboard_reaches_the_content_first_and_can_see_where_it_is(
    chromium: Browser, site: dict[str, SavedPage]
) -> None:
    page, _ = show(chromium, site, "/")
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    assert focused.inner_text() == "Skip to the content"
    assert focused.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused(timeout=20_000)
