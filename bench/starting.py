"""Starts Django in the process of a measurement, on a database of its own."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench import backends, tables

NONE: Final[Mapping[str, str]] = {}


def start(
    folder: Path, database: str, settings: Mapping[str, str] = NONE, *, kept: Sequence[str] = ()
) -> None:
    """Replaces the settings of the environment, and makes the tables. Only once in a process.

    Files are kept in `folder`. Variables whose names begin with one of `kept` are not replaced.
    Servers that are started later inherit the settings.
    """
    backends.forget_surroundings(kept)
    os.environ |= {
        "HALO_DATA_DIR": str(folder),
        "HALO_LOG_LEVEL": "ERROR",
        "DATABASE_URL": database,
        "DJANGO_SETTINGS_MODULE": "halo_mcp.settings",
        **settings,
    }
    import django  # noqa: PLC0415  the environment first

    django.setup()
    tables.make()
