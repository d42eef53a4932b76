"""A canary: marked credentials live through every flow, and are then found nowhere.

Not in a log line, not in a row of any table, and on no page of the admin.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import psycopg
import pytest
from django.contrib import admin
from psycopg import sql

from tests.drivers.oauth_client import AUTHORIZE, REVOKE, TOKEN, basic
from tests.drivers.person import Person
from tests.drivers.server import EMAIL, PASSWORD, Server
from tests.oauth.test_races_process import RemoteClient

TIMEOUT = 60

pytestmark = pytest.mark.process

MAX_PAGES = 400


@pytest.fixture
def person() -> Iterator[Person]:
    person = Person()
    yield person
    person.browser.close()


def everything_kept(server: Server) -> str:
    """Every row of every table, as text."""
    port = server.url.rpartition(":")[2]
    url = os.environ.get("DATABASE_URL", "")
    if url.startswith("postgres"):
        return _rows_of_postgresql(f"{url.rsplit('/', 1)[0]}/halo_process_{port}")
    return _rows_of_sqlite(server.log.parent / "data" / "halo.sqlite3")


def _rows_of_sqlite(path: Path) -> str:
    with sqlite3.connect(path) as database:
        named = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        rows = [database.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in named]  # noqa: S608  names of our own schema
    database.close()
    return repr(rows)


def _rows_of_postgresql(url: str) -> str:
    with psycopg.connect(url) as database:
        named = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        asks = [sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(n)) for (n,) in named]
        return repr([database.execute(ask).fetchall() for ask in asks])


def live_through_everything(client: RemoteClient, person: Person) -> list[str]:
    """One whole life of a connection, mistakes included; returns every secret there was."""
    code = client.code(person)
    first = client.exchange(code).json()
    client.call(first["access_token"], "tools/list")
    second = client.refresh(first["refresh_token"]).json()
    burnt = client.code(person)
    client.post(TOKEN, grant_type="authorization_code", code=burnt, code_verifier="w" * 43)
    client.post(f"{TOKEN}?code={burnt}", code=burnt)
    client.post(TOKEN, grant_type=second["refresh_token"], code=code)
    httpx2.get(f"{client.server.mcp_url}?access_token={second['access_token']}", timeout=TIMEOUT)
    lose_them_where_they_do_not_belong(client, code, second)
    client.post(REVOKE, token=second["access_token"])
    client.refresh(first["refresh_token"])
    pairs = [pair[kind] for pair in (first, second) for kind in ("access_token", "refresh_token")]
    return [code, burnt, *pairs, client.asked.verifier, client.asked.secret, PASSWORD]


def lose_them_where_they_do_not_belong(client: RemoteClient, code: str, pair: Any) -> None:
    """What a careless or broken client does with credentials."""
    url, secret, verifier = client.server.url, client.asked.secret, client.asked.verifier
    stray = {"code": code, "code_verifier": verifier, "client_secret": secret} | pair
    with httpx2.Client(timeout=TIMEOUT) as web:
        for path in (AUTHORIZE, TOKEN, "/", "/signin", "/connections", f"/nowhere/{secret}"):
            web.get(url + path, params=stray)
        web.get(url + client.asked.authorize_address(scope=secret, code_challenge=verifier))
        web.get(url + client.asked.authorize_address(client_id=secret, redirect_uri=code))
        for header in (basic(client.asked.client_id, secret), f"Bearer {pair['refresh_token']}"):
            web.post(url + TOKEN, data=stray, headers={"Authorization": header})
            web.post(client.server.mcp_url, json=stray, headers={"Authorization": header})
        # A registration that quotes them, and a message to the endpoint that is no message.
        web.post(f"{url}/api/mcp/oauth/register", json={"redirect_uris": [secret], "scope": code})
        bearer = {"Authorization": f"Bearer {pair['access_token']}"}
        web.post(client.server.mcp_url, content=f"{{{verifier}", headers=bearer)


def pages_of_the_admin(server: Server, person: Person) -> dict[str, str]:
    """Every page that a superuser comes to by following links, and the Connections page."""
    found: dict[str, str] = {}
    waiting = ["/admin/", "/connections"]
    while waiting and len(found) < MAX_PAGES:
        path = waiting.pop(0)
        if path in found:
            continue
        response = person.browser.get(server.url + path)
        assert response.status_code < 500, path
        found[path] = response.text
        # Without their queries: a filter only shows less of a list.
        inside = (urljoin(path, link) for link in re.findall(r'href="([^"#?]+)', response.text))
        waiting.extend(link for link in inside if link.startswith(("/admin/", "/connections")))
    assert not waiting, "the admin has more pages than are read here"
    return found


def test_no_secret_is_left_in_the_log_in_any_table_or_on_any_admin_page(
    new_server: Server, person: Person
) -> None:
    client = RemoteClient(new_server)
    secrets = live_through_everything(client, person)
    assert len(set(secrets)) == 9
    pages = pages_of_the_admin(new_server, person)
    # The one table that is registered by the toolkit and is never written.
    labels = {model._meta.label_lower for model in admin.site._registry} - {"oauth.idtoken"}
    assert {f"/admin/{label.replace('.', '/')}/" for label in labels} <= {*pages}
    kept: dict[str, Any] = {
        "log": new_server.log.read_text(),
        "tables": everything_kept(new_server),
        **pages,
    }
    assert "level=debug" in kept["log"]
    assert client.asked.client_id in kept["tables"]
    assert len([page for page in pages if page.startswith("/admin/oauth/accesstoken/")]) > 2
    assert any(client.asked.client_id in page for page in pages.values())
    assert EMAIL in kept["tables"]
    found = [
        (place, secret[:8])
        for place, text in kept.items()
        for secret in secrets
        if secret[-40:] in text
    ]
    assert found == []
