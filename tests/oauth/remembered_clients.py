"""Clients whose consent may be remembered, and earlier decisions about them."""

from oauth.models import Client
from tests.drivers.oauth_client import Browser, OAuthClient, Response, answer

OTHER_CALLBACK = "https://app.example/other"
BOX = "Don't ask again for exactly this"


def register_client(client_id: str = "by-hand", **columns: object) -> OAuthClient:
    """A client that an admin registered, with two callbacks."""
    given = {
        "name": "By hand",
        "redirect_uris": ["https://app.example/callback", OTHER_CALLBACK],
        "registration_source": Client.RegistrationSource.MANUAL,
    } | columns
    Client.objects.create(client_id=client_id, **given)
    return OAuthClient(client_id=client_id)


def remember(client: OAuthClient, browser: Browser, **changes: object) -> str:
    """Approve with the box ticked; returns the code."""
    page = browser.open(client.authorize_address())
    return answer(browser.decide(page, remember="yes", **changes))["code"]


def asks(response: Response) -> bool:
    """Whether the person is asked; else a code has gone to the client already."""
    if response.status_code == 200:
        assert "wants to connect to your organization" in response.content.decode()
        return True
    assert set(answer(response, response["Location"].partition("?")[0])) == {"code", "state", "iss"}
    return False
