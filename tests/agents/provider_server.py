"""A local HTTP server with the APIs of Anthropic and of OpenAI, for tests of language models.

It answers with what a test has written down, one response after the other.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANTHROPIC_STOPS = {
    "stop": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}
OPENAI_STOPS = {
    "stop": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
    "missing": None,
}

# Of each response, the events behind its text.
LAST = 3
HOLD_SECONDS = 60


@dataclass(frozen=True)
class TextPart:
    """Sent in two pieces."""

    text: str


@dataclass(frozen=True)
class Thought:
    text: str
    signature: str


@dataclass(frozen=True)
class Call:
    """`arguments` is sent as it is, in two pieces."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Says:
    """A response.

    `is_cut` ends the connection before it is over. The last events are sent once `released` is set.
    """

    parts: Sequence[TextPart | Thought | Call]
    stop: str = "stop"
    is_cut: bool = False
    released: threading.Event | None = None


@dataclass(frozen=True)
class Fails:
    """A response with a status and without a stream."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        # What must reach neither a client nor the log.
        error = {"type": "an_error", "message": "the-prompt and the-key of somebody"}
        return json.dumps({"type": "error", "error": error}).encode()


@dataclass
class Provider:
    """What it is to answer, and what it was sent."""

    kind: str
    url: str = ""
    answers: list[Says | Fails] = field(default_factory=lambda: [Says([TextPart("Ready.")])])
    requests: list[tuple[Mapping[str, str], Any]] = field(default_factory=list)

    def next(self) -> Says | Fails:
        """The last answer is repeated."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    @property
    def bodies(self) -> list[Any]:
        return [body for _headers, body in self.requests]


def anthropic(says: Says) -> Iterator[tuple[str, Any]]:
    usage = {"input_tokens": 12, "output_tokens": 1}
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant"}
    message |= {"model": "claude-test", "content": [], "usage": usage}
    message |= {"stop_reason": None, "stop_sequence": None}
    yield "message_start", {"message": message}
    for index, part in enumerate(says.parts):
        place = {"index": index}
        match part:
            case TextPart(text=text):
                begun: Any = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": half} for half in halves(text)]
            case Thought(text=text, signature=signature):
                begun = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": half} for half in halves(text)]
                deltas.append({"type": "signature_delta", "signature": signature})
            case Call():
                begun = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
                deltas = [
                    {"type": "input_json_delta", "partial_json": half}
                    for half in halves(part.arguments)
                ]
        yield "content_block_start", place | {"content_block": begun}
        for delta in deltas:
            yield "content_block_delta", place | {"delta": delta}
        yield "content_block_stop", place
    stop = {"stop_reason": ANTHROPIC_STOPS[says.stop], "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {"output_tokens": 7}}
    yield "message_stop", {}


def openai(says: Says) -> Iterator[Any]:
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test"}

    def delta(content: Any, stop: str | None = None) -> Any:
        return chunk | {"choices": [{"index": 0, "delta": content, "finish_reason": stop}]}

    yield delta({"role": "assistant", "content": ""})
    number = 0
    for part in says.parts:
        if isinstance(part, TextPart):
            for half in halves(part.text):
                yield delta({"content": half})
        elif isinstance(part, Call):
            function = {"name": part.name, "arguments": ""}
            whole = {"index": number, "id": part.id, "type": "function", "function": function}
            yield delta({"tool_calls": [whole]})
            for half in halves(part.arguments):
                more = {"index": number, "function": {"arguments": half}}
                yield delta({"tool_calls": [more]})
            number += 1
    yield delta({}, OPENAI_STOPS[says.stop])
    usage = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
    yield chunk | {"choices": [], "usage": usage}


def halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def encode_events(kind: str, says: Says) -> list[bytes]:
    if kind == "anthropic":
        return [
            f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
            for name, data in anthropic(says)
        ]
    return [*(f"data: {json.dumps(one)}\n\n".encode() for one in openai(says)), b"data: [DONE]\n\n"]


class _ProviderHandler(BaseHTTPRequestHandler):
    provider: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.provider.requests.append((headers | {":path": self.path}, body))
        answer = self.provider.next()
        if isinstance(answer, Fails):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        # A body that ends before its length is a connection that was cut.
        if answer.is_cut:
            self.send_header("Content-Length", "1000000")
        self.end_headers()
        events = encode_events(self.provider.kind, answer)
        self.wfile.write(b"".join(events[:-LAST]))
        if answer.released is not None:
            answer.released.wait(HOLD_SECONDS)
        if not answer.is_cut:
            self.wfile.write(b"".join(events[-LAST:]))

    def log_message(self, *_given: Any) -> None:
        """Nothing is logged."""


@contextmanager
def serving(kind: str) -> Iterator[Provider]:
    provider = Provider(kind)
    handler = type("Handler", (_ProviderHandler,), {"provider": provider})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        base = "" if kind == "anthropic" else "/v1"
        provider.url = f"http://127.0.0.1:{server.server_address[1]}{base}"
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
