"""What an author writes with; no Django, so that an integration is plain Python.

A tool is a function that returns `Facts` or `Blocks`, or raises one of the failures below. Its
parameters after the first are the arguments (`signatures.py`). It is declared on a `Toolset`, one
toolset a file:

    TOOLSET = Toolset(scope="docs:read")

    @TOOLSET.tool(title="Search the documentation", description="...")
    def search_docs(context: ToolContext, query: Query, page_size: PageSize = 5) -> Facts: ...

An integration's toolset carries its id; its tools are called `<integration>.<function>` and need
`actions:<integration>:<function>`. Its `connection` says how an organization connects it, and
`context.vendor` sends requests as that organization.

Resources, resource templates, prompts and skills are declared on the same toolset and stand behind
the same scope and switches.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from tools_registry.api.approvals import RequestApproval, RequestedApproval
from tools_registry.api.context import (
    BoundCustomer,
    Cancelled,
    Channel,
    InputRequired,
    Silence,
    ToolContext,
    VisibleTool,
    WidgetKeys,
    Workspace,
)
from tools_registry.api.offers import (
    Argument,
    Arguments,
    BuildOutgoing,
    Complete,
    Following,
    Guarded,
    ListedResource,
    Offer,
    Outgoing,
    Prompt,
    Read,
    Resource,
    ResourceTemplate,
    Run,
    Say,
    Schema,
    Skill,
    Tool,
    WriteSkill,
    find_destructive_words,
    pass_as_mapping,
)
from tools_registry.api.results import (
    Blocks,
    Declined,
    Facts,
    IntegrationFailure,
    Json,
    NotDone,
    NotFound,
    NotSent,
    PermissionRefused,
    PromptMessage,
    ResourceBody,
    Result,
    ToolFailure,
    Unauthorized,
    UpstreamOutcomeUnknown,
    ValidationFailure,
    text_message,
    unknown_outcome,
)
from tools_registry.api.signatures import Keywords, Signature, read_signature
from tools_registry.api.vendor import (
    Setting,
    Vendor,
    VendorAccount,
    VendorConnection,
    VendorResponse,
    add_sentence,
    bearer,
    error_sentence,
    find_log_id,
    judge_endpoint_status,
    judge_forbidden,
    judge_status,
)

__all__ = [
    "INTEGRATION_ID",
    "Argument",
    "Arguments",
    "Blocks",
    "BoundCustomer",
    "BuildOutgoing",
    "Cancelled",
    "Channel",
    "Complete",
    "Declined",
    "Facts",
    "Following",
    "Guarded",
    "InputRequired",
    "IntegrationFailure",
    "Json",
    "Keywords",
    "ListedResource",
    "NotDone",
    "NotFound",
    "NotSent",
    "Offer",
    "Outgoing",
    "PermissionRefused",
    "Prompt",
    "PromptMessage",
    "Read",
    "RequestApproval",
    "RequestedApproval",
    "Resource",
    "ResourceBody",
    "ResourceTemplate",
    "Result",
    "Run",
    "Say",
    "Schema",
    "Setting",
    "Signature",
    "Silence",
    "Skill",
    "Tool",
    "ToolContext",
    "ToolFailure",
    "Toolset",
    "Unauthorized",
    "UpstreamOutcomeUnknown",
    "ValidationFailure",
    "Vendor",
    "VendorAccount",
    "VendorConnection",
    "VendorResponse",
    "VisibleTool",
    "WidgetKeys",
    "Workspace",
    "add_sentence",
    "bearer",
    "error_sentence",
    "find_destructive_words",
    "find_log_id",
    "judge_endpoint_status",
    "judge_forbidden",
    "judge_status",
    "pass_as_mapping",
    "read_signature",
    "text_message",
    "unknown_outcome",
]

F = TypeVar("F", bound=Callable[..., Result])

INTEGRATION_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(slots=True, kw_only=True)
class Toolset:
    """What one file offers: an integration's, or what stands behind one fixed scope."""

    scope: str = ""
    integration: str = ""
    title: str = ""
    connection: VendorConnection | None = None
    tools: list[Tool] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    templates: list[ResourceTemplate] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    skills: list[Skill] = field(default_factory=list)

    def tool(self, *, input_schema: Schema | None = None, **facts: Any) -> Callable[[F], F]:
        """Declare the decorated function as a tool; its name is the function's.

        Takes the fields of `Tool` that are not derived: title, description, and as needed
        output_schema, destructive, not_destructive, open_world, streams, is_lenient, reads_text,
        following. An integration's tool needs mutates=True or read_only=True. With an
        `input_schema` the function is `run(context, arguments)`; otherwise the schema is read from
        its signature.
        """

        def declare(function: F) -> F:
            schema = input_schema
            if schema is None:
                signature = read_signature(function)
                schema, run = signature.input_schema, signature.run
            else:
                run = pass_as_mapping(function)
            identity = self._identity(function.__name__)
            self.tools.append(Tool(**identity, **facts, input_schema=schema, run=run))
            return function

        return declare

    def resource(self, *, uri: str, action: str = "", **facts: Any) -> Callable[[Read], Read]:
        """Declare the decorated function as the reader of one URI; the function's name is the name.

        Takes the fields of `Resource` that are not derived; `action` names the integration's
        action that it belongs to, if that is not the function's name.
        """

        def declare(run: Read) -> Read:
            named = self._offer(run.__name__, action, facts)
            self.resources.append(Resource(uri=uri, run=lambda context: run(context, {}), **named))
            return run

        return declare

    def template(
        self, *, uri_template: str, action: str = "", **facts: Any
    ) -> Callable[[Read], Read]:
        """Declare the decorated function as the reader of every URI of a form.

        It is given the values of the variables. Takes the fields of `ResourceTemplate`.
        """

        def declare(run: Read) -> Read:
            named = self._offer(run.__name__, action, facts)
            self.templates.append(ResourceTemplate(uri_template=uri_template, run=run, **named))
            return run

        return declare

    def prompt(self, *, action: str = "", **facts: Any) -> Callable[[Say], Say]:
        """Declare the decorated function as a prompt. Takes the fields of `Prompt`."""

        def declare(run: Say) -> Say:
            named = self._offer(run.__name__, action, facts)
            self.prompts.append(Prompt(run=pass_as_mapping(run), **named))
            return run

        return declare

    def skill(self, *, title: str, description: str) -> Callable[[WriteSkill], WriteSkill]:
        """Declare the decorated function as a skill, whose files it returns (`Skill`).

        The name is that of the function, with hyphens.
        """

        def declare(run: WriteSkill) -> WriteSkill:
            facts = {"title": title, "description": description}
            named = {"name": run.__name__.replace("_", "-")}
            self.skills.append(Skill(run=run, **self._offer(run.__name__, "", facts) | named))
            return run

        return declare

    def _offer(self, function: str, action: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        identity = self._identity(action or function) | {"name": self._name(function)}
        return {"title": "", "description": "", **identity, **facts}

    def _name(self, function: str) -> str:
        return f"{self.integration}.{function}" if self.integration else function

    def _identity(self, function: str) -> dict[str, Any]:
        if not self.integration:
            return {"name": function, "scope": self.scope}
        return {
            "name": self._name(function),
            "scope": f"actions:{self.integration}:{function}",
            "integration": self.integration,
            "action": function,
        }
