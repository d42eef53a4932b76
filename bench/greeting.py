"""The tool of `./run bench echo`, which costs next to nothing and asks no database.

It belongs to an integration, so that the gate reads the switches.
"""

from typing import Final

from tools_registry.api import Arguments, Facts, ToolContext, Toolset

INTEGRATION: Final = "bench"
ACTION: Final = "hello"
SCHEMA: Final = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 100}},
    "required": ["name"],
    "additionalProperties": False,
}
ARGUMENTS: Final = {"name": "Ada"}

GREETING: Final = Toolset(integration=INTEGRATION, title="Bench")


@GREETING.tool(title="Say hello", description="Says hello.", input_schema=SCHEMA)
def hello(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts({"greeting": f"Hello, {arguments['name']}."})
