"""The tools of a session: the agent's run in the pipeline of this product, the client's wait."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from agents import sessions
from agents.loop import CallHandling
from agents.models_port import OfferedTool
from agents.protocol.requests import ClientTool, ServerTool
from agents.protocol.resolution import ToolCall
from approvals import outcomes, requests
from audit.outcomes import ActorKind
from audit.record import Actor
from foundation import ids, schema_work
from foundation.json_text import dumps
from oauth.principal import Principal
from tools_registry.api import Blocks, Tool
from tools_registry.api.schemas import ValueTooLarge, compile_once
from tools_registry.pipeline import calls
from tools_registry.pipeline.invocation import (
    ApprovalPending,
    Failed,
    FinalOutcome,
    Invocation,
    NeedsInput,
    Outcome,
    PreparedCall,
    RefusedCall,
    Succeeded,
    Surface,
)

T = TypeVar("T")
# Runs a function in one of the threads of the agents.
InThread = Callable[[Callable[[], T]], Awaitable[T]]

MAX_RESULT: Final = 100_000
CUT: Final = "\n[The rest of {left} characters was left out.]"
ASKS: Final = "This tool asks a person while it runs, which an agent cannot answer."
FAILED: Final = "The tool failed."
WAITING: Final = Blocks([], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTools:
    """The tools of one session; `tools` are those that its key may see, by name."""

    surface: Surface
    principal: Principal
    tools: Mapping[str, Tool]
    chosen: Sequence[ServerTool]
    client_tools: Sequence[ClientTool]
    in_thread: InThread[Any]
    session_id: str
    # Those whose calls wait for an approval.
    approval_tools: frozenset[str] = frozenset()
    note: str = ""

    def offered_tools(self) -> list[OfferedTool]:
        own = [self.tools[one.name] for one in self.chosen if one.name in self.tools]
        return [
            *(OfferedTool(tool.name, tool.description, tool.input_schema) for tool in own),
            *(
                OfferedTool(one.name, one.description, one.input_schema)
                for one in self.client_tools
            ),
        ]

    def kind(self, call: ToolCall) -> CallHandling:
        if any(one.name == call.name for one in self.client_tools):
            return CallHandling.WAITS
        chosen = next((one for one in self.chosen if one.name == call.name), None)
        if chosen is None or call.name not in self.tools:
            return CallHandling.UNKNOWN
        return CallHandling.RUNS if chosen.is_trusted else CallHandling.WAITS

    def problem(self, call: ToolCall) -> str:
        """Only arguments of the client's tools are checked here: the pipeline checks the others."""
        tool = next((one for one in self.client_tools if one.name == call.name), None)
        if tool is None:
            return ""
        try:
            validator = compile_once(tool.input_schema)
        except ValueError:
            return "The arguments cannot be checked: the schema of the tool cannot be compiled."
        try:
            if validator.is_valid(call.input):
                return ""
        except ValueTooLarge as error:
            return f"The arguments are {error}."
        if schema_work.repeats(tool.input_schema):
            return "The arguments are invalid."
        return f"The arguments are invalid: {next(iter(validator.iter_errors(call.input))).message}"

    async def run(self, call: ToolCall) -> str | None:
        outcome: Outcome = await self.in_thread(lambda: self._run(call))
        text = _text(outcome)
        if text is not None and len(text) > MAX_RESULT:
            text = text[:MAX_RESULT] + CUT.format(left=len(text) - MAX_RESULT)
        return text

    def _run(self, call: ToolCall) -> Outcome:
        return calls.prepare_and_run(self._invocation(call))

    async def withdraw(self, call: ToolCall) -> bool:
        if call.name not in self.approval_tools:
            return True
        return bool(await self.in_thread(lambda: self._withdraw_approval(call)))

    def _withdraw_approval(self, call: ToolCall) -> bool:
        names = sessions.named_calls(self.session_id, [call])
        rows = requests.list_by_calls(self.principal.organization_id, list(names.values()))
        return requests.withdraw(rows) > 0 or not rows.exists()

    def _surface(self, call: ToolCall) -> Surface:
        """The surface of a call: with a review, if the call needs an approval."""
        if call.name not in self.approval_tools:
            return self.surface
        [name] = sessions.named_calls(self.session_id, [call]).values()
        return replace(self.surface, review=partial(_review, name))

    def _invocation(self, call: ToolCall) -> Invocation:
        who = self.principal
        actor = Actor(
            kind=ActorKind.AGENT,
            organization_id=ids.text(who.organization_id),
            client_id=who.client_id,
            client_name=who.client_name,
            token_id=ids.text(who.token_id),
        )
        return Invocation(
            surface=self._surface(call),
            principal=who,
            actor=actor,
            name=call.name,
            arguments=call.input,
            request_id=ids.uuid7_hex(),
            note=self.note,
        )


def _review(name: str, call: PreparedCall) -> FinalOutcome:
    """The state of the request for a call, which is filed with its first run (`Review`)."""
    summary = f"{call.subject.name} ({call.principal.client_name})"
    row = requests.request_waiting_call(call, name, summary=summary)
    outcome: FinalOutcome | None = outcomes.find_outcome_of_call(row, call)
    return replace(outcome or ApprovalPending(WAITING), note=f"approval request {row.pk}")


def _text(outcome: Outcome) -> str | None:
    """The result as the model reads it; None if it waits for an approval."""
    match outcome:
        case Succeeded(result=Blocks() as blocks):
            return "\n".join(str(block.get("text", "")) for block in blocks.content)
        case Succeeded(result=result, text=text):
            return text or dumps(result.value).decode()
        case RefusedCall(decision=decision):
            return decision.message
        case Failed(failure=failure):
            where = f" ({failure.field})" if failure.field else ""
            return f"{failure.message or FAILED}{where}"
        case NeedsInput():
            return ASKS
        case ApprovalPending():
            return None
