"""An organization with the documentation index, and an application with a key for its agents."""

from itertools import count

import pytest
from django.test import Client

from tests.agents import application
from tests.agents.application import Application
from tests.agents.scripted import Script
from workspace import organizations
from workspace.models import Membership, Role, User

_numbers = count(1)


@pytest.fixture
def app(db: None) -> Application:  # noqa: ARG001  opens the database
    number = next(_numbers)
    owner = User.objects.create_user(f"agents-{number}@example.com")
    return application.with_key(organizations.found(f"Agents {number}", owner=owner))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """What the model of the agent "scripted" does, one response after the other."""
    return Script.of_an_agent(monkeypatch)


@pytest.fixture
def browser(app: Application) -> Client:
    """An admin of the organization, who is signed in."""
    browser = Client()
    role = Membership.objects.get(organization=app.organization, role=Role.SUPER_ADMIN)
    browser.force_login(role.user)
    return browser
