"""Explain why a token can or cannot use a tool: the result of each gate layer, and its remedy.

For admins, on a page and on the command line. The messages are those of the gate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from foundation import admin_urls
from oauth.grants.token_status import ConditionResult, TokenStatus
from tools_registry import registry
from tools_registry.api import Tool
from tools_registry.pipeline import gate
from tools_registry.pipeline.gate import Decision
from tools_registry.pipeline.invocation import Surface

# The layers that a tool without an integration does not meet.
OF_INTEGRATIONS: Final = frozenset({"connection", "integration", "agent"})


class UnknownTool(Exception):
    """The organization of the token has no tool of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationLine:
    """One layer's answer. `remedy` says how it would change, `url` where; both may be empty."""

    layer: str
    passes: bool
    message: str
    remedy: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All answers: those that refuse first, else in the order in which a call meets them."""

    status: TokenStatus
    tool: Tool
    lines: tuple[ExplanationLine, ...]
    decision: Decision

    @property
    def is_allowed(self) -> bool:
        return self.status.is_active and self.decision.allowed

    @property
    def verdict(self) -> str:
        """What a call would come to now, in one sentence."""
        if not self.status.is_active:
            return "Every request with this token is refused as unauthorized (401)."
        if self.decision.allowed:
            return "The tool is listed, and calls run."
        return f"The tool is not listed, and calls are refused: {self.decision.reason}."


def explain(status: TokenStatus, name: str, surface: Surface) -> Explanation:
    """Ask everything that a list and a call of a surface ask, as it is now. Raises UnknownTool."""
    tool = surface.catalogue.find(name.strip(), status.organization_id)
    if tool is None:
        raise UnknownTool(name)
    switches = gate.switches_for_tool(
        status.organization_id, tool, mcp_server_on=status.mcp_server_on
    )
    answers = gate.explain(tool, status.scope, switches, surface)
    return Explanation(
        status=status,
        tool=tool,
        lines=_refusals_first([*map(_line, status.results), *_layers(answers, status, tool)]),
        decision=gate.decide(tool, status.scope, switches, surface),
    )


def tool_names(status: TokenStatus, surface: Surface) -> list[str]:
    """The names of all tools of a surface for the token's organization, before the gate."""
    return [tool.name for tool in surface.catalogue.tools(status.organization_id)]


def _line(result: ConditionResult) -> ExplanationLine:
    keys = [result.row] if result.row else []
    return ExplanationLine(
        layer=result.name,
        passes=result.holds,
        message=result.message,
        remedy=result.remedy,
        url=admin_urls.page_url(result.page, *keys) if result.page else "",
    )


def _refusals_first(lines: list[ExplanationLine]) -> tuple[ExplanationLine, ...]:
    """Puts what refuses a call before what lets it pass; each part keeps the order of the gate."""
    return tuple(sorted(lines, key=attrgetter("passes")))


def _layers(answers: list[Decision], status: TokenStatus, tool: Tool) -> Iterator[ExplanationLine]:
    for answer in answers:
        if answer.allowed and answer.layer in OF_INTEGRATIONS and not tool.integration:
            continue
        if answer.allowed:
            yield ExplanationLine(
                layer=answer.layer, passes=True, message=_pass_message(answer.layer, tool)
            )
        else:
            remedy, anchor = _remedy(answer.layer, tool)
            page = admin_urls.page_url("tools_registry_switchboard", status.organization_id)
            url = f"{page}#{anchor}" if anchor else ""
            yield ExplanationLine(
                layer=answer.layer, passes=False, message=answer.message, remedy=remedy, url=url
            )


def _pass_message(layer: str, tool: Tool) -> str:
    return {
        "flag": "The MCP server is on for the organization.",
        "destructive": "The action is not destructive.",
        "connection": f"{registry.title(tool.integration)} is connected.",
        "integration": f"Actions mode of {registry.title(tool.integration)} is on.",
        "agent": f"The action {tool.action} is enabled on the Ask AI agent.",
        "scope": f"The token has a scope that covers {tool.scope}.",
    }[layer]


def _remedy(layer: str, tool: Tool) -> tuple[str, str]:
    """What to do about a refusal, and the place on the organization's switchboard."""
    return {
        "flag": ("Turn on the MCP server.", "flag-mcp_server"),
        "destructive": ("Destructive actions are never allowed over MCP.", ""),
        "connection": (f"Connect {registry.title(tool.integration)}.", f"mode-{tool.integration}"),
        "integration": (
            f"Turn on Actions mode of {registry.title(tool.integration)}.",
            f"mode-{tool.integration}",
        ),
        "agent": (f"Turn on {tool.name}.", f"action-{tool.name}"),
        "scope": (f"Ask the user to reconnect and approve {tool.scope}.", ""),
    }[layer]
