"""The cast: Ada, the organization she founded, her browser, and a client that has registered."""

import pytest

from tests.drivers.oauth_client import Browser, OAuthClient, Tokens
from workspace import organizations
from workspace.models import Organization, User

PASSWORD = "correct horse battery staple"


@pytest.fixture
def ada(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_user("ada@acme.example", PASSWORD)


@pytest.fixture
def acme(ada: User) -> Organization:
    return organizations.create("Acme Rockets", owner=ada)


@pytest.fixture
def browser(ada: User, acme: Organization) -> Browser:  # noqa: ARG001  as above: she belongs
    """A browser in which Ada, of one organization, is signed in."""
    return Browser(ada)


@pytest.fixture
def oauth_client(db: None) -> OAuthClient:  # noqa: ARG001  as above
    client = OAuthClient()
    assert client.register().status_code == 201
    return client


@pytest.fixture
def stranger(db: None) -> OAuthClient:  # noqa: ARG001  as above
    """Another client, public as well, with the same callback."""
    client = OAuthClient()
    assert client.register(client_name="Stranger").status_code == 201
    return client


@pytest.fixture
def confidential(db: None) -> OAuthClient:  # noqa: ARG001  as above
    client = OAuthClient(auth_method="client_secret_basic")
    assert client.register().status_code == 201
    return client


@pytest.fixture
def tokens(oauth_client: OAuthClient, browser: Browser) -> Tokens:
    """What Ada let the client have: `docs:read setup:read`."""
    return oauth_client.connect(browser)
