"""What a tool's flags must say, and what its name suggests: problems in plain words.

The rules that name them, with their ids and hints, are in `checks/__init__.py`.
"""

from collections.abc import Iterator
from typing import TypeAlias

from tools_registry.api import Tool, find_destructive_words

Problems: TypeAlias = Iterator[str]


def check_destructive(tool: Tool) -> Problems:
    """Flags that contradict each other."""
    if tool.destructive and not tool.mutates:
        yield "it is destructive and does not say that it mutates."


def check_mutates(tool: Tool) -> Problems:
    """Whether a tool of an integration changes anything must be said, and not by default."""
    if tool.mutates and tool.read_only:
        yield "it says that it mutates and that it is read-only."
    if tool.integration and not (tool.mutates or tool.read_only):
        yield "it does not say whether it changes anything."


def unlike_its_name(tool: Tool) -> Problems:
    """Names of destructive actions without the flag that keeps them out of MCP."""
    if tool.destructive or tool.not_destructive:
        return
    for word in find_destructive_words(tool.name):
        yield f"the name says {word!r} and it is not declared destructive."
