"""What a client asks for: a new session, or the next turn of one. Parsed once, at the edge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Final, TypeAlias

from agents.protocol import images, shapes
from agents.protocol.images import InvalidImage
from foundation import patterns
from foundation.patterns import PatternsTooLarge
from foundation.schema_work import SchemaTooComplex, Steps, UnfollowedReference
from tools_registry.api.model_arguments import leave_out_absent
from tools_registry.api.schemas import compile_once, validator_of

# A message of a history, as it is sent, stored and answered.
Message: TypeAlias = Mapping[str, Any]

MAX_SHOWN: Final = 200
# Errors that one answer names.
MAX_EXPLAINED: Final = 10


class InvalidAgentRequest(Exception):
    """The request is refused; the message is a sentence for the client's developer."""


class StreamMode(StrEnum):
    DELTA = "delta"
    MESSAGE = "message"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of the agent that the session may use; a trusted one runs without permission."""

    name: str
    is_trusted: bool


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that the application runs itself."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """The next turn of a session.

    None for `tools`, `options` or `client_tools` leaves those of the session as they are.
    """

    stream: StreamMode
    messages: Sequence[Message]
    tools: Sequence[ServerTool] | None
    options: Mapping[str, str] | None
    client_tools: Sequence[ClientTool] | None


def new_session(body: Any) -> tuple[str, TurnRequest]:
    """Returns the name of the agent, and the first turn with the history before it.

    Raises InvalidAgentRequest.
    """
    body = leave_out_absent(shapes.NEW_SESSION, body)
    _require(shapes.NEW_SESSION, body, "")
    messages = _messages(body["messages"], shapes.STORED)
    if messages[-1]["role"] != "user":
        raise InvalidAgentRequest("The last message must be a user message.")
    return body["agent"]["name"], _turn(body, messages)


def new_turn(body: Any) -> TurnRequest:
    """Returns the next turn. Raises InvalidAgentRequest."""
    body = leave_out_absent(shapes.NEW_TURN, body)
    _require(shapes.NEW_TURN, body, "")
    return _turn(body, _messages(body["messages"], shapes.SENT))


def _turn(body: Mapping[str, Any], messages: Sequence[Message]) -> TurnRequest:
    agent = body.get("agent", {})
    turn = TurnRequest(
        stream=StreamMode(body.get("stream", StreamMode.NONE)),
        messages=messages,
        tools=_server_tools(agent["tools"]) if "tools" in agent else None,
        options=agent.get("options"),
        client_tools=_client_tools(body["tools"]) if "tools" in body else None,
    )
    _require_unique(turn)
    return turn


def _server_tools(given: Sequence[Mapping[str, Any]]) -> list[ServerTool]:
    # A later revision of version 1 made `trust` optional.
    return [ServerTool(one["name"], one.get("trust", False)) for one in given]


def _client_tools(given: Sequence[Mapping[str, Any]]) -> list[ClientTool]:
    found = []
    _check_patterns(given)
    work = Steps()
    for place, one in enumerate(given):
        try:
            compile_once(one["inputSchema"], work)
        except (SchemaTooComplex, UnfollowedReference) as error:
            message = f"tools[{place}].inputSchema is not supported: {error}"
            raise InvalidAgentRequest(message) from None
        except ValueError:
            message = f"tools[{place}].inputSchema is not a valid JSON Schema."
            raise InvalidAgentRequest(message) from None
        description, title = one.get("description", ""), one.get("title", "")
        found.append(ClientTool(one["name"], title, description, one["inputSchema"]))
    return found


def _check_patterns(given: Sequence[Mapping[str, Any]]) -> None:
    """Those of all tools together, as one request is one price."""
    try:
        patterns.count_bytes(*(one["inputSchema"] for one in given))
    except PatternsTooLarge as error:
        raise InvalidAgentRequest(f"tools is invalid: {error}") from None


def _require_unique(turn: TurnRequest) -> None:
    """A client tells the tools of the agent from its own by their names."""
    named = [one.name for one in turn.tools or ()]
    named += [one.name for one in turn.client_tools or ()]
    repeated = sorted({name for name in named if named.count(name) > 1})
    if repeated:
        raise InvalidAgentRequest(f"The tool {_shorten(repeated[0])} is named twice.")


def _messages(given: Sequence[Any], by_role: Mapping[str, Any]) -> list[Message]:
    for place, message in enumerate(given):
        where = f"messages[{place}]"
        _require(by_role[_choose(message.get("role"), by_role, f"{where}.role")], message, where)
        _check_content(message, f"{where}.content")
    return list(given)


def _check_content(message: Message, where: str) -> None:
    """Each block has the schema of its type. Providers refuse blank texts of people."""
    role, content = message["role"], message.get("content")
    if role == "tool_permission":  # it has none
        return
    if isinstance(content, str):
        _require_text(role, content, where)
        return
    for place, block in enumerate(content or ()):
        named, by_type = f"{where}[{place}]", shapes.BLOCKS[role]
        kind = _choose(block.get("type"), by_type, f"{named}.type")
        _require(by_type[kind], block, named)
        if kind == "text":
            _require_text(role, block["text"], f"{named}.text")
        elif kind == "image":
            try:
                images.image_url(block)
            except InvalidImage as error:
                raise InvalidAgentRequest(f"{named} is invalid: {error}") from None


def _choose(value: Any, known: Mapping[str, Any], where: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise InvalidAgentRequest(f"{where} must be one of: {', '.join(known)}.")
    return value


def _require_text(role: str, text: str, where: str) -> None:
    if role in {"system", "user"} and not text.strip():
        raise InvalidAgentRequest(f"{where} must not be blank.")


def has_image(messages: Sequence[Message]) -> bool:
    """Returns whether a message has a block with an image."""
    return any(
        block["type"] == "image"
        for message in messages
        if isinstance(content := message.get("content"), list)
        for block in content
    )


def _require(schema: Mapping[str, Any], value: Any, where: str) -> None:
    """Raises InvalidAgentRequest with the place and the cause of each error."""
    errors = islice(validator_of(schema).iter_errors(value), MAX_EXPLAINED)
    if sentences := [_explain(error, where) for error in errors]:
        raise InvalidAgentRequest(" ".join(dict.fromkeys(sentences)))


def _explain(error: Any, where: str) -> str:
    place = where
    for part in error.instance_path:
        place += f"[{part}]" if isinstance(part, int) else f".{part}"
    named = place.removeprefix(".") or "The body"
    if named.startswith("agent.options."):
        # The value may be a secret.
        return f"{named} must be a text of at most {shapes.MAX_OPTION} characters."
    return f"{named} is invalid: {_shorten(error.message)}."


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
