"""What clients declare they can do, as far as this server ever asks it of them.

Source: MCP schema of each revision, ClientCapabilities; client/elicitation, Capabilities.
"""

from collections.abc import Mapping
from typing import Final

from mcp_protocol.negotiation import accepts_forms
from mcp_protocol.strict_json import JsonObject

_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "elicitation": ("form", "url"),
    "sampling": ("tools",),
    "roots": (),
}


def known(declared: Mapping[str, object]) -> JsonObject:
    """Return what this server understands of it: small, whatever a client wrote there.

    An elicitation capability without any mode means form mode, and is told so outright; one with
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
    return kept


def covers(declared: Mapping[str, object], required: Mapping[str, Mapping[str, object]]) -> bool:
    """Tell whether everything required, in the shape of ClientCapabilities, was declared."""
    has = known(declared)
    return all(name in has and set(inner) <= set(has[name]) for name, inner in required.items())


def merged(several: list[JsonObject]) -> JsonObject:
    """Return one requirement that stands for several."""
    whole: JsonObject = {}
    for one in several:
        for name, inner in one.items():
            whole[name] = {**whole.get(name, {}), **inner}
    return whole
