"""The checks, a module for each part of the protocol's pages."""

from collections.abc import Sequence
from typing import Final

from aap_conformance.checks import (
    deleting,
    discovery,
    endpoints,
    events,
    history,
    modes,
    new_sessions,
    new_turns,
    reading,
    tools,
)
from aap_conformance.registry import DECLARED, Check

# In the order of their numbers, which is that of the pages.
CHECKS: Final[Sequence[Check]] = sorted(DECLARED, key=Check.place)

__all__ = [
    "CHECKS",
    "deleting",
    "discovery",
    "endpoints",
    "events",
    "history",
    "modes",
    "new_sessions",
    "new_turns",
    "reading",
    "tools",
]
