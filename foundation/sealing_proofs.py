"""Values in the database that prove the sealing keys: one for each key that seals or has sealed.

Without them, a process with other keys would start, and say of each stored secret later that it
cannot be opened.
"""

from typing import Final

from foundation import sealing
from foundation.models import SealingProof
from foundation.sealing import SealBroken

CONTEXT: Final = b"foundation.sealing_proof"
CONTENT: Final = b"halo"


def list_lost_keys() -> list[str]:
    """Returns the ids of keys that sealed values of this database and are not configured.

    Raises ImproperlyConfigured without usable keys.
    """
    rows = SealingProof.objects.order_by("created_at")
    return [row.key_id for row in rows if not _opens(bytes(row.sealed))]


def exist() -> bool:
    return SealingProof.objects.exists()


def add() -> None:
    """Stores the proof of the key that seals from now on, unless it is stored."""
    sealed = sealing.seal(CONTENT, context=CONTEXT)
    proof = SealingProof(key_id=sealing.key_ids()[0], sealed=sealed)
    # Several processes may start at a time.
    SealingProof.objects.bulk_create([proof], ignore_conflicts=True)


def keep_current() -> None:
    """Deletes the proofs of all keys but the first, once nothing is left that they sealed."""
    add()
    SealingProof.objects.exclude(key_id=sealing.key_ids()[0]).delete()


def forget(key_ids: list[str]) -> None:
    """Deletes the proofs of keys that are lost for good."""
    SealingProof.objects.filter(key_id__in=key_ids).delete()


def _opens(sealed: bytes) -> bool:
    try:
        return sealing.unseal(sealed, context=CONTEXT) == CONTENT
    except SealBroken:
        return False
