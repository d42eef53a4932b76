"""On whose behalf the functions of an author run, and how they speak to the caller; no Django.

Authors import these from `tools_registry.api`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tools_registry.api.answers import NONE_YET, Answers, parse_answer
from tools_registry.api.approvals import RequestApproval, cannot_request
from tools_registry.api.results import Declined, Json
from tools_registry.api.vendor import NotConnected, Vendor


class Cancelled(Exception):
    """The caller has gone, or the server stops; raised by `ToolContext.check_cancelled`."""


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

    def is_cancelled(self) -> bool:
        """Whether the call is to end: its caller has gone, or the server stops."""

    def is_interrupted(self) -> bool:
        """Whether it is the server that ends the call."""


@dataclass(frozen=True, slots=True)
class WidgetKeys:
    """What an organization may publish on its own pages."""

    organization_id: str
    widget_key: str
    script_url: str


class Workspace(Protocol):
    """What built-in tools may learn of the organization they run for."""

    def widget_keys(self, organization_id: str) -> WidgetKeys: ...


@dataclass(frozen=True, slots=True)
class BoundCustomer:
    """The organization's customer that a call is bound to, as the table has it at this moment.

    `vendor_ids` says which of a vendor's records it is, by integration id. `company_id` is empty
    for a customer without a company.
    """

    id: str
    email: str = field(default="", repr=False)
    name: str = field(default="", repr=False)
    external_id: str = ""
    company_id: str = ""
    vendor_ids: Mapping[str, str] = field(default_factory=dict)


class Silence:
    """A channel for callers that asked for one plain answer."""

    def progress(self, done: float, total: float | None, message: str) -> None:
        pass

    def log(self, level: str, data: Json) -> None:
        pass

    def is_cancelled(self) -> bool:
        return False

    def is_interrupted(self) -> bool:
        return False


class VisibleTool(Protocol):
    """What a prompt may say of a tool."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Mapping[str, Json]: ...
    @property
    def mutates(self) -> bool: ...


def _no_tools() -> Sequence[VisibleTool]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """On whose behalf a tool runs, and how it speaks to the caller meanwhile.

    `visible_tools()` are the tools that this caller could call now. `call_id` is this call's alone,
    the same at each step of it: a key for what must not be done twice. A call with an API key has
    no user; `credential_id` is the key's. `outgoing` is what the tool's own `outgoing` has built,
    and `waited` the time in seconds that the call has waited for its turn to send it.
    """

    organization_id: str
    user_id: str
    public_url: str
    credential_id: str = ""
    workspace: Workspace = field(repr=False)
    customer: BoundCustomer | None = None
    call_id: str = ""
    vendor: Vendor = field(default_factory=NotConnected, repr=False)
    outgoing: object = field(default=None, repr=False)
    waited: float = 0.0
    request_approval: RequestApproval = field(default=cannot_request, repr=False)
    client_capabilities: Mapping[str, Json] = field(default_factory=dict)
    answers: Answers = field(default=NONE_YET, repr=False)
    channel: Channel = field(default_factory=Silence, repr=False)
    visible_tools: Callable[[], Sequence[VisibleTool]] = field(default=_no_tools, repr=False)

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress; sent only to callers that asked for it."""
        self.check_cancelled()
        self.channel.progress(done, total, message)

    def log(self, level: str, data: Json) -> None:
        """Send a log message to the caller (RFC 5424 level names); never holds a secret."""
        self.channel.log(level, data)

    @property
    def state(self) -> Json:
        """What `ask` last sent along in this call; None before it has asked."""
        return self.answers.state

    def ask(self, requests: Mapping[str, Json], state: Json = None) -> Mapping[str, Json]:
        """The answers, by key; raises InputRequired for what is not answered yet.

        The tool runs again from its start once there are answers, so nothing may change before.
        Requests are shaped as at MCP 2026-07-28; a key means one question within a call. `state`
        comes back as `context.state`.
        """
        # A state that never went out cannot come back: the client answered before it was asked.
        is_asked = state is None or self.answers.verified
        answers = {
            key: parse_answer(asked, self.answers.find_answer(key, asked)) if is_asked else None
            for key, asked in requests.items()
        }
        missing = [key for key, answer in answers.items() if answer is None]
        if missing:
            raise InputRequired({key: requests[key] for key in missing}, state)
        return answers

    def ask_form(
        self,
        key: str,
        message: str,
        fields: Mapping[str, Mapping[str, Json]],
        *,
        optional: Sequence[str] = (),
        ends: float | None = None,
        asks_once: bool = False,
    ) -> Mapping[str, Json]:
        """What the person filled into a form; raises Declined when they would not.

        `fields` are the properties of a flat object schema; all are required but the `optional`.
        The person reads how long the question can be answered; `ends`, in Unix time, is for a tool
        that refuses answers from then on. With `asks_once` an answer that does not fit the form is
        a refusal; else the person is asked again.
        """
        schema = {
            "type": "object",
            "properties": dict(fields),
            "required": [name for name in fields if name not in optional],
        }
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        request: dict[str, Json] = {"method": "elicitation/create", "params": params}
        if ends is not None:
            request["ends"] = ends
        if asks_once and self.answers.is_unfit(key, request):
            raise Declined
        answer = self.ask({key: request})[key]
        if answer["action"] != "accept":
            raise Declined
        content: Mapping[str, Json] = answer["content"]
        return content

    def check_cancelled(self) -> None:
        """Raise Cancelled once the caller has gone or the server stops: call it between steps."""
        if self.channel.is_cancelled():
            raise Cancelled
