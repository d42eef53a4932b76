"""Icons of this server and of its integrations, in the form of MCP (2025-11-25, basic, Icons).

They are in the answers themselves: clients take icons from https or data addresses only, and this
server may be on http on a developer's computer. PNG comes first, which every client shows.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from django.conf import settings

from mcp_protocol.capabilities import ServerInfo
from tools_registry.api import Tool

Icons: TypeAlias = Sequence[Mapping[str, object]]

PNG: Final = "image/png"
SVG: Final = "image/svg+xml"


def with_icons(server: ServerInfo) -> ServerInfo:
    """Returns the server with the icons of this product."""
    return replace(server, icons=_icons_of_product())


def with_icon_of_integration(tool: Tool) -> Tool:
    """Returns the tool with the icon of its integration, if that has one and the tool has none."""
    if tool.icons or not tool.integration:
        return tool
    icons = _icons_of_integration(tool.integration)
    return replace(tool, icons=icons) if icons else tool


@cache
def _icons_of_product() -> Icons:
    folder = _folder()
    return _icon(folder / "logo.png", PNG, "96x96"), _icon(folder / "logo.svg", SVG, "any")


@cache
def _icons_of_integration(integration: str) -> Icons:
    file = _folder() / "integrations" / f"{integration}.png"
    return (_icon(file, PNG, "32x32"),) if file.is_file() else ()


def _icon(file: Path, media_type: str, size: str) -> Mapping[str, object]:
    source = f"data:{media_type};base64,{base64.b64encode(file.read_bytes()).decode()}"
    return {"src": source, "mimeType": media_type, "sizes": [size]}


def _folder() -> Path:
    folder: Path = settings.BASE_DIR / "static" / "halo"
    return folder
