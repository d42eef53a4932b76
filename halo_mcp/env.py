"""Typed access to environment variables, with errors that name the variable.

Only `settings.py` reads `os.environ`, through this module, so that a wrong value stops the start
with one sentence.
"""

import difflib
import ipaddress
import os
import re
from email.utils import parseaddr
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from foundation.limits import Limit
from foundation.limits.window import MAX_COUNT
from oauth import scopes
from oauth.clients import redirects

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")  # RFC 3986 section 3.1, in lower case
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
# A name, an IPv4 address or one of IPv6 in brackets, in lower case, and a port.
HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)(?::([0-9]{1,5}))?")
MAX_PORT: Final = 65_535
# What a session or form is signed with: as long as 24 random bytes in base64.
LEAST_SECRET: Final = 32
# Two kinds of keys, each in base64 (MCP Registry, HTTP authentication).
REGISTRY_PROOF = re.compile(r"v=MCPv1; k=(?:ed25519|ecdsap384); p=[A-Za-z0-9+/]{40,200}={0,2}")
WORKSPACE_HOST = re.compile(r"\{workspace\}(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+")
# Bodies and documents are held in memory.
MAX_BYTES: Final = 104_857_600
# 50 years: what dates and time-ordered keys can go back.
MAX_DAYS: Final = 18_250
PREFIX: Final = "HALO_"
# Of tests, which the product does not read.
PREFIX_OF_TESTS: Final = "HALO_TEST_"
# Names that differ in a letter or a word; the common prefix alone counts for a half.
NEAR: Final = 0.8
# Every variable that was read, with the smallest and largest of its values, or all of them.
edges: Final[dict[str, tuple[str, ...]]] = {}


def refuse(name: str, why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}: {why}")


def find_unknown_names() -> dict[str, str]:
    """Returns the variables that look like settings and are none, each with the nearest setting."""
    unknown = [
        name
        for name in sorted(os.environ)
        if name.startswith(PREFIX) and not name.startswith(PREFIX_OF_TESTS) and name not in edges
    ]
    return {
        name: "".join(difflib.get_close_matches(name, edges, n=1, cutoff=NEAR)) for name in unknown
    }


def text(name: str, default: str = "") -> str:
    """Returns the variable, or `default` if it is unset or empty."""
    edges.setdefault(name, ())
    return os.environ.get(name, "").strip() or default


def words(name: str, default: str = "") -> list[str]:
    """A list separated by commas or spaces."""
    return text(name, default).replace(",", " ").split()


def private_hosts(name: str, *default: str) -> frozenset[str]:
    """Hosts that may be in a private network: host, or host:port."""
    found = frozenset(word.lower() for word in words(name, " ".join(default)))
    for host in sorted(found):
        parts = HOST.fullmatch(host)
        if parts is None or not 0 < int(parts[1] or 1) <= MAX_PORT:
            raise refuse(name, f"{host!r} is not a host, such as api.internal or api.internal:8080")
    return found


def flag(name: str, *, default: bool) -> bool:
    edges[name] = ("no", "yes")
    value = text(name, str(default)).lower()
    if value not in TRUE | FALSE:
        raise refuse(name, f"expected a yes or no value, got {value!r}")
    return value in TRUE


def flag_or_auto(name: str) -> bool | None:
    """A yes or no value; None for `auto`, the default."""
    edges[name] = ("auto", "no", "yes")
    value = text(name, "auto").lower()
    if value == "auto":
        return None
    if value not in TRUE | FALSE:
        raise refuse(name, f"expected auto, yes or no, got {value!r}")
    return value in TRUE


def integer(name: str, default: int, *, least: int = 0, most: int) -> int:
    edges[name] = (str(least), str(most))
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError as error:
        raise refuse(name, f"expected a whole number, got {value!r}") from error
    if number < least:
        raise refuse(name, f"must be at least {least}, got {number}")
    if number > most:
        raise refuse(name, f"must be at most {most}, got {number}")
    return number


def choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    edges[name] = choices
    value = text(name, default)
    if value not in choices:
        raise refuse(name, f"expected one of {', '.join(choices)}, got {value!r}")
    return value


def rate(name: str, default: str) -> Limit:
    """A rate such as `120/m`."""
    edges[name] = ("1/d", f"{MAX_COUNT}/s", f"{MAX_COUNT}/d")
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


def bracket_host(host: str) -> str:
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


def address(name: str, default: str) -> str:
    """The address of a file that browsers load."""
    value = text(name, default)
    parts = urlsplit(value)
    if not _is_origin(f"{parts.scheme}://{parts.netloc}") or re.search(r"[\s\"'<>#]", value):
        raise refuse(name, f"expected an http:// or https:// address, got {value!r}")
    return value


def secret(name: str) -> str:
    """A secret that signs, or nothing if it is unset."""
    value = text(name)
    if value and len(value) < LEAST_SECRET:
        raise refuse(name, f"must have at least {LEAST_SECRET} characters, has {len(value)}")
    return value


def mail_address(name: str, default: str) -> str:
    """A sender, such as `halo@example.com` or `Halo <halo@example.com>`."""
    value = text(name, default)
    _checked_mail(name, parseaddr(value)[1])
    return value


def contact(name: str) -> str:
    """A URI to contact people at, or nothing if it is unset; an address of mail gets `mailto:`."""
    value = text(name)
    if not value:
        return ""
    scheme, _, rest = value.partition(":")
    if scheme == "https" and _is_origin(f"https://{urlsplit(value).netloc}"):
        if re.search(r"\s", value) is None:
            return value
    elif scheme in {"mailto", value}:
        return f"mailto:{_checked_mail(name, rest or value)}"
    raise refuse(name, f"expected an e-mail address or an https:// address, got {value!r}")


def registry_proof(name: str) -> str:
    """A public key in the form of the MCP Registry, or nothing if it is unset."""
    value = text(name)
    if value and REGISTRY_PROOF.fullmatch(value) is None:
        raise refuse(name, f"expected v=MCPv1; k=ed25519; p=..., got {value!r}")
    return value


def _checked_mail(name: str, value: str) -> str:
    try:
        validate_email(value)
    except ValidationError as error:
        raise refuse(name, f"expected an e-mail address, got {value!r}") from error
    return value


def mail_server(name: str, default: str) -> dict[str, Any]:
    """Returns Django's settings for the URL of a mail server."""
    # The messages leave out the URL, which may hold a password.
    value = text(name, default)
    schemes = environ.Env.EMAIL_SCHEMES
    if "://" not in value or value.partition("://")[0] not in schemes:
        raise refuse(name, f"expected a URL with one of the schemes {', '.join(sorted(schemes))}")
    try:
        config: dict[str, Any] = environ.Env.email_url_config(value)
    except ValueError as error:
        raise refuse(name, "is not a URL that can be read") from error
    return config


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
    if url.partition("://")[0] not in {"postgres", "postgresql", "sqlite"} or "://" not in url:
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
