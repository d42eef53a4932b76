"""A model that says what a test has written down, and remembers what it was sent."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agents import definitions
from agents.definitions import Agent
from agents.loop import Limits
from agents.models import LanguageModel
from agents.models_port import Answered, Complete, Model, ModelFailed, ModelRequest, Usage
from agents.protocol.events import Piece, StopReason
from agents.protocol.options import Option
from foundation.limits import Limit


def calls(*made: tuple[str, str, dict[str, Any]], text: str = "") -> Complete:
    """A response with calls: the id, the name of the tool, and the arguments of each."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "toolCallId": one, "name": name, "input": given}
        for one, name, given in made
    ]
    message = {"role": "assistant", "content": blocks}
    return Complete(message, StopReason.TOOL_USE, Usage(10, 5, 3))


def text(content: str) -> Complete:
    message = {"role": "assistant", "content": content}
    return Complete(message, StopReason.END_TURN, Usage(10, 5, 3))


@dataclass
class Script:
    """Responses in their order; the last is repeated. An exception is raised."""

    responses: list[Complete | Exception] = field(default_factory=lambda: [text("Done.")])
    requests: list[ModelRequest] = field(default_factory=list)
    name: str = "scripted"
    limits: Limits = field(default_factory=Limits)

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Answered, None]:
        self.requests.append(request)
        response = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(response, Exception):
            yield Piece("text", "Half a ")
            raise response
        content = response.message["content"]
        for word in content.split(" ") if isinstance(content, str) else ():
            yield Piece("text", f"{word} ")
        yield response

    @classmethod
    def of_an_agent(cls, monkeypatch: pytest.MonkeyPatch) -> "Script":
        script = cls()

        class Scripted(Agent):
            def model(self, _row: LanguageModel | None, _secrets: Any) -> Model:
                return script

        agent = Scripted(
            **{
                name: getattr(definitions.ASK_AI, name)
                for name in ("title", "description", "instructions")
            },
            name="scripted",
            options=(
                Option(name="language", title="Language", description="", default="en"),
                Option(
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
        self.change(monkeypatch, limits=Limits(**limits))

    def change(self, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
        agent = replace(definitions.ALL["scripted"], **fields)
        monkeypatch.setitem(definitions.ALL, "scripted", agent)  # type: ignore[arg-type]  a dict


FAILED = ModelFailed("The model could not be reached.")
UNLIMITED = Limit.parse("1000000/m")
