"""Creates organizations and people on the pages of the Django admin."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from urllib.parse import urljoin

from tests.drivers.person import Person, form_with
from tests.drivers.server import Server

PASSWORD = "a long phrase for the newcomer"
SAVED = 302


@dataclass(frozen=True)
class AdminPages:
    """The admin's browser, signed in."""

    person: Person
    server: Server

    def hire(self, *, email: str, organizations: int) -> None:
        """A person with `PASSWORD` who is a member of that many organizations of their own."""
        given = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
        user = self._add("workspace/user", email=email, **given)
        for number in range(organizations):
            slug = f"place-{token_hex(4)}"
            facts = {"name": f"Place {number}", "time_zone": "UTC", "currency": "USD"}
            place = self._add("workspace/organization", slug=slug, **facts)
            self._add("workspace/membership", user=user, organization=place, role="member")

    def _add(self, model: str, **values: str) -> str:
        """The id of a new row, made by filling in its form."""
        url = f"{self.server.url}/admin/{model}/add/"
        form = form_with(self.person.browser.get(url).text, "_save")
        sent = dict(form.fields) | values | {"_continue": "1"}
        reply = self.person.browser.post(url, data=sent)
        assert reply.status_code == SAVED, reply.text
        return urljoin(url, reply.headers["location"]).split("/")[-3]


@contextmanager
def open_admin_pages(server: Server) -> Iterator[AdminPages]:
    """The office of the admin whom the first start made."""
    person = Person()
    with person.browser:
        person._sign_in(f"{server.url}/signin")
        yield AdminPages(person, server)
