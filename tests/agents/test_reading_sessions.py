"""Reading sessions in parts: one of the histories, pages of it, and the newest sessions first."""

from typing import Any

import pytest

from agents import sessions
from tests.agents.application import Application, result, says
from tests.agents.scripted import Script, calls, text
from tests.agents.test_turns import PLACE, WEATHER, start

pytestmark = pytest.mark.django_db


def read(app: Application, session_id: str, query: str) -> Any:
    return app.send("GET", f"/session/{session_id}", query=query).json


@pytest.fixture
def session_id(app: Application, script: Script) -> str:
    """A session with six messages."""
    script.responses = [calls(PLACE), text("Sunny."), text("Gladly.")]
    session_id = start(app, tools=[WEATHER]).session_id
    app.turn(session_id, result("c3"))
    app.turn(session_id, says("Thanks"))
    return session_id


def test_a_client_reads_one_history_or_both(app: Application, session_id: str) -> None:
    both = read(app, session_id, "")
    assert {*both["history"]} == {"compacted", "full"}
    for kind in ("compacted", "full"):
        one = read(app, session_id, f"history={kind}")
        assert one == {**both, "history": {kind: both["history"][kind]}}


def test_the_full_history_is_read_in_pages_from_its_end(app: Application, session_id: str) -> None:
    whole = app.history(session_id)
    assert len(whole) == 6
    found: list[Any] = []
    query = "history=full&limit=4"
    while True:
        page = read(app, session_id, query)
        found = page["history"]["full"] + found
        if "nextCursor" not in page:
            break
        query = f"history=full&limit=4&before={page['nextCursor']}"
    assert found == whole


def test_a_page_says_what_waits_whatever_part_it_is_of(app: Application, script: Script) -> None:
    script.responses = [calls(PLACE), text("Sunny.")]
    session_id = start(app, tools=[WEATHER]).session_id
    page = read(app, session_id, "history=full&limit=1")
    assert page["history"]["full"][0]["content"][0]["toolCallId"] == "c3"
    assert app.turn(session_id, result("c3")).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("history=all", "history must be one of: compacted, full."),
        ("history=full&limit=0", "limit must be a number"),
        ("history=full&limit=-1", "limit must be a number"),
        ("history=full&limit=many", "limit must be a number"),
        ("history=full&before=%C2%B2", "before must be a number"),
        ("history=full&before=99999999999999999999", "before must be a number"),
        ("history=compacted&limit=3", "for ?history=full"),
        ("limit=3", "for ?history=full"),
    ],
)
def test_a_part_that_does_not_exist_is_refused(
    app: Application, session_id: str, query: str, said: str
) -> None:
    answer = app.send("GET", f"/session/{session_id}", query=query)
    assert (answer.status, said in answer.error) == (400, True), answer.error


def test_the_newest_sessions_are_listed_first_on_request(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PAGE", 2)
    made = [start(app).session_id for _number in range(5)]
    assert len(script.requests) == 5
    listed, query = [], "order=desc"
    while True:
        page = app.send("GET", "/sessions", query=query).json
        listed += page["sessions"]
        if "nextCursor" not in page:
            break
        query = f"order=desc&after={page['nextCursor']}"
    assert listed == made[::-1]
    refused = app.send("GET", "/sessions", query="order=newest")
    assert (refused.status, refused.error) == (400, "order must be one of: asc, desc.")
