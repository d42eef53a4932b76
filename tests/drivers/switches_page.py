"""The page with an organization's switches, as an admin's browser uses it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.test import Client

from tests.console import markup
from tests.console.markup import Element

ROOT = "/admin/tools_registry/integrationmode"
INDEX, WHY = f"{ROOT}/switches/", f"{ROOT}/why/"


def path_of(organization_id: UUID | str) -> str:
    return f"{INDEX}{organization_id}/"


@dataclass(frozen=True)
class SwitchesPage:
    """One organization's page in one browser."""

    browser: Client
    organization_id: UUID

    @property
    def path(self) -> str:
        return path_of(self.organization_id)

    def read(self, **query: str) -> Element:
        reply = self.browser.get(f"{self.path}?{urlencode(query)}")
        assert reply.status_code == 200, reply.content.decode()
        return markup.read(reply.content)

    def send(self, **fields: str) -> Any:
        """Post what no form of the page may have offered."""
        return self.browser.post(self.path, fields)

    def press(self, label: str, **query: str) -> Element:
        """Press the switch that is labelled so; returns the page that comes."""
        page = self.read(**query)
        (form,) = (one for one in page.all("form") if label_of(page, one) == label)
        reply = self.browser.post(self.path, fields_of(form), follow=True)
        assert reply.status_code == 200
        shown = markup.read(reply.content)
        return shown if not asks(shown) else self.confirm(shown)

    def confirm(self, shown: Element) -> Element:
        """Press the button of the page that asks before a wide change; returns the page after."""
        (form,) = shown.all("form", class_="halo-turn halo-confirm")
        reply = self.browser.post(self.path, fields_of(form), follow=True)
        assert reply.status_code == 200
        return markup.read(reply.content)

    def switches(self, **query: str) -> dict[str, bool]:
        """Every switch of the page by its label, and whether it is on."""
        page = self.read(**query)
        forms = [(label_of(page, form), form) for form in page.all("form")]
        return {
            label: form.one("button").attributes["aria-checked"] == "true"
            for label, form in forms
            if label
        }


def asks(shown: Element) -> bool:
    """Whether a page asks before it changes anything."""
    return shown.one("h1").text.endswith("?")


def label_of(page: Element, form: Element) -> str:
    """What the switch in a form is called; empty for a form without one."""
    found = form.all("button", role="switch")
    if not found:
        return ""
    (label,) = (
        one for one in page if one.attributes.get("id") == found[0].attributes["aria-labelledby"]
    )
    return label.text


def fields_of(form: Element) -> dict[str, str]:
    return {one.attributes["name"]: one.attributes["value"] for one in form.all("input")}
