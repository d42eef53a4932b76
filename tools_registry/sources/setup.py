"""setup_get_install_snippet and setup_get_jwt_sample: help for installing the script of pages.

Snippets name this organization's publishable keys. The identity secret signs identity tokens and
is never in any output: the sample reads it from the customer's own environment.
"""

from typing import Final, Literal

from tools_registry.api import Facts, ToolContext, Toolset

TOOLSET: Final = Toolset(scope="setup:read", title="Setup")

TEXT: Final = {"type": "string"}
INSTALLATION: Final = {
    "snippet": TEXT,
    "organization_id": TEXT,
    "widget_key": TEXT,
    "place": TEXT,
    "steps": {"type": "array", "items": TEXT},
    "guide": TEXT,
}
SAMPLE: Final = {
    "language": TEXT,
    "algorithm": TEXT,
    "code": TEXT,
    "claims": {"type": "object", "additionalProperties": TEXT},
    "use": {"type": "object", "additionalProperties": TEXT},
    "secret": TEXT,
    "guide": TEXT,
}

SNIPPET: Final = """<script src="{script}"></script>
<script>
  window.HaloAgents.init({{ orgId: "{organization}", apiKey: "{key}" }});
</script>"""

SAMPLES: Final = {
    "node": """import jwt from "jsonwebtoken";

// On your server only: HALOAGENTS_SECRET_KEY must never reach a browser.
export function haloToken(user) {
  return jwt.sign(
    { user_id: user.id, email: user.email, name: user.name },
    process.env.HALOAGENTS_SECRET_KEY,
    { algorithm: "HS256", expiresIn: "24h" },
  );
}""",
    "python": """import os
import time

import jwt  # PyJWT


def halo_token(user) -> str:
    # On your server only: HALOAGENTS_SECRET_KEY must never reach a browser.
    claims = {"user_id": user.id, "email": user.email, "exp": int(time.time()) + 86_400}
    return jwt.encode(claims, os.environ["HALOAGENTS_SECRET_KEY"], algorithm="HS256")""",
}


@TOOLSET.tool(
    title="Get the install snippet",
    description=(
        "Get the HTML that installs Halo on web pages, with this organization's id and publishable "
        "key filled in, and the steps to place and check it."
    ),
    output_schema={
        "type": "object",
        "properties": INSTALLATION,
        "required": list(INSTALLATION),
    },
)
def setup_get_install_snippet(context: ToolContext) -> Facts:
    keys = context.workspace.widget_keys(context.organization_id)
    return Facts(
        {
            "snippet": SNIPPET.format(
                script=keys.script_url, organization=keys.organization_id, key=keys.widget_key
            ),
            "organization_id": keys.organization_id,
            "widget_key": keys.widget_key,
            "place": "Before </body> on every page.",
            "steps": [
                "Paste the snippet before </body> and deploy.",
                "Open a page of your site: a page_view event is recorded.",
                "To recognise signed-in people, add an identity token: setup_get_jwt_sample.",
            ],
            "guide": f"{context.public_url}/docs/install-the-widget",
        }
    )


@TOOLSET.tool(
    title="Get the identity token sample",
    description=(
        "Get sample server code that signs an identity token for web pages. The secret is "
        "read from an environment variable and is never part of the answer."
    ),
    output_schema={"type": "object", "properties": SAMPLE, "required": list(SAMPLE)},
)
def setup_get_jwt_sample(
    context: ToolContext, language: Literal["node", "python"] | None = None
) -> Facts:
    language = language or "node"
    keys = context.workspace.widget_keys(context.organization_id)
    return Facts(
        {
            "language": language,
            "algorithm": "HS256",
            "code": SAMPLES[language],
            "claims": {
                "user_id": "required: the id of the person in your own system",
                "exp": "recommended: seconds since 1970, at most a day ahead",
                "email, name, company_id, role, plan": "optional, trusted once the token verifies",
            },
            "use": {"orgId": keys.organization_id, "userToken": "what the code above returns"},
            "secret": (
                "Ask an admin for the identity secret and set it as HALOAGENTS_SECRET_KEY on your "
                "server. It is never sent over MCP."
            ),
            "guide": f"{context.public_url}/docs/install-the-widget",
        }
    )
