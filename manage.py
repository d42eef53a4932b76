#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")
    # Settings are read on the first of these imports.
    from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # A wrong variable is told in one line that names it, not in forty lines of traceback.
        sys.exit(f"halo: {error}")


if __name__ == "__main__":
    main()
