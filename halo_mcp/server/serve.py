"""`./run serve`: runs the web processes of a deployment in the foreground, until Ctrl-C.

`manage.py bootstrap` creates the tables, `manage.py worker` does background work. This is no
management command, because Django reads the settings before the command line: the options have to
be in the environment by then, for this process and its children.
"""

import argparse
import os
import sys
from collections.abc import Callable
from typing import Final

from django.core.exceptions import ImproperlyConfigured

from foundation.version import PRODUCT
from halo_mcp import data_folder, env, served_address
from halo_mcp.server import launch

INTERRUPTED: Final = 130  # 128 and the number of SIGINT, as shells have it
NAMED: Final = 3  # of the migrations that are missing


class Unready(Exception):
    """The deployment is not ready to be served; the message is shown to the user."""


def main(application: str = launch.APPLICATION) -> None:
    """Serves with the given options. Exit status 2: invalid arguments; 1: other errors."""
    options = _options()
    try:
        processes = _settle(options)
        _serve(processes, application)
    except (ImproperlyConfigured, Unready, launch.PortTaken, launch.NotServing) as error:
        sys.exit(f"halo: {error}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run serve",
        description="Serve with web processes on one socket, without worker and migrations.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--workers",
        type=_integer_between(1),
        metavar="N",
        help="number of web processes (default: HALO_PROCESSES, or 1)",
    )
    parser.add_argument("--version", action="version", version=PRODUCT)
    parser.add_argument("--host", help="address to listen on (default: HOST, or 127.0.0.1)")
    parser.add_argument(
        "--port",
        type=_integer_between(1, 65_535),
        metavar="P",
        help="port to listen on (default: PORT, or 8000)",
    )
    return parser.parse_args()


def _integer_between(least: int, most: int | None = None) -> Callable[[str], int]:
    def number(word: str) -> int:
        if not (word.isascii() and word.removeprefix("-").isdigit()):
            raise argparse.ArgumentTypeError(f"expected a whole number, got {word!r}")
        if int(word) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {word}")
        if most is not None and int(word) > most:
            raise argparse.ArgumentTypeError(f"must be at most {most}, got {word}")
        return int(word)

    return number


def _settle(options: argparse.Namespace) -> int:
    """Puts the options into the environment; returns the number of processes to start here."""
    everywhere = env.integer("HALO_PROCESSES", 1, least=1, most=1_000)
    processes: int = options.workers or everywhere
    given = {"HOST": options.host, "PORT": options.port}
    os.environ |= {name: str(value) for name, value in given.items() if value}
    # The variable counts the processes of all machines, so it may be more than start here.
    os.environ["HALO_PROCESSES"] = str(max(processes, everywhere))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")
    return processes


def _serve(processes: int, application: str) -> None:
    import django  # noqa: PLC0415  the environment first

    launch.obey_signals()
    data_folder.restrict_new_files()
    django.setup()
    from django.conf import settings  # noqa: PLC0415  settings are read now

    _require_ready()
    with launch.listen(settings.HOST, settings.PORT) as sock:
        address = f"http://{env.bracket_host(settings.HOST)}:{settings.PORT}"
        served_address.write(settings.HALO_DATA_DIR, settings.HALO_PUBLIC_URL)
        several = "es" * (processes > 1)
        _say(f"{PRODUCT}, listening on {address} with {processes} web process{several}.")
        launch.serve(sock, processes, application)
    _say("Stopped.")


def _require_ready() -> None:
    from django.db import connections  # noqa: PLC0415  settings first

    from halo_mcp import bootstrap, checks, sealing_keys  # noqa: PLC0415  apps first

    for warning in checks.warnings():
        sys.stderr.write(f"halo: {warning}\n")
    bootstrap.reach_what_settings_name()
    if problems := checks.problems():
        raise Unready("\n".join(problems))
    if missing := bootstrap.missing_migrations():
        names = ", ".join(missing[:NAMED]) + ", ..." * (len(missing) > NAMED)
        raise Unready(
            f"The database lacks {len(missing)} migrations of this version ({names}). "
            "Run ./run manage bootstrap first."
        )
    sealing_keys.prove()
    # Serving threads open their own connections; this one would stay open unused.
    connections.close_all()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
