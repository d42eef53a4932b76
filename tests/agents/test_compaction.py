"""Long sessions: the model reads what fits, and the full history stays exact."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.protocol.compaction import RESULT_LEFT_OUT, TURNS_LEFT_OUT, compact_history, tokens
from agents.protocol.resolution import calls_of
from tests.agents.application import Application, says
from tests.agents.scripted import Script, calls, text
from tests.agents.test_turns import SEARCH, start

LONG = "word " * 400


def tool_call(call_id: str) -> dict[str, Any]:
    block = {"type": "tool_use", "toolCallId": call_id, "name": "search", "input": {"q": "x"}}
    return {"role": "assistant", "content": [block]}


def tool_result(call_id: str, content: str = LONG) -> dict[str, Any]:
    return {"role": "tool", "toolCallId": call_id, "content": content}


def turn(number: int) -> list[Any]:
    call_id = f"c{number}"
    answer = {"role": "assistant", "content": f"Answer {number}"}
    return [says(f"Question {number}"), tool_call(call_id), tool_result(call_id), answer]


def session(turns: int) -> list[Any]:
    begin: list[Any] = [{"role": "system", "content": "Be short."}]
    return [*begin, *(message for number in range(turns) for message in turn(number))]


def test_what_fits_is_whole() -> None:
    history = session(3)
    assert compact_history(history, 10_000) == history


def test_old_results_are_left_out_ahead_of_turns() -> None:
    history = session(4)
    found = compact_history(history, 1_200)
    assert len(found) == len(history)
    contents = [one["content"] for one in found if one["role"] == "tool"]
    assert contents == [RESULT_LEFT_OUT, RESULT_LEFT_OUT, LONG, LONG]


def test_then_whole_turns_are_left_out_and_a_notice_says_so() -> None:
    found = compact_history(session(30), 900)
    assert found[0]["role"] == "system"
    assert found[1] == says(TURNS_LEFT_OUT)
    assert found[2]["role"] == "user"
    assert found[-4:] == turn(29)


def test_the_last_turn_is_whole_whatever_it_takes() -> None:
    assert compact_history(session(3), 1)[-4:] == turn(2)
    assert compact_history([says(LONG)], 1) == [says(LONG)]


def test_a_photo_leaves_room_for_the_question_after_it() -> None:
    photo = {"type": "image", "url": "data:image/jpeg;base64," + "A" * 400_000}
    asked = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, photo]}
    history = [asked, {"role": "assistant", "content": "A cat."}, says("Of which colour?")]
    assert compact_history(history, 10_000) == history


@given(st.lists(st.integers(min_value=0, max_value=3), max_size=20), st.integers(1, 3_000))
def test_no_result_is_without_its_call_and_no_call_without_its_result(
    sizes: list[int], budget: int
) -> None:
    history: list[Any] = []
    for number, size in enumerate(sizes):
        ids = [f"c{number}-{place}" for place in range(size)]
        made = [block for one in ids for block in tool_call(one)["content"]]
        history += [says(f"Question {number}")]
        history += [{"role": "assistant", "content": made}] if made else []
        history += [*map(tool_result, ids), {"role": "assistant", "content": LONG}]
    found = compact_history(history, budget)
    answered = [one["toolCallId"] for one in found if one["role"] == "tool"]
    assert answered == [
        call.id for one in found if one["role"] == "assistant" for call in calls_of(one)
    ]
    last = history[-(sizes[-1] + 3) :] if sizes else []
    fits = sum(map(tokens, found)) <= budget + sum(map(tokens, last)) + tokens(says(TURNS_LEFT_OUT))
    assert fits


@pytest.mark.django_db
def test_the_model_reads_the_compacted_history_and_full_stays_exact(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.limit(monkeypatch, history_tokens=100)
    script.responses = [calls(SEARCH), text("Found.")]
    session_id = start(app, server_tools={"search_docs": True}).session_id
    script.responses = [text("Again.")]
    for _number in range(3):
        app.turn(session_id, says("And now? " * 30))
    read = script.requests[-1].history
    history = app.send("GET", f"/session/{session_id}").json["history"]
    assert read[0] == says(TURNS_LEFT_OUT)
    assert history["compacted"][0] == says(TURNS_LEFT_OUT)
    assert len(history["compacted"]) < len(history["full"])
    assert history["full"][0]["content"] == "Hello"
    assert len(history["full"]) == 10
