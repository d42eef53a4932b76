"""What integrations show their vendors: sealed, each in a row of its own, and write-only."""

import json
from typing import Final
from uuid import UUID

from foundation import ids, sealing
from foundation.db.statements import Statement
from foundation.ids import uuid7
from foundation.resealing import SealedColumn
from tools_registry.models import Credential, IntegrationMode

CONTEXT: Final = "tools_registry.credential"
# With every call that speaks to a vendor: together with what is noted down of how it answers.
FIND: Final = Statement("""
SELECT c.id, c.sealed, m.id, m.settings, m.connection, m.last_error
  FROM tools_registry_credential c
  JOIN tools_registry_integrationmode m ON m.id = c.mode_id
 WHERE m.organization_id = %s AND m.integration = %s
""")


def find_credential(organization_id: UUID, integration: str) -> Credential | None:
    """The credential that an organization connected an integration with, and its mode."""
    row = FIND.row(organization_id, integration)
    if row is None:
        return None
    mode = IntegrationMode(
        id=ids.from_row(row[2]),
        organization_id=organization_id,
        integration=integration,
        settings=json.loads(row[3]),
        connection=row[4],
        last_error=row[5],
    )
    return Credential(id=ids.from_row(row[0]), mode=mode, sealed=bytes(row[1]))


def store(mode: IntegrationMode, secret: str) -> None:
    """Seal the secret in place of whatever was there."""
    # A new row each time: the seal holds the row's id, and an old copy opens in no other row.
    Credential.objects.filter(mode=mode).delete()
    row = Credential(id=uuid7(), mode=mode)
    row.sealed = sealing.seal(secret.encode(), context=_context(row))
    row.save(force_insert=True)


def forget(mode: IntegrationMode) -> None:
    Credential.objects.filter(mode=mode).delete()


def read_secret(credential: Credential) -> str:
    """The secret. Raises SealBroken when it was sealed elsewhere or under a key since removed."""
    return sealing.unseal(bytes(credential.sealed), context=_context(credential)).decode()


def is_readable(credential: Credential) -> bool:
    return sealing.is_readable(bytes(credential.sealed), context=_context(credential))


def find_unreadable(organization_id: UUID) -> set[str]:
    """Returns the integrations of an organization whose credential cannot be decrypted."""
    rows = Credential.objects.filter(mode__organization=organization_id).select_related("mode")
    return {row.mode.integration for row in rows if not is_readable(row)}


def _reseal(credential: Credential, sealed: bytes) -> None:
    credential.sealed = sealed
    credential.save(update_fields=["sealed"])


def _context(credential: Credential) -> bytes:
    return f"{CONTEXT}:{credential.pk}".encode()


SEALED: Final = SealedColumn(
    name="credentials of integrations",
    rows=lambda: Credential.objects.only("sealed"),
    read=lambda credential: bytes(credential.sealed),
    write=_reseal,
    context=_context,
)
