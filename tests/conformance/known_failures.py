"""The checks that are known to fail, with the reason.

By part, and within it by scenario, or by `scenario:check` where the rest of the scenario has to
pass. What is named here and passes is a failure too, so that nothing stays excused by habit.
"""

from collections.abc import Mapping
from typing import Final

TASKS: Final = "tasks are calls of projects that wait for approval; the suite calls the workspace"
SKILLS: Final = (
    "the files of skills are in no list of resources, where the suite looks for SKILL.md"
)
STATELESS: Final = "a session is a signed note in the client's hand: nothing is there to end"
RESUMED: Final = "an answer is whole or its stream is open: none is left and resumed later"
PROMPTS: Final = "prompts do not change while the server runs, so no word of it is offered"

KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    "server-2026-07-28": {
        "server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription": PROMPTS,
    },
    "unscored": {
        "server-session-lifecycle at 2025-11-25": STATELESS,
        "server-sse-polling at 2025-11-25": RESUMED,
        "sep-2640-skills-manifest": SKILLS,
        "tasks-capability-negotiation at 2026-07-28": TASKS,
        "tasks-dispatch-and-envelope at 2026-07-28": TASKS,
        "tasks-lifecycle at 2026-07-28": TASKS,
        "tasks-mrtr-composition at 2026-07-28": TASKS,
        "tasks-mrtr-input at 2026-07-28": TASKS,
        "tasks-request-headers at 2026-07-28": TASKS,
        "tasks-request-state-removal at 2026-07-28": TASKS,
        "tasks-required-task-error at 2026-07-28": TASKS,
        "tasks-status-notifications at 2026-07-28": "the suite skips it: its own text is pending",
        "tasks-wire-fields at 2026-07-28": TASKS,
    },
}
