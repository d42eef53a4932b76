"""What is read of replies, and how they are compared."""

import json

from bench import protocol
from bench.protocol import Reply


def test_a_text_is_read_of_a_right_reply_only() -> None:
    right = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}'

    assert protocol.result_text(right) == "hi"
    assert protocol.result_text(right.replace(b'"content"', b'"isError":true,"content"')) is None
    assert protocol.result_text(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32002}}') is None
    assert protocol.result_text(b"<html>") is None


def test_only_the_time_and_the_cursor_of_a_reply_may_differ() -> None:
    def body(time: str, cursor: str, name: str) -> bytes:
        value = {"name": name, "next_cursor": cursor, "as_of": time}
        text = {"type": "text", "text": json.dumps(value, indent=2)}
        result = {"content": [text], "structuredContent": value}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()

    reply = Reply.of(body("10:00:01", "aB-_", "Maria"))

    assert len(reply.varying) == 4
    assert reply.fits(body("10:00:02", "Cd01", "Maria"))
    assert not reply.fits(body("10:00:01", "aB-_", "Mario"))
    assert not reply.fits(body("10:00:01", "aB-_2", "Maria"))
    assert protocol.without_varying('{"as_of": "10:00:01"}') == protocol.without_varying(
        '{"as_of": "1"}'
    )


def test_the_layer_that_refused_is_read_of_an_error() -> None:
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"data":{"layer":"agent"}}}'

    assert protocol.refusal_layer(error) == "agent"
    assert protocol.refusal_layer(b'{"jsonrpc":"2.0","id":1,"result":{}}') == ""
