"""A person in a browser, over HTTP: follows redirects, fills in forms, keeps cookies."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx2

from tests.drivers.server import EMAIL, PASSWORD


@dataclass
class Form:
    action: str = ""
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Forms(HTMLParser):
    """The forms of a page, with what a browser would send: ticked boxes, hidden fields."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(given.get("action", "")))
        elif self.found and tag == "button" and given.get("name"):
            self.found[-1].buttons.append((given["name"], given.get("value", "")))
        elif self.found and tag == "input" and given.get("name"):
            unticked = given.get("type") in {"checkbox", "radio"} and "checked" not in given
            if not unticked:
                self.found[-1].fields.append((given["name"], given.get("value", "")))


class Person:
    """Signs in when asked, and approves what the page shows unless asked to untick."""

    def __init__(
        self,
        *,
        untick: frozenset[str] = frozenset(),
        decision: str = "approve",
        email: str = EMAIL,
        password: str = PASSWORD,
    ) -> None:
        self.browser = httpx2.Client(timeout=30)
        self.email, self.password = email, password
        self.untick = untick
        self.decision = decision
        self.consent_page = ""

    def open(self, url: str) -> str:
        """Open an authorize address; returns the address the browser is sent to in the end."""
        response = self.browser.get(url)
        if response.status_code == 302 and "/signin" in response.headers["location"]:
            response = self._sign_in(urljoin(url, response.headers["location"]))
            response = self.browser.get(urljoin(url, response.headers["location"]))
        assert response.status_code == 200, response.text
        self.consent_page = response.text
        return self._decide(response)

    def visit(self, url: str) -> None:
        """Open an authorize address, go where the server sends the browser, and close it."""
        with self.browser:
            self.browser.get(self.open(url)).raise_for_status()

    def _sign_in(self, url: str) -> httpx2.Response:
        page = self.browser.get(url)
        form = form_with(page.text, "login")
        sent = dict(form.fields) | {"login": self.email, "password": self.password}
        response = self.browser.post(urljoin(url, form.action), data=sent)
        assert response.status_code == 302, response.text
        return response

    def _decide(self, page: httpx2.Response) -> str:
        form = form_with(page.text, "request")
        sent = [pair for pair in form.fields if pair not in {("scope", s) for s in self.untick}]
        values: dict[str, list[str]] = {}
        for name, value in [*sent, ("decision", self.decision)]:
            values.setdefault(name, []).append(value)
        response = self.browser.post(urljoin(str(page.url), form.action), data=values)
        assert response.status_code == 302, response.text
        location: str = response.headers["location"]
        return location


def form_with(html: str, name: str) -> Form:
    forms = Forms()
    forms.feed(html)
    return next(form for form in forms.found if any(field == name for field, _ in form.fields))
