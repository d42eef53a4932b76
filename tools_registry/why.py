"""Why a token can or cannot use a tool: what every layer says, and how to change it.

For admins, on a page and on the command line. The layers' words are the gate's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse

from oauth.standing import Condition, Standing
from tools_registry import gate, registry
from tools_registry.gate import Decision
from tools_registry.types import Tool


class UnknownTool(Exception):
    """The organization of the token has no tool of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One layer's answer. `remedy` says how it would change, `url` where; both may be empty."""

    layer: str
    passes: bool
    told: str
    remedy: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All answers in the order in which a call meets them."""

    standing: Standing
    tool: Tool
    lines: tuple[Line, ...]
    decision: Decision

    @property
    def allowed(self) -> bool:
        return self.standing.holds and self.decision.allowed

    @property
    def verdict(self) -> str:
        """What a call would come to now, in one sentence."""
        if not self.standing.holds:
            return "Every request with this token is refused as unauthorized (401)."
        if self.decision.allowed:
            return "The tool is listed, and a call runs."
        return f"The tool is not listed, and a call is refused as {self.decision.reason}."


def explain(standing: Standing, name: str) -> Explanation:
    """Ask everything that a list and a call ask, as it is now. Raises UnknownTool."""
    tool = registry.find(name.strip(), standing.organization_id)
    if tool is None:
        raise UnknownTool(name)
    switches = gate.switches_for_tool(
        standing.organization_id, tool, mcp_server_on=standing.mcp_server_on
    )
    answers = gate.explain(tool, standing.scope, switches)
    return Explanation(
        standing=standing,
        tool=tool,
        lines=(*map(_condition, standing.conditions), *_layers(answers, standing, tool)),
        decision=gate.decide(tool, standing.scope, switches),
    )


def tool_names(standing: Standing) -> list[str]:
    """The names of all tools of the token's organization, before the gate."""
    return [tool.name for tool in registry.tools(standing.organization_id)]


REMEDIES = {
    "authorization": "Its person connects the client again.",
    "user": "Activate the person.",
    "membership": "Make the person a member, who then connects the client again.",
    "organization": "Empty “Suspended”.",
    "client": "Enable the client.",
    "resource": "Its person connects the client to this server.",
}


def _condition(condition: Condition) -> Line:
    named = condition.model and not condition.holds
    page = "changelist" if condition.model == "oauth_client" else "change"
    arguments = [condition.row] if page == "change" else []
    return Line(
        layer=condition.name,
        passes=condition.holds,
        told=condition.told,
        remedy="" if condition.holds else REMEDIES.get(condition.name, ""),
        url=reverse(f"admin:{condition.model}_{page}", args=arguments) if named else "",
    )


def _layers(answers: list[Decision], standing: Standing, tool: Tool) -> Iterator[Line]:
    for answer in answers:
        if answer.allowed:
            yield Line(layer=answer.layer, passes=True, told=_passed(answer.layer, tool))
        else:
            remedy, anchor = _remedy(answer.layer, tool)
            page = reverse("admin:tools_registry_switchboard", args=[standing.organization_id])
            url = f"{page}#{anchor}" if anchor else ""
            yield Line(
                layer=answer.layer, passes=False, told=answer.message, remedy=remedy, url=url
            )


def _passed(layer: str, tool: Tool) -> str:
    if layer in {"connection", "integration", "agent"} and not tool.integration:
        return "The tool belongs to no integration."
    return {
        "flag": "The MCP server is on for the organization.",
        "destructive": "The action is not destructive.",
        "connection": f"{tool.integration} is connected.",
        "integration": f"Actions mode of {tool.integration} is on.",
        "agent": f"The action {tool.action} is enabled on the Ask AI agent.",
        "scope": f"The token carries what {tool.scope} needs.",
    }[layer]


def _remedy(layer: str, tool: Tool) -> tuple[str, str]:
    """What to do about a refusal, and the place on the organization's switchboard."""
    return {
        "flag": ("Turn the MCP server on.", "flag-mcp_server"),
        "destructive": ("No switch and no scope opens it.", ""),
        "connection": (f"Connect {tool.integration}.", f"mode-{tool.integration}"),
        "integration": (f"Turn Actions mode of {tool.integration} on.", f"mode-{tool.integration}"),
        "agent": (f"Turn {tool.name} on.", f"action-{tool.name}"),
        "scope": (f"Its person connects the client again and approves {tool.scope}.", ""),
    }[layer]
