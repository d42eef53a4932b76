"""The cast: Ada, the organization she founded, and her browser."""

from typing import Any

import pytest
from django.test import Client

from tests.console.asking import browser_of
from tests.console.second_factors import PASSWORD, SECURITY, Device, FactorVisitor, add_passkey
from tests.drivers.grants import Grant
from tests.drivers.records import Records
from workspace import organizations
from workspace.models import Organization, User


@pytest.fixture
def ada(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_user("ada@acme.example")


@pytest.fixture
def acme(ada: User) -> Organization:
    return organizations.create("Acme Rockets", owner=ada)


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    """A browser in which Ada is signed in."""
    client.force_login(ada)
    return client


@pytest.fixture
def visitor(ada: User) -> FactorVisitor:
    """Ada at the pages, with her password and not signed in."""
    ada.set_password(PASSWORD)
    ada.save()
    return FactorVisitor()


@pytest.fixture
def domain(settings: Any) -> str:
    """This server under a name that browsers keep passkeys for."""
    settings.HALO_PUBLIC_URL = "http://localhost:8000"
    settings.HALO_PASSKEY_DOMAIN = "localhost"
    return "localhost"


@pytest.fixture
def device(visitor: FactorVisitor, domain: str) -> Device:  # noqa: ARG001  it comes first
    """Holds the passkey that Ada added; she is signed out again."""
    device = Device()
    visitor.sign_in()
    visitor.confirm()
    assert add_passkey(visitor, device, name="Phone")["Location"] == f"{SECURITY}/codes"
    visitor.sign_out()
    return device


@pytest.fixture
def person(grant: Grant) -> Client:
    """The browser of a member of the organization who never connected a client."""
    user = User.objects.create_user("member@example.com")
    organizations.join(grant.organization, user)
    return browser_of(user)


@pytest.fixture
def records(grant: Grant) -> Records:
    """Three rows of each kind in the organization."""
    return Records(grant).add(3)
