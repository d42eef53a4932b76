"""The results of extensions at 2026-07-28, which the schema of the revision does not have.

Source: SEP-2663, modelcontextprotocol/ext-tasks, specification/draft/tasks.md; SEP-2640,
modelcontextprotocol/ext-skills, specification/stable.
"""

from collections.abc import Mapping
from typing import Any, Final

from jsonschema_rs import Draft202012Validator

from mcp_protocol.revisions import Revision
from tests.drivers import schemas

METHODS: Final = frozenset(
    {"tasks/get", "tasks/update", "tasks/cancel", "skills/list", "skills/get"}
)
MOMENT: Final = {"type": "string", "format": "date-time", "pattern": "Z$"}
MILLISECONDS: Final = {"type": "integer", "minimum": 0}
ALWAYS: Final = {"resultType": True, "_meta": {"type": "object"}}
TASK: Final = {
    **ALWAYS,
    "taskId": {"type": "string", "minLength": 22},
    "status": {"enum": ["working", "completed", "cancelled"]},
    "statusMessage": {"type": "string", "minLength": 1},
    "createdAt": MOMENT,
    "lastUpdatedAt": MOMENT,
    "ttlMs": MILLISECONDS,
    "pollIntervalMs": MILLISECONDS,
}
NEEDED: Final = ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "resultType", "_meta"]
FILE: Final = {
    "type": "object",
    "properties": {
        "uri": {"type": "string", "pattern": "^skill://"},
        "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        "size": {"type": "integer", "minimum": 1},
    },
    "required": ["uri", "digest", "size"],
    "additionalProperties": False,
}
SKILL: Final = {
    "type": "object",
    "properties": {
        "uri": {"type": "string", "pattern": "^skill://.+/SKILL.md$"},
        "frontmatter": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "pattern": "^[a-z0-9-]{1,64}$"},
                "description": {"type": "string", "minLength": 1, "maxLength": 1024},
            },
            "required": ["name", "description"],
        },
        "resources": {"type": "array", "items": FILE, "minItems": 1, "maxItems": 512},
    },
    "required": ["uri", "frontmatter", "resources"],
    "additionalProperties": False,
}
CACHED: Final = {"ttlMs": MILLISECONDS, "cacheScope": {"enum": ["public", "private"]}}
SKILLS: Final = {
    **ALWAYS,
    **CACHED,
    "skills": {"type": "array", "items": SKILL},
    "nextCursor": {"type": "string"},
}


def has_schema(result: Mapping[str, Any], methods: list[str]) -> bool:
    return result.get("resultType") == "task" or bool(METHODS & {*methods})


def validate(result: Mapping[str, Any], methods: list[str]) -> None:
    """Raise ValidationError unless a result is what the extension says of its method."""
    (method,) = methods
    if method == "tools/call":
        _validate(result, TASK, NEEDED, "task")
    elif method == "skills/list":
        _validate(result, SKILLS, [*ALWAYS, *CACHED, "skills"], "complete")
    elif method == "skills/get":
        members = {**ALWAYS, **CACHED, "skill": SKILL}
        _validate(result, members, [*members], "complete")
    elif method == "tasks/get":
        has_ended = result["status"] == "completed"
        inlined = {"result": {"type": "object"}} if has_ended else {}
        _validate(result, TASK | inlined, [*NEEDED, *inlined], "complete")
        if has_ended:
            schemas.conforms(result["result"], Revision.V2026_07_28, "CallToolResult")
    else:
        _validate(result, ALWAYS, [*ALWAYS], "complete")


def _validate(
    result: Mapping[str, Any], members: Mapping[str, Any], needed: list[str], kind: str
) -> None:
    schema = {
        "type": "object",
        "properties": {**members, "resultType": {"const": kind}},
        "required": needed,
        "additionalProperties": False,
    }
    Draft202012Validator(schema, validate_formats=True).validate(result)
