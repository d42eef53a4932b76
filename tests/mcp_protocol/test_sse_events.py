"""Server-sent events: one message is one event, whatever it holds."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_protocol.sse import KEEP_ALIVE, event


def test_an_event_names_its_type_and_carries_compact_json() -> None:
    assert event({"jsonrpc": "2.0", "id": 1}) == (
        b'event: message\ndata: {"jsonrpc":"2.0","id":1}\n\n'
    )


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text()))
def test_no_text_can_break_out_of_its_event(message: dict[str, str]) -> None:
    data = event(message)
    assert data.count(b"\n") == 3
    assert b"\r" not in data
    assert json.loads(data.removeprefix(b"event: message\ndata: ")) == message


def test_a_keep_alive_is_a_comment_and_no_event() -> None:
    assert KEEP_ALIVE.startswith(b":")
    assert KEEP_ALIVE.endswith(b"\n\n")
    assert KEEP_ALIVE.strip().count(b"\n") == 0
