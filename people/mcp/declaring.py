"""How tools of the HR endpoint are declared, and schemas that several of them have."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tools_registry.api import Arguments, Result, Tool, ToolContext, pass_as_mapping

KEY: Final = {"type": "string", "minLength": 1, "maxLength": 64}
TEXT: Final = {"type": "string"}
PATH_PARAMETERS: Final = {"type": "object", "additionalProperties": KEY}
QUERY: Final = {
    "type": "object",
    "additionalProperties": {"type": ["string", "integer", "boolean"]},
}


def tool(
    run: Callable[[ToolContext, Arguments], Result],
    title: str,
    description: str,
    scope: str,
    **more: Any,
) -> Tool:
    """Returns the tool of a function; `more` are properties, required, output, mutates and app.

    `accepted` are properties as they are validated, if that is more than what is listed.
    """
    mutates = more.pop("mutates", False)
    listed = {
        "type": "object",
        "properties": more.pop("properties", {}),
        "required": list(more.pop("required", ())),
        "additionalProperties": False,
    }
    accepted = more.pop("accepted", None)
    return Tool(
        name=run.__name__,
        title=title,
        description=description,
        input_schema=listed,
        argument_schema=None if accepted is None else {**listed, "properties": accepted},
        output_schema=more.pop("output"),
        run=pass_as_mapping(run),
        scope=scope,
        mutates=mutates,
        read_only=not mutates,
        app=more.pop("app", ""),
    )


def an_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of an object that has all of its properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}
