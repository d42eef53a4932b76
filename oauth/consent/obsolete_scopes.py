"""Removes stored scopes whose integration or action no longer exists.

Runs before a version of the code serves, and every night. A scope that names nothing in this
version is therefore not stored any more when a later version adds something of that name. Why:
docs/decisions/0040-grantable-scopes.md.
"""

from collections.abc import Iterator
from typing import Any, Final

import structlog
from django.db import models, transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from oauth import scopes
from oauth.consent import grantable
from oauth.grants import cleanup
from oauth.grants.grant_conditions import NOT_REVOKED
from oauth.models import (
    AccessToken,
    Authorization,
    AuthorizationRequest,
    McpToken,
    RefreshToken,
)
from oauth.scopes import ALL_ACTIONS

log = structlog.get_logger(__name__)

REASON: Final = "scopes_removed"
MODELS: Final[tuple[type[models.Model], ...]] = (
    Authorization,
    AccessToken,
    RefreshToken,
    AuthorizationRequest,
    McpToken,
)


@transaction.atomic
def remove() -> int:
    """Removes what may not be granted from every stored scope; returns how many rows changed.

    An authorization without any scope left is revoked, so that its client requests a new one, and
    so is a token.
    """
    cleanup.take_turn()
    removed = {
        str(scope) for model in MODELS for text in _texts(model) for scope in _obsolete(text)
    }
    if not removed:
        return 0
    changed = sum(_rewrite(model, text) for model in MODELS for text in _texts(model))
    log.warning("scopes_removed", scopes=sorted(removed)[:20], rows=changed)
    return changed


def _texts(model: type[models.Model]) -> Iterator[str]:
    """Returns the distinct scope texts of a table that name a single integration or action."""
    named = _rows(model).filter(scope__contains="actions:").exclude(scope=str(ALL_ACTIONS))
    yield from named.order_by().values_list("scope", flat=True).distinct()


def _rows(model: type[models.Model]) -> QuerySet[Any]:
    rows: QuerySet[Any] = QuerySet(model)
    return rows.filter(NOT_REVOKED.q()) if model is Authorization else rows


def _obsolete(text: str) -> list[scopes.Scope]:
    stored = scopes.parse(text)
    kept = grantable.only(stored)
    return [scope for scope in stored if scope not in kept]


def _rewrite(model: type[models.Model], text: str) -> int:
    if not _obsolete(text):
        return 0
    rows, kept = _rows(model).filter(scope=text), str(grantable.parse(text))
    if model is Authorization and not kept:
        return rows.update(revoked_at=timezone.now(), revoke_reason=REASON)
    if model is McpToken and not kept:
        return rows.update(scope=kept, revoked_at=Coalesce("revoked_at", timezone.now()))
    return rows.update(scope=kept)
