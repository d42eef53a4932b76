"""The server scenarios of the suite, by what they are to us; a pinned version has just these.

Named here and not read from the suite, so that a scenario it loses is noticed. A test compares.
"""

from collections.abc import Mapping
from typing import Final

BOTH: Final = (
    "completion-complete",
    "dns-rebinding-protection",
    "prompts-get-embedded-resource",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-with-image",
    "prompts-list",
    "resources-list",
    "resources-read-binary",
    "resources-read-text",
    "resources-templates-read",
    "server-sse-multiple-streams",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-call-with-progress",
    "tools-list",
)
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "2026-07-28": (
        *BOTH,
        "caching",
        "input-required-result-basic-elicitation",
        "input-required-result-basic-list-roots",
        "input-required-result-basic-sampling",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
        "input-required-result-missing-input-response",
        "input-required-result-multi-round",
        "input-required-result-multiple-input-requests",
        "input-required-result-non-tool-request",
        "input-required-result-request-state",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "sep-2164-resource-not-found",
        "server-stateless",
    ),
    "2025-11-25": (
        *BOTH,
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "logging-set-level",
        "ping",
        "resources-subscribe",
        "resources-unsubscribe",
        "server-initialize",
        "tools-call-elicitation",
        "tools-call-sampling",
        "tools-call-with-logging",
    ),
}
# Run with the required ones, and counted by nobody but us.
NOT_SCORED: Final[Mapping[str, tuple[str, ...]]] = {
    "2026-07-28": (
        "http-custom-header-server-validation",
        "http-header-validation",
        "json-schema-2020-12",
        "tasks-capability-negotiation",
        "tasks-dispatch-and-envelope",
        "tasks-lifecycle",
        "tasks-mrtr-composition",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-request-state-removal",
        "tasks-required-task-error",
        "tasks-status-notifications",
        "tasks-wire-fields",
    ),
    "2025-11-25": (
        "json-schema-2020-12",
        "server-session-lifecycle",
        "server-sse-polling",
    ),
}
# In no list of requirements: run one by one.
ELSEWHERE: Final = (
    "sep-2640-skills-directory",
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
)
