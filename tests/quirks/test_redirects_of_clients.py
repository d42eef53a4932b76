"""What clients register as their way back, and what they then send."""

import pytest
from django.conf import settings

from oauth.clients import redirects
from oauth.clients.client_metadata import ClientMetadata

CHATGPT = "https://chatgpt.com/connector"
CURSOR = "cursor://anysphere.cursor-mcp/oauth/callback"
CLAUDE_CODE = ["http://localhost/callback", "http://127.0.0.1/callback"]
VS_CODE = [
    "http://127.0.0.1/",
    "http://127.0.0.1:33418/",
    "https://vscode.dev/redirect",
    "https://insiders.vscode.dev/redirect",
]


@pytest.mark.parametrize(
    ("registered", "sent"),
    [
        pytest.param([CURSOR], CURSOR, id="cursor"),
        pytest.param(VS_CODE, "http://127.0.0.1:33418/", id="vs-code"),
        pytest.param(VS_CODE, "http://127.0.0.1:51234/", id="vs-code-other-port"),
        pytest.param(VS_CODE, "https://insiders.vscode.dev/redirect", id="vs-code-web"),
        pytest.param(CLAUDE_CODE, "http://localhost:54212/callback", id="claude-code"),
        pytest.param(CLAUDE_CODE, "http://127.0.0.1:54212/callback", id="claude-code-address"),
        pytest.param(*[["https://claude.ai/api/mcp/auth_callback"]] * 2, id="claude-ai"),
        pytest.param(*[["https://claude.com/api/mcp/auth_callback"]] * 2, id="claude-com"),
        pytest.param(*[[f"{CHATGPT}/oauth/Ab3-x_9"]] * 2, id="chatgpt"),
        pytest.param(*[[f"{CHATGPT}_platform_oauth_redirect"]] * 2, id="chatgpt-older"),
        pytest.param(*[["http://localhost:3334/oauth/callback"]] * 2, id="mcp-remote"),
        pytest.param(*[["http://127.0.0.1:6276/oauth/callback"]] * 2, id="inspector-cli"),
        pytest.param(*[["http://localhost:6274/oauth/callback"]] * 2, id="inspector-web"),
    ],
)
def test_what_a_client_registers_leads_back_to_it(registered: list[str], sent: object) -> None:
    asked = sent if isinstance(sent, str) else registered[0]
    said = {"redirect_uris": registered, "application_type": "web"}
    schemes = frozenset(settings.HALO_APP_SCHEMES)
    metadata = ClientMetadata.parse(said, app_schemes=schemes)
    assert list(metadata.redirect_uris) == registered
    assert redirects.matches(metadata.redirect_uris, asked) is not None
