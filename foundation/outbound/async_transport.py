"""Streaming requests of an event loop, with the checks of `fetch` at every connection."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

import httpcore2
import httpx2

from foundation.concurrency import page_threads
from foundation.outbound import lookup, reach
from foundation.outbound.client import tls_context
from foundation.outbound.deadline import Deadline
from foundation.outbound.errors import OutboundError
from foundation.outbound.policy import Policy
from foundation.outbound.target import Target

MAX_CONNECTIONS: Final = 100


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """A transport for one `httpx2.AsyncClient`, which must not follow redirects.

    A URL that its policy does not permit, and an address that is not public, are errors of the
    connection. `policy_for` returns the policy of a URL.
    """

    def __init__(self, policy_for: Callable[[str], Policy]) -> None:
        super().__init__(verify=tls_context(), trust_env=False)
        self._policy_for = policy_for
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls_context(),
            max_connections=MAX_CONNECTIONS,
            network_backend=_PinnedBackend(policy_for),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        page_threads.refuse()
        url = str(request.url)
        policy = self._policy_for(url)
        try:
            target = Target.parse(url, policy)
        except OutboundError as error:
            raise httpx2.ConnectError(str(error), request=request) from None
        response = await super().handle_async_request(request)
        reach.note_answer(target.scheme, target.host, policy)
        return response


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the addresses that a name has now, after checking all of them."""

    def __init__(self, policy_for: Callable[[str], Policy]) -> None:
        self._policy_for = policy_for
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the library's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        target = Target("https", host, port, "/")
        policy = self._policy_for(target.url)
        try:
            deadline = Deadline(host, policy.connect_timeout)
            found = await asyncio.to_thread(lookup.addresses, target, deadline, policy)
        except OutboundError as error:
            raise httpcore2.ConnectError(str(error)) from None
        last: Exception = httpcore2.ConnectError(f"{host}: it has no address")
        for address in found:
            try:
                return await self._network.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise last
