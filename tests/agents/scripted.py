"""A model that says what a test has written down, and remembers what it was sent."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agents import definitions
from agents.definitions import ConfiguredAgent
from agents.loop import TurnLimits
from agents.models import LanguageModel
from agents.models_port import (
    Answered,
    Model,
    ModelCompletion,
    ModelFailed,
    ModelRequest,
    ModelUsage,
)
from agents.protocol.events import DeltaEvent, StopReason
from agents.protocol.options import DeclaredOption
from foundation.limits import Limit


def calls(*made: tuple[str, str, dict[str, Any]], text: str = "") -> ModelCompletion:
    """A response with calls: the id, the name of the tool, and the arguments of each."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "toolCallId": one, "name": name, "input": given}
        for one, name, given in made
    ]
    message = {"role": "assistant", "content": blocks}
    return ModelCompletion(message, StopReason.TOOL_USE, ModelUsage(10, 5, 3))


def text(content: str) -> ModelCompletion:
    message = {"role": "assistant", "content": content}
    return ModelCompletion(message, StopReason.END_TURN, ModelUsage(10, 5, 3))


@dataclass
class Script:
    """Responses in their order; the last is repeated. An exception is raised."""

    responses: list[ModelCompletion | Exception] = field(default_factory=lambda: [text("Done.")])
    requests: list[ModelRequest] = field(default_factory=list)
    name: str = "scripted"
    limits: TurnLimits = field(default_factory=TurnLimits)

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Answered, None]:
        self.requests.append(request)
        response = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(response, Exception):
            yield DeltaEvent("text", "Half a ")
            raise response
        content = response.message["content"]
        for word in content.split(" ") if isinstance(content, str) else ():
            yield DeltaEvent("text", f"{word} ")
        yield response

    def estimate_usage(self, _request: ModelRequest, received: int) -> ModelUsage:
        return ModelUsage(10, received, 3, is_measured=False)

    @classmethod
    def for_an_agent(cls, monkeypatch: pytest.MonkeyPatch) -> "Script":
        script = cls()

        class Scripted(ConfiguredAgent):
            def model(self, _row: LanguageModel | None, _secrets: Any) -> Model:
                return script

        agent = Scripted(
            **{
                name: getattr(definitions.ASK_AI, name)
                for name in ("title", "description", "instructions")
            },
            name="scripted",
            options=(
                DeclaredOption(name="language", title="Language", description="", default="en"),
                DeclaredOption(
                    name="size",
                    title="Size",
                    description="",
                    type="select",
                    options=("small", "large"),
                    default="small",
                ),
            ),
        )
        monkeypatch.setitem(definitions.ALL, "scripted", agent)  # type: ignore[arg-type]  a dict
        return script

    def limit(self, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> None:
        self.change(monkeypatch, limits=TurnLimits(**limits))

    def change(self, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
        agent = replace(definitions.ALL["scripted"], **fields)
        monkeypatch.setitem(definitions.ALL, "scripted", agent)  # type: ignore[arg-type]  a dict


FAILED = ModelFailed("The model could not be reached.")
UNLIMITED = Limit.parse("1000000/m")
