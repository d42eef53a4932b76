"""A language model on loopback that calls the tools that the prompt names, in three wire formats.

`CALL name arguments` in the last prompt is a call, see `write_call`; the calls are made one after
the other, and their number is known from the results that the conversation holds already. Other
requests, such as one for a title, get a word. Command-line agents need a model for each call; this
one needs no account, and what it calls is known before. What it keeps is that of the prompts with
its mark.
"""

import json
import re
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

CALL: Final = re.compile(r"CALL (\w+) ([\w=-]+)")
WORD: Final = "Done."
MARK: Final = "Halo matrix."


@dataclass
class Conversation:
    """What a request says: the names of its tools, the text of its prompt, the results so far."""

    tools: Sequence[str]
    prompt: str
    results: Sequence[str]

    def next_call(self) -> tuple[str, dict[str, Any]] | None:
        """The name of the tool as the client calls it, and its arguments."""
        calls = CALL.findall(self.prompt)
        if not self.tools or len(self.results) >= len(calls):
            return None
        wanted, arguments = calls[len(self.results)]
        names = [name for name in self.tools if name.endswith(wanted)]
        return (names[0], json.loads(urlsafe_b64decode(arguments))) if names else None


def write_call(tool: str, arguments: Mapping[str, str]) -> str:
    """A call as a prompt has it. Quotation marks and braces would not pass every client."""
    return f"CALL {tool} {urlsafe_b64encode(json.dumps(arguments).encode()).decode()}"


@dataclass
class ModelProvider:
    """The server's address, and what the requests for calls held."""

    url: str
    tools: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def record(self, conversation: Conversation) -> None:
        if MARK in conversation.prompt and conversation.tools:
            self.tools = list(conversation.tools)
            self.results = list(conversation.results)


@contextmanager
def running() -> Iterator[ModelProvider]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    provider = ModelProvider(f"http://127.0.0.1:{server.server_address[1]}")
    server.provider = provider  # type: ignore[attr-defined]  # the handler finds it there
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_words: object) -> None:
        """Nothing on standard error, which belongs to the command."""

    def do_HEAD(self) -> None:
        self._send("application/json", b"")

    def do_GET(self) -> None:
        models = [{"id": "scripted", "object": "model", "name": "models/scripted"}]
        self._reply({"object": "list", "data": models, "models": models})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            self._reply({"input_tokens": 1, "totalTokens": 1})
        elif path.endswith("/messages"):
            self._anthropic(body)
        elif path.endswith("/chat/completions"):
            self._openai(body)
        elif ":streamGenerateContent" in path or ":generateContent" in path:
            self._gemini(body, streamed=":stream" in path)
        else:
            self._reply({"error": {"message": f"no such path: {path}"}}, 404)

    def _anthropic(self, body: dict[str, Any]) -> None:
        call = self._decide(read_anthropic(body))
        block: dict[str, Any] = {"type": "text", "text": WORD}
        if call:
            name, arguments = call
            block = {"type": "tool_use", "id": call_id(body), "name": name, "input": arguments}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"]}
        message |= {"stop_sequence": None, "usage": usage}
        reason = "tool_use" if call else "end_turn"
        if not body.get("stream"):
            self._reply({**message, "content": [block], "stop_reason": reason})
            return
        start = {**block, "input": {}} if call else {**block, "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": WORD}
        if call:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": usage,
            },
            {"type": "message_stop"},
        ]
        self._stream(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)

    def _openai(self, body: dict[str, Any]) -> None:
        call = self._decide(read_openai(body))
        message: dict[str, Any] = {"role": "assistant", "content": None if call else WORD}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            entry = {"index": 0, "id": call_id(body), "type": "function", "function": function}
            message["tool_calls"] = [entry]
        reason = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._reply({**reply, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        reply["object"] = "chat.completion.chunk"
        chunks: list[dict[str, Any]] = [
            {**reply, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**reply, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**reply, "choices": [], "usage": usage},
        ]
        self._stream([*(f"data: {json.dumps(each)}\n\n" for each in chunks), "data: [DONE]\n\n"])

    def _gemini(self, body: dict[str, Any], *, streamed: bool) -> None:
        call = self._decide(read_gemini(body))
        part: dict[str, Any] = {"text": WORD}
        if call:
            part = {"functionCall": {"name": call[0], "args": call[1]}}
        candidate = {"index": 0, "finishReason": "STOP"}
        candidate["content"] = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        reply = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
        if streamed:
            self._stream([f"data: {json.dumps(reply)}\n\n"])
        else:
            self._reply(reply)

    def _decide(self, conversation: Conversation) -> tuple[str, dict[str, Any]] | None:
        self.server.provider.record(conversation)  # type: ignore[attr-defined]  # see `running`
        return conversation.next_call()

    def _reply(self, document: dict[str, Any], status: int = 200) -> None:
        self._send("application/json", json.dumps(document).encode(), status)

    def _stream(self, events: Sequence[str] | Iterator[str]) -> None:
        self._send("text/event-stream", "".join(events).encode())

    def _send(self, content_type: str, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def call_id(body: dict[str, Any]) -> str:
    """An id that no other call of the conversation has."""
    return f"call_{len(body['messages'])}"


def text_of(content: Any) -> str:
    """The text of a string, of a list of blocks, or of a block with content of its own."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    return "\n".join(text_of(each) for each in content or ())


def index_of_the_prompt(prompts: Sequence[str]) -> int:
    """The index of the last prompt with the mark, or -1."""
    naming = [index for index, text in enumerate(prompts) if MARK in text]
    return naming[-1] if naming else -1


def read_anthropic(body: dict[str, Any]) -> Conversation:
    messages = body["messages"]
    said = [text_of(each["content"]) if each["role"] == "user" else "" for each in messages]
    begin = index_of_the_prompt(said)
    blocks = [
        block
        for each in messages[begin + 1 :]
        if isinstance(each["content"], list)
        for block in each["content"]
    ]
    results = [text_of(block) for block in blocks if block["type"] == "tool_result"]
    names = [tool["name"] for tool in body.get("tools", ())]
    return Conversation(names, said[begin] if begin >= 0 else "", results)


def read_openai(body: dict[str, Any]) -> Conversation:
    messages = body["messages"]
    said = [text_of(each["content"]) if each["role"] == "user" else "" for each in messages]
    begin = index_of_the_prompt(said)
    results = [text_of(each["content"]) for each in messages[begin + 1 :] if each["role"] == "tool"]
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    return Conversation(names, said[begin] if begin >= 0 else "", results)


def read_gemini(body: dict[str, Any]) -> Conversation:
    contents = body["contents"]
    said = [text_of(each["parts"]) if each.get("role") == "user" else "" for each in contents]
    begin = index_of_the_prompt(said)
    results = [
        json.dumps(part["functionResponse"]["response"])
        for each in contents[begin + 1 :]
        for part in each["parts"]
        if "functionResponse" in part
    ]
    declared = [tool.get("functionDeclarations", ()) for tool in body.get("tools") or ()]
    names = [tool["name"] for tools in declared for tool in tools]
    return Conversation(names, said[begin] if begin >= 0 else "", results)
