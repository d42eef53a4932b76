"""Skills of the server itself, made from its pages and prompts: how to connect, how to change."""

from collections.abc import Mapping
from typing import Final

from tools_registry.api import Toolset
from tools_registry.sources import docs, guidance

TOOLSET: Final = Toolset(scope="docs:read", title="Skills")

FILL_IN: Final = """\
# Prepare a change

Before you call a tool that changes something, fill in what is in square brackets, and do what this
text says:

{review}

The pages in `references/` say why a call is refused, how calls wait for an approval, and how to
repeat a call without doing it twice.
"""


@TOOLSET.skill(
    title="Connect a client",
    description=(
        "Connects an MCP client such as Claude Code, Cursor or VS Code to this server. Use it when "
        "somebody wants to add this server to a client, or a client cannot sign in."
    ),
)
def connect_a_client() -> Mapping[str, str]:
    return {
        "SKILL.md": docs.page_text("connect-a-client"),
        **docs.reference_files("compatibility", "refusals", "programs"),
    }


@TOOLSET.skill(
    title="Prepare a change",
    description=(
        "Reviews a call that changes something before it is made: what will be different, what "
        "cannot be undone, what to look up first. Use it before any tool that writes."
    ),
)
def prepare_a_change() -> Mapping[str, str]:
    return {
        "SKILL.md": FILL_IN.format(review=guidance.review_form()),
        **docs.reference_files("refusals", "gateway", "mcp-endpoint"),
    }
