"""Background work of agents."""

from agents import sessions
from foundation.background import task


@task(name="agents.end_abandoned")
def end_abandoned() -> int:
    """Ends the turns of processes that have died; returns how many."""
    return sessions.end_abandoned_turns()
