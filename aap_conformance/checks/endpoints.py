"""The six requests, and the key that they need."""

from typing import Final

from aap_conformance.observations import QUESTION, Observations, says
from aap_conformance.registry import CheckPage
from aap_conformance.shapes import META, require_shape
from aap_conformance.verdicts import require
from aap_conformance.wire import ServerAnswer

PAGE: Final = CheckPage("Endpoints")
UNAUTHENTICATED: Final = (401, 403)


@PAGE.check("1.1", "GET /meta: Get available agents and their tools")
def meta_is_answered(observed: Observations) -> None:
    observed.meta()


@PAGE.check("1.2", "GET /sessions: List sessions")
def sessions_are_listed(observed: Observations) -> None:
    observed.first_page()


@PAGE.check("1.3", "GET /session/:id: Get a session by ID")
def a_session_is_answered(observed: Observations) -> None:
    observed.session(observed.first_turn(observed.mode()).session_id)


@PAGE.check("1.4", "PUT /session: Create a new session")
def a_session_is_created(observed: Observations) -> None:
    observed.first_turn(observed.mode())


@PAGE.check("1.5", "POST /session/:id: Send a new turn to an existing session")
def a_session_is_continued(observed: Observations) -> None:
    observed.second_turn(observed.mode())


@PAGE.check("1.6", "DELETE /session/:id: Delete a session")
def a_session_is_deleted(observed: Observations) -> None:
    answer = observed.delete(observed.create(QUESTION).session_id)
    require(answer.is_success, f"{answer}.")


@PAGE.check(
    "2.1",
    "All endpoints accept an API key via the Authorization header: Authorization: Bearer <api-key>",
)
def the_key_is_accepted_and_another_is_not(observed: Observations) -> None:
    for answer in _send_every_request(observed, None):
        accepted = answer.status not in UNAUTHENTICATED
        require(accepted, f"The key was refused: {answer}.")
    for answer in _send_every_request(observed, "a-key-that-nobody-has"):
        refused = answer.status in UNAUTHENTICATED
        require(refused, f"A key that nobody has was not refused with 401: {answer}.")


@PAGE.check(
    "2.2",
    "Auth is optional on GET /meta — servers may choose to expose it publicly for capability "
    "discovery.",
)
def only_meta_is_public(observed: Observations) -> None:
    public = observed.server.send("GET", "/meta", key="")
    if public.status not in UNAUTHENTICATED:
        require_shape(public.json(), META, "GET /meta without a key")
    for answer in _send_every_request(observed, ""):
        refused = answer.status in UNAUTHENTICATED
        require(refused, f"A request without a key was not refused with 401: {answer}.")


def _send_every_request(observed: Observations, key: str | None) -> list[ServerAnswer]:
    """Sends each request but GET /meta. With the key of the examination, nothing is lost by it."""
    path = f"/session/{observed.first_turn(observed.mode()).session_id}"
    send, broken = observed.server.send, {"messages": [says(QUESTION)], "agent": {}}
    return [
        send("GET", "/sessions", key=key),
        send("GET", path, key=key),
        send("PUT", "/session", broken, key=key),
        send("POST", path, {}, key=key),
        send("DELETE", f"{path}-of-nobody", key=key),
    ]
