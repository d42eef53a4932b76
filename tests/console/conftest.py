"""The cast: Ada, the organization she founded, and her browser."""

import pytest
from django.test import Client

from workspace import organizations
from workspace.models import Organization, User


@pytest.fixture
def ada(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_user("ada@acme.example")


@pytest.fixture
def acme(ada: User) -> Organization:
    return organizations.found("Acme Rockets", owner=ada)


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    """A browser in which Ada is signed in."""
    client.force_login(ada)
    return client
