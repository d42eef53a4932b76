"""The one tool that every server of the comparison has: it says hello, and costs next to nothing.

It belongs to an integration, so that all layers of the gate are asked.
"""

from typing import Final

from tools_registry.types import Arguments, Facts, ToolContext, Toolset

INTEGRATION: Final = "bench"
ACTION: Final = "hello"
SCHEMA: Final = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 100}},
    "required": ["name"],
    "additionalProperties": False,
}
ARGUMENTS: Final = {"name": "Ada"}
# What `Facts` makes of the answer to these arguments.
TEXT: Final = '{\n  "greeting": "Hello, Ada."\n}'

GREETING: Final = Toolset(integration=INTEGRATION, title="Bench")


@GREETING.tool(title="Say hello", description="Says hello.", input_schema=SCHEMA, instant=True)
def hello(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts({"greeting": f"Hello, {arguments['name']}."})
