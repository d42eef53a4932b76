"""What a tool's flags must say, and what its name suggests: problems in plain words.

The rules that name them, with their ids and hints, are in `checks/__init__.py`.
"""

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from tools_registry.api import Tool

Problems: TypeAlias = Iterator[str]

# Words of a name that promise something which cannot be undone, in any form such as "deletes" or
# "cancellation".
DESTRUCTIVE_WORD: Final = re.compile(
    r"(?:cancel|delet|destr[ou]y|drop|eras|purg|refund|remov|revok|terminat|void|wipe)"
    r"(?:s|e|es|ed|d|ing|ion|ions|al|als|led|ling|lation|lations)?"
)


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
    for word in re.split(r"[._]", tool.name):
        if DESTRUCTIVE_WORD.fullmatch(word):
            yield f"the name says {word!r} and it is not declared destructive."
