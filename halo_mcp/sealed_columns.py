"""Every column with sealed values that last."""

from typing import Final

from agents import language_models, sessions
from console.account import second_factors
from foundation.resealing import SealedColumn
from gateway import credentials as upstream
from tools_registry.pipeline import idempotency
from tools_registry.vendors import credentials
from workspace import organizations, outbox

COLUMNS: Final[tuple[SealedColumn, ...]] = (
    organizations.SEALED,
    second_factors.SEALED,
    credentials.SEALED,
    upstream.SEALED,
    language_models.SEALED,
    sessions.SEALED,
    idempotency.SEALED,
    outbox.SEALED,
)
