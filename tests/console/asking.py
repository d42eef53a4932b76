"""“Ask your organization” as the browser of a person sends and shows it."""

import json
from typing import Any

from django.test import Client as Http

from audit.models import ActionExecution
from tests.console.markup import Element
from tests.console.markup import read as markup
from tests.drivers.grants import Grant
from workspace.models import User


def browser_of(user: User, **how: Any) -> Http:
    browser = Http(**how)
    browser.force_login(user)
    return browser


def ask_path(grant: Grant, tool: str = "") -> str:
    return f"/ask/{grant.organization.pk}" + (f"/{tool}" if tool else "")


def form_fields(arguments: dict[str, Any]) -> dict[str, Any]:
    return {f"arg.{name}": value for name, value in arguments.items()}


def ask(browser: Http, grant: Grant, tool: str, **arguments: Any) -> tuple[int, Element]:
    page = browser.post(ask_path(grant, tool), form_fields(arguments))
    return page.status_code, markup(page.content)


def control(page: Element, name: str) -> Element:
    (found,) = [one for one in page if one.attributes.get("id") == f"arg-{name}"]
    return found


def shown_json(page: Element) -> Any:
    return json.loads(page.one("pre", id="json").text)


def problem(page: Element) -> str:
    return page.one("p", role="alert").text


def call() -> ActionExecution:
    return ActionExecution.objects.get()
