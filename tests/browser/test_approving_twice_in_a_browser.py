"""spec.md 1: approving twice in a real browser never loses the code."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.callback import Callback
from tests.browser.chromium import Visitor
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]

BETWEEN_CLICKS = 120  # milliseconds, as measured in the review
LATENCY = 150  # milliseconds
APP = "cursor://anysphere.cursor-mcp/oauth/callback"
NO_LIMIT = -1
PROFILES = [
    pytest.param({}, id="script"),
    pytest.param({"java_script_enabled": False}, id="no-script"),
]


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Visitor]]:
    """Opens a profile of its own, with what playwright takes for a context."""
    opened = []

    def visiting(**given: Any) -> Visitor:
        context = chromium.visiting(browser, server.url, **given)
        opened.append(context)
        return context.__enter__()

    yield visiting
    for context in opened:
        context.__exit__(None, None, None)


def ask(visitor: Visitor, client: BareClient) -> None:
    """Sign in where that is needed, and open the consent page."""
    visitor.open(client.authorize_url)
    if "/signin" in visitor.page.url:
        visitor.sign_in()
    expect(visitor.page.get_by_role("button", name="Approve")).to_be_visible()


def slow_down(visitor: Visitor) -> None:
    tools = visitor.page.context.new_cdp_session(visitor.page)
    tools.send("Network.enable")
    conditions = {"offline": False, "latency": LATENCY}
    speed = {"downloadThroughput": NO_LIMIT, "uploadThroughput": NO_LIMIT}
    tools.send("Network.emulateNetworkConditions", conditions | speed)


def double_click(visitor: Visitor, name: str) -> None:
    """Two clicks as a person makes them: the second goes to whatever is there by then."""
    button = visitor.page.get_by_role("button", name=name)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    mouse = visitor.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(2):
        mouse.down()
        mouse.up()
        visitor.page.wait_for_timeout(BETWEEN_CLICKS)


def code_in(address: str) -> str:
    return parse_qs(urlsplit(address).query)["code"][0]


@pytest.mark.sqlite
@pytest.mark.parametrize("latency", [0, LATENCY])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_double_click_on_approve_connects_the_client(
    profile: dict[str, bool], latency: int, visit: Any, server: Server, program: Callback
) -> None:
    visitor = visit(**profile)
    for _ in range(3):
        client = BareClient(server, redirect_uri=program.url)
        ask(visitor, client)
        if latency:
            slow_down(visitor)
        double_click(visitor, "Approve")
        expect(visitor.page).to_have_title("Connected")
        arrived = [program.arrival()]
        arrived += [program.arrivals.get_nowait() for _ in range(program.arrivals.qsize())]
        # Usually one: the second navigation replaces the first. Never two different codes.
        assert len({code_in(one) for one in arrived}) == 1
        assert client.redeem(arrived[0])["token_type"] == "Bearer"
    assert visitor.problems == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_double_click_on_cancel_reaches_the_client_as_a_refusal(
    profile: dict[str, bool], visit: Any, server: Server, program: Callback
) -> None:
    visitor = visit(**profile)
    ask(visitor, BareClient(server, redirect_uri=program.url))
    slow_down(visitor)
    double_click(visitor, "Cancel")
    expect(visitor.page).to_have_title("Connected")
    assert "error=access_denied" in program.arrival()


def test_the_buttons_are_disabled_while_the_first_submit_is_under_way(
    visitor: Visitor, server: Server
) -> None:
    ask(visitor, BareClient(server, redirect_uri=APP))
    page = visitor.page
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Approve").click(no_wait_after=True)
    expect(page.get_by_role("button", name="Approve")).to_be_disabled()
    expect(page.get_by_role("button", name="Cancel")).to_be_disabled()
    # As the browser says when it brings the page back from its history.
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()


def test_an_app_that_did_not_open_gets_the_same_code_by_pressing_approve_again(
    visitor: Visitor, server: Server
) -> None:
    client = BareClient(server, redirect_uri=APP)
    ask(visitor, client)
    answers = []
    for _ in range(2):
        with visitor.page.expect_response(lambda one: one.request.method == "POST") as answered:
            visitor.page.get_by_role("button", name="Approve").click(no_wait_after=True)
        answers.append(answered.value.headers["location"])
        visitor.page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow'))")
    assert answers[0] == answers[1]
    assert client.redeem(answers[1])["token_type"] == "Bearer"


def test_going_back_and_approving_again_gives_a_code_that_works(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url)
    ask(visitor, client)
    visitor.page.get_by_role("button", name="Approve").click()
    first = program.arrival()
    expect(visitor.page).to_have_title("Connected")

    visitor.page.go_back()
    visitor.page.get_by_role("button", name="Approve").click()
    second = program.arrival()

    # From the history it is the same request; loaded again it is another one.
    for one in {code_in(first): first, code_in(second): second}.values():
        assert client.redeem(one)["token_type"] == "Bearer"


def test_a_reload_after_approving_asks_again_and_never_says_that_nothing_was_shared(
    visitor: Visitor, server: Server
) -> None:
    client = BareClient(server, redirect_uri=APP)
    ask(visitor, client)
    with visitor.page.expect_response(lambda one: one.request.method == "POST") as answered:
        visitor.page.get_by_role("button", name="Approve").click(no_wait_after=True)
    first = answered.value.headers["location"]
    # Not by the driver's own reload, which fails while the app's scheme is still being tried.
    with visitor.page.expect_response(lambda one: "/oauth/authorize" in one.url):
        visitor.page.evaluate("setTimeout(() => location.reload())")
    expect(visitor.page.get_by_role("button", name="Approve")).to_be_enabled()
    assert client.redeem(first)["token_type"] == "Bearer"


@pytest.mark.sqlite
def test_two_tabs_with_the_same_request_each_get_a_code_that_works(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url)
    ask(visitor, client)
    other = visitor.page.context.new_page()
    other.goto(client.authorize_url)
    for tab in (visitor.page, other):
        tab.get_by_role("button", name="Approve").click()
        assert client.redeem(program.arrival())["token_type"] == "Bearer"


@pytest.mark.sqlite
def test_a_form_that_was_sent_in_another_tab_leads_to_the_same_place(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url)
    ask(visitor, client)
    # A duplicated tab holds the same form.
    visitor.page.locator("form[data-submit-once]").evaluate("form => { form.target = '_blank' }")
    with visitor.page.context.expect_page() as opened:
        visitor.page.get_by_role("button", name="Approve").click()
    expect(opened.value).to_have_title("Connected")
    first = program.arrival()
    visitor.page.locator("form[data-submit-once]").evaluate("form => { form.target = '_self' }")
    visitor.page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow'))")
    visitor.page.get_by_role("button", name="Approve").click()
    assert program.arrival() == first
    assert client.redeem(first)["token_type"] == "Bearer"
