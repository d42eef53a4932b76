"""An organization, and an application with a key for its agents."""

from itertools import count
from pathlib import Path

import pytest
from django.test import Client

from documentation.index import refresh
from tests.agents import application
from tests.agents.application import Application
from tests.agents.scripted import Script
from workspace import organizations
from workspace.models import Membership, Role, User

_numbers = count(1)
SCOPES = "# Scopes\n\nA scope narrows a token.\n\n## How scopes work\n\nScopes are unticked.\n"


@pytest.fixture
def app(db: None) -> Application:  # noqa: ARG001  opens the database
    number = next(_numbers)
    owner = User.objects.create_user(f"agents-{number}@example.com")
    return application.with_key(organizations.create(f"Agents {number}", owner=owner))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """What the model of the agent "scripted" does, one response after the other."""
    return Script.for_an_agent(monkeypatch)


@pytest.fixture
def browser(app: Application) -> Client:
    """An admin of the organization, who is signed in."""
    browser = Client()
    role = Membership.objects.get(organization=app.organization, role=Role.SUPER_ADMIN)
    browser.force_login(role.user)
    return browser


@pytest.fixture
def documentation(db: None, tmp_path: Path) -> None:  # noqa: ARG001  opens the database
    """Pages in which a search for scopes finds more than five sections."""
    for name in ("scopes", "tokens", "consent"):
        (tmp_path / f"{name}.md").write_text(SCOPES.replace("# Scopes", f"# {name.title()}", 1))
    refresh(tmp_path)
