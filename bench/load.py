"""Clients that refresh or register as fast as they are answered, in a process of their own.

An order comes as JSON on standard input, what was seen leaves as JSON on standard output.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import httpx2

TOKEN, REGISTER = "/api/mcp/oauth/token", "/api/mcp/oauth/register"
OK = 200
DOCUMENT = {
    "client_name": "Load",
    "redirect_uris": ["http://127.0.0.1:33418/callback"],
    "token_endpoint_auth_method": "client_secret_post",
}


@dataclass
class Family:
    """A client, its newest refresh token, and how often it was given another."""

    client_id: str
    client_secret: str
    refresh_token: str
    given: int = 0


@dataclass
class Seen:
    """What the clients saw: the status and milliseconds of each answer, seconds over all."""

    families: list[Family]
    statuses: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, status: int, since: float) -> None:
        self.statuses.append(status)
        self.milliseconds.append((time.perf_counter() - since) * 1000)


Act: TypeAlias = Callable[[httpx2.AsyncClient, Seen], Awaitable[None]]


async def refresh(http: httpx2.AsyncClient, seen: Seen) -> None:
    """Refreshes the token family with the oldest refresh; no other thread uses it meanwhile."""
    family = seen.families.pop(0)
    known = {
        name: getattr(family, name) for name in ("client_id", "client_secret", "refresh_token")
    }
    since = time.perf_counter()
    answer = await http.post(TOKEN, data={"grant_type": "refresh_token"} | known)
    seen.add(answer.status_code, since)
    if answer.status_code == OK:
        family.refresh_token = answer.json()["refresh_token"]
        family.given += 1
    seen.families.append(family)


async def register(http: httpx2.AsyncClient, seen: Seen) -> None:
    since = time.perf_counter()
    answer = await http.post(REGISTER, json=DOCUMENT)
    seen.add(answer.status_code, since)


ACTS: dict[str, Act] = {"refresh": refresh, "register": register}


async def drive(url: str, act: Act, seen: Seen, *, concurrency: int, seconds: float) -> None:
    """Repeat an act on so many connections until the time is up; what is under way is awaited."""
    began = time.perf_counter()

    async def repeat(http: httpx2.AsyncClient) -> None:
        while time.perf_counter() - began < seconds:
            await act(http, seen)

    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=30) as http:
        await asyncio.gather(*(repeat(http) for _ in range(concurrency)))
    seen.seconds = time.perf_counter() - began


def main() -> None:
    order: dict[str, Any] = json.load(sys.stdin)
    seen = Seen([Family(**family) for family in order["families"]])
    act = ACTS[order["act"]]
    bounds = {name: order[name] for name in ("concurrency", "seconds")}
    asyncio.run(drive(order["url"], act, seen, **bounds))
    json.dump(asdict(seen), sys.stdout)


if __name__ == "__main__":
    main()
