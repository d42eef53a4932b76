"""The MCP Apps of this server: documents that a host shows next to the result of a tool.

A document has no data in it: the host sends it the arguments and the result of the call, and it can
reach nothing else. What it may load and run is in the policy of its own head, with the digests of
its one style and its one script, and in `_meta.ui.csp`, from which hosts make theirs.
Source: MCP Apps (SEP-1865), specification of 2026-01-26.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from mcp_protocol.mcp_apps import MIME_TYPE, RESOURCE_META, tool_meta
from mcp_protocol.resource_shapes import Contents
from tools_registry.api import Tool
from tools_registry.api.apps import APPROVAL_CARD, FIGURES_PLOT, TIME_OFF_CALENDAR

FOLDER: Final = Path(__file__).parent / "documents"
# As of descriptors: far above what toolsets hold.
MAX_CACHED: Final = 8_192
POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; "
    "form-action 'none'"
)
PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="view" aria-live="polite" aria-busy="true"><p>Waiting for the result.</p></main>
<script>{script}</script>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class McpApp:
    """One app, with the attributes of a listed resource; `part` names its script and its style."""

    uri: str
    name: str
    title: str
    description: str
    part: str
    mime_type: str = MIME_TYPE
    icons: Sequence[Mapping[str, Any]] = ()

    @property
    def meta(self) -> Mapping[str, Any]:
        return RESOURCE_META

    @property
    def annotations(self) -> Mapping[str, Any]:
        return {}

    @property
    def size(self) -> int:
        return len(build_document(self).encode())

    @property
    def contents(self) -> Contents:
        return Contents(self.uri, self.mime_type, build_document(self), self.meta)


APPS: Final[Mapping[str, McpApp]] = {
    app.uri: app
    for app in (
        McpApp(
            APPROVAL_CARD,
            "approval_card",
            "Request for approval",
            "What a call would send or change, who can decide and until when. It decides nothing.",
            "approval",
        ),
        McpApp(
            FIGURES_PLOT,
            "figures_plot",
            "Figures over time",
            "A series of figures as a plot and as a table.",
            "figures",
        ),
        McpApp(
            TIME_OFF_CALENDAR,
            "time_off_calendar",
            "Time off",
            "Absences and requests by day.",
            "time_off",
        ),
    )
}


def apps_of_tools(tools: Iterable[Tool]) -> list[McpApp]:
    """Returns the apps that show the results of these tools, each once."""
    return [APPS[uri] for uri in dict.fromkeys(tool.app for tool in tools if tool.app)]


@lru_cache(maxsize=MAX_CACHED)
def with_app(tool: Tool) -> Tool:
    """Returns the tool with its app in `_meta`, if it has one; the same object each time."""
    return replace(tool, meta={**tool.meta, **tool_meta(tool.app)}) if tool.app else tool


@cache
def build_document(app: McpApp) -> str:
    """Returns the HTML of an app: the style and the script that all have, and its own."""
    style = f"{_read('base.css')}\n{_read(f'{app.part}.css')}"
    script = f"{_read('host.js')}\n{_read(f'{app.part}.js')}"
    policy = POLICY.format(script=_digest(script), style=_digest(style))
    return PAGE.format(policy=policy, title=app.title, style=style, script=script)


def _read(name: str) -> str:
    """A file without its comments and the spaces that its lines begin with: hosts load it often."""
    lines = (line.strip() for line in (FOLDER / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*")))


def _digest(text: str) -> str:
    """The source expression of an inline text (CSP Level 3, section 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
