"""Where the calls of a tool go: to the target URL of its project, or to a server of the operation.

A document may give a path or an operation a server of its own (OpenAPI 3.1.1, section 4.8.10). One
at the origin of the target URL is used as it is. Any other is used once an admin has confirmed it,
at the URL that they entered: calls take credentials along.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

from gateway import outbound_policy
from gateway.models import Project
from gateway.openapi.shapes import OpenApiOperation, from_json
from gateway.outbound_policy import InvalidTargetUrl, origin


class UnconfirmedServer(Exception):
    """The server of an operation is at another origin than the target URL, and not confirmed."""


@dataclass(slots=True)
class DeclaredServer:
    """A server that operations declare, and the tools of those.

    `url` is where calls go once it is confirmed: what an admin entered, else what is declared.
    """

    declared: str
    url: str
    is_confirmed: bool
    tools: list[str] = field(default_factory=list)


def base_url(operation: OpenApiOperation, target_url: str, confirmed: Mapping[str, str]) -> str:
    """Returns the URL that the path of an operation is added to. Raises UnconfirmedServer."""
    if not operation.server:
        return target_url
    if operation.server in confirmed:
        return confirmed[operation.server]
    found = _same_origin_url(operation.server, _origin_of_target(target_url))
    if found is None:
        raise UnconfirmedServer
    return found


def is_usable(operation: OpenApiOperation, target_url: str, confirmed: Mapping[str, str]) -> bool:
    """Returns whether it is known where calls of an operation go."""
    try:
        base_url(operation, target_url, confirmed)
    except UnconfirmedServer:
        return False
    return True


def read(stored: Any) -> dict[str, str]:
    """Returns the confirmed servers as a row has them: JSON, its text, or nothing."""
    found = json.loads(stored) if isinstance(stored, str | bytes) else stored
    return dict(found or {})


def list_of_project(project: Project) -> list[DeclaredServer]:
    """Returns the servers that an admin confirms for the tools of a project."""
    rows = project.tools.filter(is_present=True).values_list("name", "operation")
    operations = ((name, from_json(stored)) for name, stored in rows if stored.get("server"))
    return list_of(operations, project.target_url, read(project.servers))


def list_of(
    operations: Iterable[tuple[str, OpenApiOperation]],
    target_url: str,
    confirmed: Mapping[str, str],
) -> list[DeclaredServer]:
    """Returns the servers of operations, by the names of their tools, that an admin confirms."""
    tools: dict[str, list[str]] = {}
    for name, operation in operations:
        if operation.server:
            tools.setdefault(operation.server, []).append(name)
    target = _origin_of_target(target_url)
    return [
        DeclaredServer(declared, confirmed.get(declared, declared), declared in confirmed, names)
        for declared, names in sorted(tools.items())
        if declared in confirmed or _same_origin_url(declared, target) is None
    ]


def origins(project: Project) -> list[str]:
    """Returns the origins that the calls of a project go to."""
    urls = [project.target_url, *read(project.servers).values()]
    return list(dict.fromkeys(map(origin, urls)))


@lru_cache(maxsize=1_024)
def _origin_of_target(target_url: str) -> str | None:
    """The origin of a target URL, None for one that is none, as that of a new project may be.

    All tools of a project have the same one.
    """
    try:
        return origin(target_url)
    except InvalidTargetUrl:
        return None


def _same_origin_url(declared: str, target: str | None) -> str | None:
    """The server as a URL if it is at the origin of the target URL; relative ones are."""
    if "{" in declared or target is None:
        return None
    try:
        joined = outbound_policy.base_url(urljoin(f"{target}/", declared))
        return joined if origin(joined) == target else None
    except (InvalidTargetUrl, ValueError):
        return None
