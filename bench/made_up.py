"""Tools that are made up, as many as are asked for, with schemas as real ones have them.

Each has two sentences, five or six properties with descriptions, an enumeration, a list, and those
that read a nested object. The same number always makes the same tools.
"""

from collections.abc import Iterator
from typing import Any, Final

from tools_registry.api import Arguments, Facts, Run, ToolContext, Toolset

VERBS: Final = ("find", "list", "count", "create", "update", "assign", "archive", "export")
NOUNS: Final = (
    *("ticket", "company", "contact", "invoice", "deal", "campaign", "article", "report"),
    *("order", "shipment", "refund", "webhook", "segment", "survey", "macro", "schedule"),
    *("contract", "workflow", "note", "label", "queue", "team", "channel", "call_log"),
    *("template", "subscription", "product", "price_list", "warehouse", "return_slip"),
    *("payment", "budget", "meeting", "task", "milestone", "incident", "release", "domain"),
)
WRITING: Final = frozenset({"create", "update", "assign", "archive"})


def names(count: int) -> list[str]:
    """The names of so many tools; at most as many as there are pairs of a verb and a noun."""
    pairs = [f"{verb}_{noun}" for noun in NOUNS for verb in VERBS]
    if not 0 < count <= len(pairs):
        raise ValueError(f"there can be 1 to {len(pairs)} tools, not {count}.")
    return pairs[:count]


def toolset(count: int) -> Toolset:
    """An integration of so many tools."""
    bench = Toolset(integration="bench", title="Bench")
    for name in names(count):
        _declare(bench, name)
    return bench


def _declare(bench: Toolset, name: str) -> None:
    verb, _, noun = name.partition("_")
    thing = noun.replace("_", " ")
    bench.tool(
        title=f"{verb.title()} {thing}",
        description=(
            f"{verb.title()} the workspace's {thing} records that fit what is given. Returns the "
            f"id, the name and the state of each {thing}, newest first, with a cursor where more "
            "follow."
        ),
        input_schema=_schema(verb, thing),
        mutates=verb in WRITING,
        open_world=True,
    )(_runner(name))


def _schema(verb: str, thing: str) -> dict[str, Any]:
    properties = dict(_properties(verb, thing))
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties)[:2],
        "additionalProperties": False,
    }


def _properties(verb: str, thing: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "id", _text(f"The id of the {thing}, as an earlier answer gave it.", 64)
    yield "name", _text(f"What the {thing} is called, or the beginning of it.", 200)
    yield "state", {"type": "string", "enum": ["open", "pending", "closed"], "default": "open"}
    yield "labels", {"type": "array", "items": {"type": "string"}, "maxItems": 20}
    if verb in WRITING:
        yield "comment", _text("Why it is done; shown to the team.", 2_000)
        return
    yield "limit", {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
    yield (
        "created",
        {
            "type": "object",
            "description": f"Only a {thing} made in this span of time.",
            "properties": {
                name: {"type": "string", "format": "date-time"} for name in ("from", "to")
            },
        },
    )


def _text(description: str, most: int) -> dict[str, Any]:
    return {"type": "string", "description": description, "maxLength": most}


def _runner(name: str) -> Run:
    def run(_context: ToolContext, _arguments: Arguments) -> Facts:
        return Facts(name)

    run.__name__ = name
    return run
