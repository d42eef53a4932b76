"""Typed access to environment variables, with errors that name the variable.

Only `settings.py` reads `os.environ`, through this module, so that a wrong value stops the start
with one sentence.
"""

import base64
import ipaddress
import os
import re
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from foundation.limits import Limit
from oauth import scopes
from oauth.clients import redirects

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")  # RFC 3986 section 3.1, in lower case
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
WORKSPACE_HOST = re.compile(r"\{workspace\}(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+")


def refuse(name: str, why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}: {why}")


def text(name: str, default: str = "") -> str:
    """Returns the variable, or `default` if it is unset or empty."""
    return os.environ.get(name, "").strip() or default


def words(name: str, default: str = "") -> list[str]:
    """A list separated by commas or spaces."""
    return text(name, default).replace(",", " ").split()


def private_hosts(name: str, *default: str) -> frozenset[str]:
    """Hosts that may be in a private network: host, or host:port."""
    return frozenset(word.lower() for word in words(name, " ".join(default)))


def flag(name: str, *, default: bool) -> bool:
    value = text(name, str(default)).lower()
    if value not in TRUE | FALSE:
        raise refuse(name, f"expected a yes or no value, got {value!r}")
    return value in TRUE


def integer(name: str, default: int, *, least: int = 0, most: int | None = None) -> int:
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError as error:
        raise refuse(name, f"expected a whole number, got {value!r}") from error
    if number < least:
        raise refuse(name, f"must be at least {least}, got {number}")
    if most is not None and number > most:
        raise refuse(name, f"must be at most {most}, got {number}")
    return number


def choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = text(name, default)
    if value not in choices:
        raise refuse(name, f"expected one of {', '.join(choices)}, got {value!r}")
    return value


def rate(name: str, default: str) -> Limit:
    """A rate such as `120/m`."""
    try:
        return Limit.parse(text(name, default))
    except ValueError as error:
        raise refuse(name, str(error)) from error


def networks(name: str) -> list[str]:
    """CIDR networks; a bare address counts as a network of one."""
    found = words(name)
    for network in found:
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError as error:
            raise refuse(name, f"{network!r} is not an address or a network") from error
    return found


def origin(name: str, default: str) -> str:
    """An origin, scheme://host[:port] without a path or a trailing slash."""
    value = text(name, default).rstrip("/")
    if not _is_origin(value):
        raise refuse(name, f"expected an origin such as https://mcp.example.com, got {value!r}")
    return value


def path(name: str, default: str) -> str:
    """A path of this server, without a slash at the end."""
    value = text(name, default).rstrip("/")
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", value):
        raise refuse(name, f"{value!r} is not a path such as {default}")
    return value


def workspace_host(name: str, *, is_local: bool) -> str:
    """Returns `.example.com` for `{workspace}.example.com`; empty if it is unset on a server."""
    value = text(name, "{workspace}.localhost" if is_local else "").lower()
    if value and not WORKSPACE_HOST.fullmatch(value):
        raise refuse(name, f"expected a host such as {{workspace}}.example.com, got {value!r}")
    return value.removeprefix("{workspace}")


def bracketed(host: str) -> str:
    """Returns a host as addresses spell it: IPv6 in brackets (RFC 3986 section 3.2.2)."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback(host: str) -> bool:
    """Returns whether a host, with or without brackets, is always this computer.

    Those are loopback addresses, and `localhost` with all names below it (RFC 6761 section 6.3).
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return f".{host}".endswith(".localhost")


def origins(name: str) -> list[str]:
    """Origins as a browser sends them in `Origin`, separated by commas or spaces."""
    found = [word.rstrip("/") for word in words(name)]
    for value in found:
        if not _is_origin(value):
            raise refuse(name, f"{value!r} is not an origin such as https://app.example.com")
    return found


def base_urls(name: str) -> dict[str, str]:
    """Base URLs by name, such as `hubspot=https://proxy.example.com/hubspot`."""
    found = dict(_pair(name, word) for word in words(name))
    for value in found.values():
        _check_base(name, value)
    return found


def base_url(name: str) -> str:
    """A base URL, or nothing if it is unset."""
    value = text(name)
    if value:
        _check_base(name, value)
    return value


def scope(name: str, default: str) -> str:
    """Scopes of the grammar, separated by spaces."""
    value = " ".join(text(name, default).split())
    if str(scopes.parse(value)) != value:
        raise refuse(name, f"{value!r} holds what is no scope, or repeats one")
    return value


def schemes(name: str, default: str) -> frozenset[str]:
    """Private-use URI schemes of known apps (RFC 8252 section 7.1)."""
    found = frozenset(words(name, default))
    for scheme in sorted(found):
        if scheme in redirects.FORBIDDEN_SCHEMES or not SCHEME.fullmatch(scheme):
            raise refuse(name, f"{scheme!r} cannot be the scheme of an app")
    return found


def database(name: str, default: str) -> dict[str, Any]:
    """Returns Django's settings for a database URL.

    Only the databases that the tests run on are accepted, and none in memory: the worker is another
    process.
    """
    url = text(name, default)
    # Checked first: for an unknown scheme, the parser prints the password.
    if url.partition(":")[0] not in {"postgres", "postgresql", "sqlite"}:
        raise refuse(name, "expected a postgres:// or sqlite:// URL")
    try:
        config: dict[str, Any] = environ.Env.db_url_config(url)
    except ValueError as error:
        raise refuse(name, "is not a URL that can be read") from error
    if config["NAME"] in {"", ":memory:"}:
        raise refuse(name, "names no database")
    if url.startswith("sqlite:") and config.get("OPTIONS"):
        raise refuse(name, "a sqlite:// URL takes no options")
    return config


def sqlite_url(path: Path) -> str:
    """Returns the URL of a database file; the path may have any characters."""
    return f"sqlite:///{quote(str(path))}"


def kept_secret(path: Path) -> str:
    """Returns the secret in `path`, created on first use and readable by its owner only.

    For development: production names its keys in the environment (system check halo.E002).
    """
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return _keep(path, base64.b64encode(secrets.token_bytes(32)).decode())
    except OSError as error:
        raise refuse("HALO_DATA_DIR", f"cannot read {path.name}: {error.strerror}") from error


def _check_base(name: str, value: str) -> None:
    parts = urlsplit(value)
    if not _is_origin(f"{parts.scheme}://{parts.netloc}") or parts.query or parts.fragment:
        raise refuse(name, f"{value!r} is not the base of an address")


def _pair(name: str, word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not key or not equals:
        raise refuse(name, f"expected name=address, got {word!r}")
    return key, value


def _is_origin(value: str) -> bool:
    try:
        parts = urlsplit(value)
        # The port is parsed on access; an invalid one raises here.
        whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    plain = f"{parts.scheme}://{parts.netloc}" == value and "@" not in parts.netloc
    return whole and plain and parts.scheme in {"http", "https"}


def _keep(path: Path, secret: str) -> str:
    # Written to another file and linked: two processes that start together must use the same key.
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.touch(mode=0o600)
        scratch.write_text(f"{secret}\n")
        os.link(scratch, path)
    except FileExistsError:
        return path.read_text().strip()
    except OSError as error:
        raise refuse("HALO_DATA_DIR", f"cannot write {path.name}: {error.strerror}") from error
    finally:
        scratch.unlink(missing_ok=True)
    return secret
