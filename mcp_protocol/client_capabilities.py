"""The declared capabilities of clients, as far as this server uses them.

Source: MCP schema of each revision, ClientCapabilities; client/elicitation, Capabilities.
"""

from collections.abc import Mapping
from typing import Final

from mcp_protocol import mcp_apps
from mcp_protocol.negotiation import accepts_forms
from mcp_protocol.strict_json import JsonObject

_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "elicitation": ("form", "url"),
    "sampling": ("tools",),
    "roots": (),
}


def select_known(declared: Mapping[str, object]) -> JsonObject:
    """Returns the known part of the declared capabilities, which is small.

    An elicitation capability without any mode means form mode, which is added explicitly; one with
    unknown modes only means nothing.
    """
    kept: JsonObject = {
        name: {key: {} for key in keys if key in value}
        for name, keys in _KNOWN.items()
        if isinstance(value := declared.get(name), dict)
    }
    if accepts_forms(declared):
        kept["elicitation"]["form"] = {}
    if kept.get("elicitation") == {}:
        del kept["elicitation"]
    if mcp_apps.has_declared_apps(declared):
        kept["extensions"] = mcp_apps.DECLARATION
    return kept


def covers(declared: Mapping[str, object], required: Mapping[str, Mapping[str, object]]) -> bool:
    """Returns whether all required capabilities (as ClientCapabilities) were declared."""
    has = select_known(declared)
    return all(name in has and set(inner) <= set(has[name]) for name, inner in required.items())


def has_extension(declared: Mapping[str, object], identifier: str) -> bool:
    """Returns whether a client declared an extension (MCP 2026-07-28, ClientCapabilities)."""
    extensions = declared.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(identifier), dict)


def merge(several: list[JsonObject]) -> JsonObject:
    """Returns the combination of several requirements."""
    whole: JsonObject = {}
    for one in several:
        for name, inner in one.items():
            whole[name] = {**whole.get(name, {}), **inner}
    return whole
