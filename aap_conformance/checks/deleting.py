"""DELETE /session/:id."""

from typing import Final

from aap_conformance.observations import QUESTION, Observations, says
from aap_conformance.registry import CheckPage
from aap_conformance.verdicts import require

PAGE: Final = CheckPage("Endpoints")
NO_CONTENT: Final = 204
NOT_FOUND: Final = 404


@PAGE.check("9.1", "Deletes a session and its associated history.")
def a_deleted_session_is_gone(observed: Observations) -> None:
    session_id = observed.create(QUESTION).session_id
    path = f"/session/{session_id}"
    observed.delete(session_id)
    read = observed.server.send("GET", path)
    require(read.status == NOT_FOUND, f"After its deletion: {read}.")
    continued = observed.server.send("POST", path, {"messages": [says(QUESTION)]})
    require(continued.status == NOT_FOUND, f"After its deletion: {continued}.")


@PAGE.check("9.2", "204 No Content")
def a_deletion_has_no_content(observed: Observations) -> None:
    answer = observed.delete(observed.create(QUESTION).session_id)
    is_empty = answer.status == NO_CONTENT and not answer.body
    require(is_empty, f"{answer}.")
