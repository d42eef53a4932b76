"""The tables of a benchmark's database."""

import os
import shutil
from pathlib import Path
from typing import Final

# An SQLite database with every table and no rows, to begin with: migrations take longer than a
# short run does. Not a setting of the product, whose names begin with HALO_.
COPIED: Final = "BENCH_TABLES"


def make() -> None:
    """Make the tables of this process' database where they are missing. Django is set up."""
    from django.core.management import call_command  # noqa: PLC0415  settings first
    from django.db import connection  # noqa: PLC0415  the same

    file = Path(str(connection.settings_dict["NAME"]))
    copied = os.environ.get(COPIED)
    if copied and connection.vendor == "sqlite" and not file.exists():
        shutil.copyfile(copied, file)
    call_command("migrate", verbosity=0)
