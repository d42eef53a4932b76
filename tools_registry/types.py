"""What the author of a tool writes with; no Django, so that an integration is plain Python.

A tool is a function `run(context, arguments)` that returns `Facts` or `Blocks`, or raises one of
the failures below. It is declared on a `Toolset`, one toolset a file:

    TOOLSET = Toolset(scope="docs:read")

    @TOOLSET.tool(title="Search the documentation", description="...", input_schema={...})
    def search_docs(context: ToolContext, arguments: Arguments) -> Facts: ...

An integration's toolset carries its id; its tools are called `<integration>.<function>` and need
`actions:<integration>:<function>`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

Json: TypeAlias = Any
Arguments: TypeAlias = Mapping[str, Json]
Schema: TypeAlias = Mapping[str, Json]

INTEGRATION_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Facts:
    """A JSON value: one text block with 2-space indent, `structuredContent` where it may be.

    `row_count` counts the workspace's rows in it, for budgets and the audit row.
    """

    value: Json
    row_count: int | None = None


@dataclass(frozen=True, slots=True)
class Blocks:
    """Content blocks as the protocol shapes them, passed on as they are."""

    content: Sequence[Mapping[str, Json]]
    structured: Mapping[str, Json] | None = None


Result: TypeAlias = Facts | Blocks


class ToolFailure(Exception):
    """A tool could not do it. The message is for the caller; secrets do not belong in it."""

    kind = "internal"

    def __init__(self, message: str, *, field: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.reason = reason


class NotFound(ToolFailure):
    """What the arguments name does not exist, or is not this organization's: the two look alike."""

    kind = "not_found"


class Invalid(ToolFailure):
    """An argument fits its schema and still cannot be; `field` names it, `reason` says why."""

    kind = "validation"


class Unauthorized(ToolFailure):
    """The other side refused the organization's credential."""

    kind = "unauthorized"


class IntegrationFailure(ToolFailure):
    """The other side failed; `upstream_status` is its HTTP status, when it gave one."""

    kind = "integration"

    def __init__(self, message: str, *, upstream_status: int | None = None) -> None:
        super().__init__(message)
        self.upstream_status = upstream_status


class Cancelled(Exception):
    """The caller has gone; raised by `ToolContext.check_cancelled`."""


class InputRequired(Exception):
    """The tool needs something from the person. Raise it before any side effect.

    `requests` maps keys to input requests as MCP 2026-07-28 shapes them; `state` is whatever the
    tool wants back with the answers.
    """

    def __init__(self, requests: Mapping[str, Json], state: Json = None) -> None:
        super().__init__("input required")
        self.requests = requests
        self.state = state


class Channel(Protocol):
    """The caller's side of a running call, as the edge provides it."""

    def progress(self, done: float, total: float | None, message: str) -> None: ...

    def log(self, level: str, data: Json) -> None: ...

    def is_cancelled(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class WidgetKeys:
    """What an organization may publish on its own pages."""

    organization_id: str
    widget_key: str
    script_url: str


class Workspace(Protocol):
    """What built-in tools may learn of the organization they run for."""

    def widget_keys(self, organization_id: str) -> WidgetKeys: ...


class Silence:
    """A channel for callers that asked for one plain answer."""

    def progress(self, done: float, total: float | None, message: str) -> None:
        pass

    def log(self, level: str, data: Json) -> None:
        pass

    def is_cancelled(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """On whose behalf a tool runs, and how it speaks to the caller meanwhile."""

    organization_id: str
    user_id: str
    public_url: str
    workspace: Workspace = field(repr=False)
    bound_customer_id: str = ""
    answers: Mapping[str, Json] = field(default_factory=dict)
    channel: Channel = field(default_factory=Silence, repr=False)

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress; sent only to callers that asked for it."""
        self.check_cancelled()
        self.channel.progress(done, total, message)

    def log(self, level: str, data: Json) -> None:
        """Send a log message to the caller (RFC 5424 level names); never holds a secret."""
        self.channel.log(level, data)

    def ask(self, requests: Mapping[str, Json], state: Json = None) -> Mapping[str, Json]:
        """The person's answers, by key; raises InputRequired until they are there."""
        if not set(requests) <= set(self.answers):
            raise InputRequired(requests, state)
        return self.answers

    def check_cancelled(self) -> None:
        """Raise Cancelled once the caller has gone: call it between steps."""
        if self.channel.is_cancelled():
            raise Cancelled


Run: TypeAlias = Callable[[ToolContext, Arguments], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as lists, gate and pipeline see it.

    `destructive` keeps it out of MCP for good; `mutates` makes it hinted and recorded before it
    runs. The two are different things: `linear.create_bug` mutates and may be called.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    run: Run = field(repr=False)
    scope: str
    output_schema: Schema | None = None
    integration: str = ""
    action: str = ""
    destructive: bool = False
    mutates: bool = False
    open_world: bool = False
    streams: bool = False


@dataclass(slots=True, kw_only=True)
class Toolset:
    """The tools of one file: those of an integration, or those behind one fixed scope."""

    scope: str = ""
    integration: str = ""
    title: str = ""
    tools: list[Tool] = field(default_factory=list)

    def tool(self, **facts: Any) -> Callable[[Run], Run]:
        """Declare the decorated function as a tool; its name is the function's.

        Takes the fields of `Tool` that are not derived: title, description, input_schema, and as
        needed output_schema, destructive, mutates, open_world, streams.
        """

        def declare(run: Run) -> Run:
            self.tools.append(Tool(**self._identity(run.__name__), **facts, run=run))
            return run

        return declare

    def _identity(self, function: str) -> dict[str, Any]:
        if not self.integration:
            return {"name": function, "scope": self.scope}
        return {
            "name": f"{self.integration}.{function}",
            "scope": f"actions:{self.integration}:{function}",
            "integration": self.integration,
            "action": function,
        }
