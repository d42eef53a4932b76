"""Audit rows of a moment, written past the hot path."""

import secrets
from datetime import datetime
from typing import Any
from uuid import UUID

from audit.models import ActionExecution
from foundation.ids import first_key


def row(at: datetime, **columns: Any) -> ActionExecution:
    """A row whose key and start are of this moment; not saved."""
    version, variant = 7 << 76, 2 << 62
    tail = secrets.randbits(12) << 64 | secrets.randbits(62)
    key = UUID(int=first_key(at).int | version | variant | tail)
    plain: dict[str, Any] = {"method": "tools/call", "tool": "search_docs"}
    plain |= {"outcome": "success", "actor_kind": "mcp_client"}
    return ActionExecution(id=key, started_at=at, **(plain | columns))


def put(at: datetime, **columns: Any) -> ActionExecution:
    """A row of this moment."""
    made = row(at, **columns)
    made.save(force_insert=True)
    return made
