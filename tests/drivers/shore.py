"""A loop with fibers, for as long as one test needs it."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from foundation import fibers
from foundation.fibers import Ground
from tools_registry.crew import Crew

Work: TypeAlias = Callable[[], Any]
THREADS = 4
PATIENCE = 30


def together(*works: Work) -> list[Any]:
    """Run each work on a fiber, all at once; what they return or raise, in order."""

    async def run(ground: Ground) -> list[Any]:
        return await gathered(ground, *works)

    return ashore(run)


def alone(work: Work) -> Any:
    """What one work returns on a fiber. Raises what it does."""
    (outcome,) = together(work)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


async def gathered(ground: Ground, *works: Work) -> list[Any]:
    begun = [fibers.start(work, ground) for work in works]
    return await asyncio.wait_for(asyncio.gather(*begun, return_exceptions=True), PATIENCE)


def ashore(run: Callable[[Ground], Any]) -> Any:
    """What an asynchronous function returns on a loop of its own, given its ground."""

    async def whole() -> Any:
        crew = Crew(THREADS, "shore")
        ground = Ground(crew.do, crew.do)
        try:
            return await run(ground)
        finally:
            ground.close()
            await asyncio.sleep(0)  # those who waited are told by then
            crew.close()

    return asyncio.run(whole())
