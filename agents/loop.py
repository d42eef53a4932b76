"""One turn: the model answers, its calls run or wait, until it has nothing to call any more.

Rows are the only state. What the model said is stored before any of its calls begins, and each
result as soon as there is one, so that a process that dies loses at most what was not stored. A
turn that waits for its client is over: nothing of it stays in memory. No step waits for whoever
reads the events.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby
from typing import Any, Final, Protocol

import structlog

from agents.models_port import (
    Model,
    ModelCompletion,
    ModelFailed,
    ModelRequest,
    ModelUsage,
    OfferedTool,
)
from agents.protocol.events import (
    DeltaEvent,
    Event,
    MessageEvent,
    StopReason,
    ToolCallEvent,
    ToolResultEvent,
    TurnStartEvent,
    TurnStopEvent,
)
from agents.protocol.requests import Message
from agents.protocol.resolution import NOT_MADE, Resolved, ToolCall, calls_of
from foundation.store_failures import is_store_failure

log = structlog.get_logger(__name__)

DENIED: Final = "Tool call denied"
UNKNOWN: Final = "There is no tool of this name in this session."
TOO_MANY_STEPS: Final = "The agent made more steps in this turn than it may."
TOO_MANY_CALLS: Final = "The agent made more tool calls in this turn than it may."
TOO_LONG: Final = "The turn took longer than it may."
INTERRUPTED: Final = "The turn was interrupted: the server stopped, or its client left long ago."
FAILED: Final = "The turn failed."
# A store of the server does not answer. What was stored before is in the history.
UNAVAILABLE: Final = "The turn failed. This server is temporarily unavailable. Try again."
INCOMPLETE: Final = "The model ended its response too early."
REVOKED: Final = "The API key is no longer valid."


class KeyRevoked(Exception):
    """The key of the application was revoked, or has expired, while its turn runs."""


class CallHandling(Enum):
    """What happens to a call of a tool."""

    RUNS = auto()
    WAITS = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What one turn of an agent may take at most, and how much history its model reads."""

    steps: int = 10
    tool_calls: int = 40
    tokens: int = 200_000
    seconds: float = 300
    history_tokens: int = 60_000


class Journal(Protocol):
    """Stores what happens in the turn; each method has committed when it returns."""

    async def read_history(self) -> tuple[Sequence[Message], Sequence[Mapping[str, Any] | None]]:
        """Returns the history as the model is to read it, and the state of each message.

        Raises KeyRevoked.
        """
        ...

    async def record_answer(self, answer: ModelCompletion, usage: ModelUsage) -> None:
        """Stores a message of the model, and what the turn has used so far."""
        ...

    async def record_result(self, message: Message) -> None: ...

    async def end_turn(
        self, stop: TurnStopEvent, usage: ModelUsage, message: Message | None
    ) -> None:
        """Stores the end, and the message that was cut by it."""
        ...


