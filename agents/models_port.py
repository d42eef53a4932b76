"""What a language model is to a turn: a stream of pieces that ends with the whole message."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from agents.protocol.events import DeltaEvent, StopReason
from agents.protocol.requests import Message

# Costs are in millionths of a US dollar.
MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may call, of the agent or of the client."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request to a model: the history as it is to be read, and the tools.

    `states` has the state that a response came with for each message of the history. Images are
    left out of it unless the agent reads them. Without `may_call` the model is to answer with what
    it knows, and calls nothing.
    """

    instructions: str
    history: Sequence[Message]
    states: Sequence[Mapping[str, Any] | None]
    tools: Sequence[OfferedTool]
    options: Mapping[str, str] = field(default_factory=dict)
    reads_images: bool = False
    may_call: bool = True


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one response cost. `is_measured` says that the provider has counted it."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    is_measured: bool = True

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def plus(self, other: "ModelUsage") -> "ModelUsage":
        return ModelUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_micros + other.cost_micros,
            self.is_measured and other.is_measured,
        )


@dataclass(frozen=True, slots=True)
class ModelCompletion:
    """The end of a response: its message, why it ended, and what it cost.

    `reason` is `tool_use` if the message has calls. `state` is for the provider alone: it gets it
    back with the message in later requests. `problems` are of calls that cannot be made, by id.
    """

    message: Message
    reason: StopReason
    usage: ModelUsage = field(default_factory=ModelUsage)
    state: Mapping[str, Any] | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


Answered: TypeAlias = DeltaEvent | ModelCompletion


class ModelFailed(Exception):
    """The model gave no usable response; the message names neither key nor prompt."""

    def __init__(self, message: str, reason: StopReason = StopReason.ERROR) -> None:
        super().__init__(message)
        self.reason = reason


class Model(Protocol):
    @property
    def name(self) -> str: ...

    def respond(self, request: ModelRequest) -> AsyncGenerator[Answered, None]:
        """Yields pieces, then one ModelCompletion. Raises ModelFailed."""
        ...

    def estimate_usage(self, request: ModelRequest, received: int, /) -> ModelUsage:
        """Returns about what a response costs that was cut after so many characters."""
        ...
