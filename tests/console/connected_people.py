"""People with connections, and the actions of their pages."""

import re
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID

from django.utils import timezone

from audit.models import ActionExecution, ActorKind, Outcome
from foundation.ids import uuid7
from oauth.models import Authorization, Client
from tests.console import markup
from tests.console.markup import Element
from tests.drivers.grants import Grant
from tests.drivers.oauth_client import Browser, Response
from tests.drivers.person import form_with

LIST = "/connections"
END_ALL = "/connections/revoke"
_numbers = count(1)


def path(grant: Grant) -> str:
    return f"{LIST}/{grant.authorization.pk}"


def another(grant: Grant, scope: str = "docs:read", **client: Any) -> Grant:
    """A further connection of the same person in the same place, through a client of its own."""
    number = next(_numbers)
    given = {"client_id": f"another-{number}", "name": f"Client {number}"} | client
    own = Client.objects.create(**given)
    root = Authorization.objects.get(pk=grant.authorization.pk)
    root.pk, root.client, root.scope = uuid7(), own, scope
    root.save(force_insert=True)
    return replace(grant, client=own, authorization=root)


def record_call(grant: Grant, *, ago: timedelta = timedelta(), method: str = "tools/call") -> None:
    """A row of the audit trail, as a call of that time left it."""
    then = timezone.now() - ago
    ActionExecution.objects.create(
        id=UUID(int=int(then.timestamp() * 1000) << 80 | uuid7().int & (1 << 76) - 1),
        started_at=then,
        authorization_id=str(grant.authorization.pk),
        actor_kind=ActorKind.MCP_CLIENT,
        method=method,
        outcome=Outcome.SUCCESS,
    )


def page(browser: Browser, address: str = LIST) -> Element:
    response = browser.open(address)
    assert response.status_code == 200, response.content
    return markup.read(response.content)


def cards(browser: Browser, address: str = LIST) -> dict[str, Element]:
    """The connections on the list, by the client's name, in the order they stand."""
    articles = page(browser, address).all("article")
    return {article.one("h2").one("bdi").text: article for article in articles}


def facts(element: Element) -> dict[str, str]:
    rows = element.one("dl", class_="facts").all("div")
    return {row.one("dt").text: row.one("dd").text for row in rows}


def keep(browser: Browser, grant: Grant, *ticked: str) -> Response:
    """Send the form of a connection with just these boxes ticked."""
    return browser.submit(browser.open(path(grant)), "scope", scope=[*ticked])


def press(browser: Browser, address: str) -> Response:
    """Press the button of a page that asks before it acts."""
    shown = browser.open(address)
    assert markup.read(shown.content).all("form", method="post", action=address)
    return browser.post(address, {"csrfmiddlewaretoken": _token(shown)})


def read_messages(browser: Browser, response: Response) -> list[str]:
    """What the page says that a change leads to."""
    assert response.status_code == 302, response.content
    lists = page(browser, response["Location"]).all("ul", role="status")
    return [item.text for one in lists for item in one.all("li")]


def scope_of(grant: Grant) -> str:
    return Authorization.objects.get(pk=grant.authorization.pk).scope


def is_over(grant: Grant) -> bool:
    return Authorization.objects.get(pk=grant.authorization.pk).revoked_at is not None


def remove_tokens(response: Response) -> bytes:
    """A page without what differs every time it is asked for."""
    body: bytes = response.content
    return re.sub(rb'name="csrfmiddlewaretoken" value="[^"]+"', b"", body)


def _token(shown: Response) -> str:
    return dict(form_with(shown.content.decode(), "csrfmiddlewaretoken").fields)[
        "csrfmiddlewaretoken"
    ]