class Tools(Protocol):
    """The tools of the session: those of the agent run, those of the client wait."""

    def offered_tools(self) -> Sequence[OfferedTool]: ...

    def kind(self, call: ToolCall) -> CallHandling:
        """Returns what happens to a call that has no permission yet."""
        ...

    def problem(self, call: ToolCall) -> str:
        """Returns what is wrong with the arguments of a call, as a sentence, or nothing."""
        ...

    async def run(self, call: ToolCall) -> str | None:
        """Returns the text of the result, whatever happens; None if an approval is awaited."""
        ...

    async def withdraw(self, call: ToolCall) -> bool:
        """Ends what waits for a call that the client denies; False if it has been executed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """A turn that has been stored and may run. `session_id` is set if the session is new."""

    model: Model
    instructions: str
    options: dict[str, str]
    limits: TurnLimits
    resolved: Sequence[Resolved]
    session_id: str = ""
    reads_images: bool = False


class TurnRun:
    """A turn that runs: it publishes what happens, from TurnStartEvent to TurnStopEvent."""

    def __init__(
        self, turn: StoredTurn, journal: Journal, tools: Tools, publish: Callable[[Event], None]
    ) -> None:
        self._turn, self._journal, self._tools = turn, journal, tools
        self._publish = publish
        self._stop: TurnStopEvent | None = None
        # Whether its end is being stored, which is not interrupted.
        self.is_ending = False
        self._usage = ModelUsage()
        self._calls = 0
        self._made: list[ToolCall] = []
        self._problems: Mapping[str, str] = {}
        # Whether a call waits for the client or for an approval.
        self._waits = False
        # The request that the model is answering, and what it has sent of its answer.
        self._request: ModelRequest | None = None
        self._pieces: list[DeltaEvent] = []

    async def run(self) -> None:
        self._publish(TurnStartEvent(self._turn.session_id))
        try:
            async with asyncio.timeout(self._turn.limits.seconds):
                await self._take_steps()
        except TimeoutError:
            self._stop = TurnStopEvent(StopReason.ERROR, TOO_LONG)
        except ModelFailed as failed:
            self._stop = TurnStopEvent(failed.reason, str(failed))
            if not self._pieces:  # the provider has refused the request
                self._request = None
        except KeyRevoked:
            self._stop = TurnStopEvent(StopReason.ERROR, REVOKED)
        except asyncio.CancelledError:
            self._stop = TurnStopEvent(StopReason.ERROR, INTERRUPTED)
        except Exception as error:
            # The traceback stays in the log.
            log.exception("turn_failed")
            failure = UNAVAILABLE if is_store_failure(error) else FAILED
            self._stop = TurnStopEvent(StopReason.ERROR, failure)
        self.is_ending = True
        stop = self._stop or TurnStopEvent(StopReason.ERROR, TOO_MANY_STEPS)
        if self._request is not None:
            self._usage = self._usage.plus(self._estimate_usage(self._request))
        partial = partial_message(self._pieces)
        await self._journal.end_turn(stop, self._usage, partial)
        if partial is not None:
            self._publish(MessageEvent(partial))
        self._publish(stop)

    async def _take_steps(self) -> None:
        await self._resolve()
        for _step in range(self._turn.limits.steps):
            if self._waits:
                break
            await self._respond()
            if self._stop is not None:
                return
            await self._call()
        if self._waits:
            self._stop = TurnStopEvent(StopReason.TOOL_USE)
            return
        # The person gets an answer from what was found, instead of an error.
        await self._respond(may_call=False)

    async def _respond(self, *, may_call: bool = True) -> None:
        """One response of the model: pieces, then the stored message, then all of its calls."""
        history, states = await self._journal.read_history()
        request = ModelRequest(
            instructions=self._turn.instructions,
            history=history,
            states=states,
            tools=self._tools.offered_tools(),
            options=self._turn.options,
            reads_images=self._turn.reads_images,
            may_call=may_call,
        )
        answer = await self._request_model(request)
        self._usage = self._usage.plus(answer.usage)
        self._request = None
        await self._journal.record_answer(answer, self._usage)
        self._pieces = []
        self._publish(MessageEvent(answer.message))
        self._made, self._problems = calls_of(answer.message), answer.problems
        for call in self._made:
            self._publish(ToolCallEvent(call))
        self._calls += len(self._made)
        if not self._made:
            self._stop = TurnStopEvent(answer.reason)
            return
        if not may_call:
            self._stop = TurnStopEvent(StopReason.ERROR, TOO_MANY_STEPS)
        elif self._calls > self._turn.limits.tool_calls:
            self._stop = TurnStopEvent(StopReason.ERROR, TOO_MANY_CALLS)
        elif self._usage.tokens > self._turn.limits.tokens:
            self._stop = TurnStopEvent(StopReason.MAX_TOKENS)
        if self._stop is not None:
            # The session goes on with a question, and not with the calls.
            for call in self._made:
                await self._store(call, NOT_MADE)

    async def _request_model(self, request: ModelRequest) -> ModelCompletion:
        self._request = request
        async with aclosing(self._turn.model.respond(request)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, DeltaEvent):
                    return piece
                self._pieces.append(piece)
                self._publish(piece)
        raise ModelFailed(INCOMPLETE)

    def _estimate_usage(self, request: ModelRequest) -> ModelUsage:
        """What a response cost that was cut, so that its provider has not said it."""
        received = sum(len(piece.text) for piece in self._pieces)
        return self._turn.model.estimate_usage(request, received)

    async def _resolve(self) -> None:
        """Runs what the client has granted, and stores what it has denied.

        The results of the client's own tools were stored with the request.
        """
        granted = []
        for one in self._turn.resolved:
            if one.permission is None:
                continue
            if one.permission.is_granted or not await self._tools.withdraw(one.call):
                granted.append(one.call)
                continue
            reason = one.permission.reason
            await self._store(one.call, f"{DENIED}: {reason}" if reason else DENIED)
        await self._run_calls(granted)

    async def _call(self) -> None:
        """Runs the calls that need no decision; the others wait."""
        ready = []
        for call in self._made:
            kind = self._tools.kind(call)
            known = UNKNOWN if kind is CallHandling.UNKNOWN else self._problems.get(call.id, "")
            problem = known or self._tools.problem(call)
            if problem:
                await self._store(call, problem)
            elif kind is CallHandling.RUNS:
                ready.append(call)
            else:
                self._waits = True
        await self._run_calls(ready)

    async def _run_calls(self, calls: Sequence[ToolCall]) -> None:
        """Runs calls at the same time; each result is stored as soon as it is there."""

        async def run_one(call: ToolCall) -> tuple[ToolCall, str | None]:
            return call, await self._tools.run(call)

        tasks = [asyncio.ensure_future(run_one(call)) for call in calls]
        try:
            for finished in asyncio.as_completed(tasks):
                call, text = await finished
                if text is None:
                    self._waits = True
                else:
                    await self._store(call, text)
        finally:
            for task in tasks:
                task.cancel()

    async def _store(self, call: ToolCall, text: str) -> None:
        message = {"role": "tool", "toolCallId": call.id, "content": text}
        await self._journal.record_result(message)
        self._publish(ToolResultEvent(message))


def partial_message(pieces: Sequence[DeltaEvent]) -> Message | None:
    """Returns the message of a response that was cut, marked as such; None without any text."""
    blocks = [
        {"type": kind, kind: text}
        for kind, group in groupby(pieces, key=lambda piece: piece.kind)
        # Providers refuse blocks that are blank.
        if (text := "".join(piece.text for piece in group)).strip()
    ]
    if not blocks:
        return None
    content = blocks[0]["text"] if [block["type"] for block in blocks] == ["text"] else blocks
    return {"role": "assistant", "content": content, "_meta": {"partial": True}}
