"""Whether the configured sealing keys open what the database holds, which every start checks."""

from django.conf import settings
from django.db import connection

from foundation import sealing, sealing_proofs
from foundation.models import SealingProof
from foundation.resealing import SealedColumn
from foundation.sealing import SealBroken
from halo_mcp import env


def prove() -> None:
    """Checks the keys against the values in the database, and stores the proof of the first one.

    Does nothing before the migrations. Raises ImproperlyConfigured, in one line that names
    HALO_SEALING_KEYS, if values are stored that none of the keys opens.
    """
    if SealingProof._meta.db_table not in connection.introspection.table_names():
        return
    lost = sealing_proofs.list_lost_keys()
    if lost or not (sealing_proofs.exist() or _opens_a_stored_value()):
        raise env.refuse("HALO_SEALING_KEYS", _explain(lost))
    sealing_proofs.add()


def _opens_a_stored_value() -> bool:
    """Returns whether one of the newest values opens, of each kind; also if there is none.

    For databases of versions without proofs. Single values may be lost since long.
    """
    # Only for such a database: a worker need not load all this.
    from halo_mcp.sealed_columns import COLUMNS  # noqa: PLC0415  the reason is above

    newest = [(column, column.rows().order_by("-pk").first()) for column in COLUMNS]
    stored = [(column, row) for column, row in newest if row is not None]
    return not stored or any(_opens(column, row) for column, row in stored)


def _opens(column: SealedColumn, row: object) -> bool:
    try:
        sealing.unseal(column.read(row), context=column.context(row))
    except SealBroken:
        return False
    return True


def _explain(lost: list[str]) -> str:
    which = f", whose id is {' or '.join(lost)}," if lost else ""
    where = (
        f"the file {settings.HALO_DATA_DIR / 'sealing-key'}"
        if settings.SEALING_KEY_IS_GENERATED
        else "the list"
    )
    return (
        f"the database holds secrets that are encrypted with another key. Put it{which} back into "
        f"{where} (docs/operate/configuration.md#keys)"
    )
