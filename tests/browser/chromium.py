"""Headless Chromium that talks to this machine only, and what a page did to be complained of."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Frame, Page, expect, sync_playwright

from tests.drivers.server import EMAIL, PASSWORD

TIMEOUT_MILLISECONDS = 30_000
# Expectations have a timeout of their own, else of five seconds.
expect.set_options(timeout=TIMEOUT_MILLISECONDS)
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Names the folder that screenshots are kept in.
WANTED_PICTURES = "HALO_TEST_PICTURES"
ASTRAY = "This page can't be opened this way"
# Nothing but loopback has an address, and no service of Chromium's own asks for one.
ALONE = [
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
]
# Chromium's sandbox refuses to be root's.
AS_ROOT = ["--no-sandbox"] if os.geteuid() == 0 else []
REPORT_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', event =>
    reportViolation(`${event.violatedDirective} stopped ${event.blockedURI}`))
"""


def find() -> str | None:
    """Where Chromium is installed.

    The headless shell has no windows, which take Chromium most of the time of a short test.
    """
    names = ("chromium-headless-shell", "/usr/bin/chromium", "chromium")
    return next(filter(None, map(shutil.which, names)), None)


class SharedBrowser:
    """Chromium for all tests of a process: it starts when the first of them needs it.

    Playwright's event loop runs in the thread of the tests for as long as it lives. Neither
    Django's database nor asyncio.run work in a thread with a running loop, so it counts as running
    only while a test uses the browser. It waits meanwhile, as it does between two calls.
    """

    def __init__(self, executable: str) -> None:
        self._executable = executable
        self._stack = ExitStack()
        self._browser: Browser | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def use(self) -> Iterator[Browser]:
        """The browser, for tests that need neither of the two while they use it."""
        asyncio._set_running_loop(self._loop)
        try:
            browser = self._browser or self._start()
            yield browser
            for context in browser.contexts:
                context.close()
        finally:
            asyncio._set_running_loop(None)

    def _start(self) -> Browser:
        playwright = self._stack.enter_context(sync_playwright())
        self._browser = self._stack.enter_context(
            playwright.chromium.launch(executable_path=self._executable, args=ALONE + AS_ROOT)
        )
        self._loop = asyncio.get_running_loop()
        return self._browser

    def close(self) -> None:
        asyncio._set_running_loop(self._loop)
        self._stack.close()


@dataclass
class Visitor:
    """One person's browser: its open page, and every problem that a page reported."""

    page: Page
    url: str
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Open a path of the server, or a whole address."""
        self.page.goto(path if "://" in path else self.url + path)

    def sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> None:
        """Fill in the sign-in form that is shown."""
        self.page.get_by_label("Email").fill(email)
        self.page.get_by_label("Password", exact=True).fill(password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()

    def open_and_sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> "Visitor":
        self.open("/signin")
        self.sign_in(email, password)
        return self

    def send_astray(self) -> None:
        """Send the sign-in form to a page that takes none."""
        self.open("/signin")
        password = self.page.get_by_label("Password", exact=True)
        password.evaluate("field => { field.form.action = '/docs/' }")
        self.sign_in()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(ASTRAY)

    def complain(self, problem: str) -> None:
        self.problems.append(problem)

    def listen(self, said: ConsoleMessage) -> None:
        # That a page is an answer of 4xx is reported as a failed load; tests look at statuses.
        if said.type in {"error", "warning"} and "Failed to load resource" not in said.text:
            self.complain(said.text)

    @property
    def too_wide_by(self) -> int:
        """CSS pixels that the page can be scrolled sideways."""
        by: int = self.page.evaluate(
            "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
        )
        return by


def wait_until(page: Page | Frame, condition: str) -> None:
    """Wait until an expression of JavaScript is true.

    Playwright has the page compile an expression each time that it looks, which a content security
    policy refuses. A function is compiled once, where no policy applies.
    """
    page.wait_for_function(f"() => {condition}")


@contextmanager
def visiting(browser: Browser, url: str, **given: Any) -> Iterator[Visitor]:
    """A browser profile of its own; `given` is what playwright takes for a context."""
    context = browser.new_context(**{"viewport": DESKTOP} | given)
    context.set_default_timeout(TIMEOUT_MILLISECONDS)
    visitor = Visitor(context.new_page(), url)
    context.expose_function("reportViolation", visitor.complain)
    context.add_init_script(REPORT_VIOLATIONS)
    visitor.page.on("console", visitor.listen)
    visitor.page.on("pageerror", lambda error: visitor.complain(str(error)))
    try:
        yield visitor
    finally:
        context.close()
