"""What an integration's connection and its settings must be: problems in plain words.

The rules that name them, with their ids and hints, are in `checks/__init__.py`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from tools_registry.api import Setting, Tool, Toolset, VendorConnection

Problems: TypeAlias = Iterator[str]

SETTING_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
# What a setting called so would hold belongs into the credential, which is sealed.
SECRET_WORDS: Final = frozenset({"secret", "password", "token", "credential"})
HEADER_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
# Written for each request: a connection that sets them too would send them twice.
OWN_HEADERS: Final = frozenset({"authorization", "content-type", "content-length", "host"})
MAX_DEADLINE: Final = 60.0


def unconnectable(toolset: Toolset) -> Problems:
    """An integration that no organization could connect."""
    if toolset.connection is None:
        yield "it has no connection."


def check_connection(toolset: Toolset) -> Problems:
    """Connections that would fail with the first request, or send it to a wrong address."""
    connection = toolset.connection
    if connection is None:
        return
    yield from _check_base_url(connection.base_url)
    yield from _check_headers(connection)
    if not connection.credential.strip():
        yield "the connection does not say what its credential is."
    if not 0 < connection.deadline <= MAX_DEADLINE:
        yield f"the deadline is not between 0 and {MAX_DEADLINE:.0f} seconds."


def misset(toolset: Toolset) -> Problems:
    """Settings that an admin could not fill in, or should not."""
    settings = () if toolset.connection is None else toolset.connection.settings
    for name, times in Counter(setting.name for setting in settings).items():
        if times > 1:
            yield f"the setting {name!r} is declared {times} times."
    for setting in settings:
        yield from (f"the setting {setting.name!r} {why}." for why in _faults(setting))


def check_closed_schema(tool: Tool) -> Problems:
    """Input schemas that accept undeclared properties."""
    if tool.input_schema.get("additionalProperties") is not False:
        yield "the input schema takes arguments that it does not name."


def _check_base_url(base_url: str) -> Problems:
    try:
        place = urlsplit(base_url)
        is_plain = not (place.query or place.fragment or place.username or base_url.endswith("/"))
        is_sound = place.scheme == "https" and bool(place.hostname) and is_plain
    except ValueError:
        is_sound = False
    if not is_sound:
        yield f"the base URL {base_url!r} is not https with a host, without an end slash."


def _check_headers(connection: VendorConnection) -> Problems:
    named = [*connection.headers, *filter(None, [connection.idempotency_header])]
    for name in named:
        if not HEADER_NAME.fullmatch(name) or name.lower() in OWN_HEADERS:
            yield f"the header {name!r} cannot be set by a connection."


def _faults(setting: Setting) -> Problems:
    if not SETTING_NAME.fullmatch(setting.name):
        yield "has a name that is not lower-case letters, digits and underscores"
    if SECRET_WORDS & set(setting.name.split("_")):
        yield "is called like a secret, and settings are shown again"
    if not setting.title.strip():
        yield "has no title"
    try:
        re.compile(setting.pattern)
    except re.error:
        yield "has a pattern that cannot be used"
