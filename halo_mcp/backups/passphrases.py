"""Where the passphrase of a back-up comes from: a file or the terminal, never the command line."""

import getpass
import sys
from pathlib import Path
from typing import Final

MIN_LENGTH: Final = 12


class NoPassphrase(Exception):
    """There is no usable passphrase; the message is for the operator."""


def read(file: str | None) -> str:
    """Returns the passphrase in a file, or the one that is typed. Raises NoPassphrase."""
    passphrase = _read_file(Path(file)) if file else _type("Passphrase: ")
    if not passphrase:
        raise NoPassphrase("The passphrase is empty.")
    return passphrase


def choose(file: str | None) -> str:
    """Returns a passphrase for a new back-up, typed twice if it is typed. Raises NoPassphrase."""
    passphrase = read(file)
    if len(passphrase) < MIN_LENGTH:
        raise NoPassphrase(f"Use a passphrase of at least {MIN_LENGTH} characters.")
    if not file and _type("Again: ") != passphrase:
        raise NoPassphrase("The two passphrases differ.")
    return passphrase


def _read_file(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NoPassphrase(f"The passphrase cannot be read from {path}: {error}") from error


def _type(prompt: str) -> str:
    if not sys.stdin.isatty():
        raise NoPassphrase("There is no terminal to type a passphrase: use --passphrase-file.")
    return getpass.getpass(prompt)
