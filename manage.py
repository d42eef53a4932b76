#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys
from pathlib import Path

from foundation.version import PRODUCT

INTERRUPTED = 130  # 128 and the number of SIGINT, as shells have it


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")
    if sys.argv[1:] in (["--version"], ["version"]):
        # Django would print its own.
        print(PRODUCT)  # noqa: T201  the answer
        return
    try:
        execute()
    except KeyboardInterrupt:
        # Ctrl-C is no error, even during imports.
        sys.exit(INTERRUPTED)


def execute() -> None:
    """Runs the given command; an error in a variable is reported in one line that names it."""
    # The first of these imports reads the settings.
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    from halo_mcp import data_folder, served_address  # noqa: PLC0415

    data_folder.restrict_new_files()
    served_address.adopt(sys.argv[1:], Path(__file__).resolve().parent / "var")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"halo: {error}")


if __name__ == "__main__":
    main()
