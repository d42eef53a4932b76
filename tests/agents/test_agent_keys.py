"""Keys for agents: made on a page or the command line, shown once, and ended at once."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from oauth.models import KeyKind, ServerKey
from tests.agents.application import Application
from workspace.models import Membership, Role

pytestmark = pytest.mark.django_db
PAGE = "/agent-keys"


def run(*words: str) -> str:
    said = StringIO()
    call_command("agents", "key", *words, stdout=said)
    return said.getvalue()


def with_secret(app: Application, secret: str) -> Application:
    return Application(app.organization, app.row, secret)


def test_a_key_is_made_on_the_page_and_revoked(app: Application) -> None:
    browser = Client()
    browser.force_login(Membership.objects.get(role=Role.SUPER_ADMIN).user)
    form: dict[str, Any] = {"organization": app.organization.pk, "name": "Support", "days": "30"}
    shown = browser.post(PAGE, form | {"scopes": ["docs:read"]}).content.decode()
    secret = shown[shown.index("halo_sk_") :][:51]
    assert "/aap" in shown
    row = ServerKey.objects.get(name="Support")
    assert (row.kind, row.scope) == (KeyKind.AGENTS, "docs:read")
    assert secret not in browser.get(PAGE).content.decode()
    program = with_secret(app, secret)
    assert program.send("GET", "/meta").status == 200
    browser.post(f"{PAGE}/{row.pk}/revoke")
    assert program.send("GET", "/meta").status == 401


def test_a_key_is_made_listed_and_revoked_on_the_command_line(app: Application) -> None:
    slug = app.organization.slug
    made = json.loads(run("create", "--organization", slug, "--scopes", "docs:read", "--json"))
    assert made.keys() == {"key", "base_url"}
    assert made["base_url"].endswith("/aap")
    assert with_secret(app, made["key"]).send("GET", "/sessions").json == {"sessions": []}
    row = ServerKey.objects.get(name="Command line")
    assert f"{row.pk}  active" in run("list", "--organization", slug)
    assert run("revoke", str(row.pk)) == "Revoked.\n"
    assert with_secret(app, made["key"]).send("GET", "/sessions").status == 401
    with pytest.raises(CommandError, match="Unknown scopes: people:read"):
        run("create", "--organization", slug, "--scopes", "people:read")


def test_a_key_without_a_scope_has_no_tool_of_it(app: Application) -> None:
    secret = json.loads(
        run("create", "--organization", app.organization.slug, "--scopes", "data:read", "--json")
    )["key"]
    listed = with_secret(app, secret).send("GET", "/meta").json["agents"]
    tools = {agent["name"]: {tool["name"] for tool in agent["tools"]} for agent in listed}
    assert tools["documentation"] == set()
    assert "search_docs" not in tools["ask-ai"]
    assert tools["ask-ai"]
