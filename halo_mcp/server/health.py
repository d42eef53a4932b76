"""GET /health, /healthz: whether this process runs. GET /readyz: which stores cannot be used.

A supervisor restarts what is not healthy, which helps no store; a load balancer leaves out what is
not ready. So `/health` reads no store, and behind `./run serve` the event loop answers it: it needs
no thread, whatever hangs.
"""

import asyncio
import json
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from foundation.concurrency.thread_pool import ThreadPool
from foundation.db import waits
from foundation.db.statements import Statement

log = structlog.get_logger(__name__)

HEALTH: Final = "/health"
# The same under the name that Kubernetes has for it.
HEALTHZ: Final = "/healthz"
READY: Final = "/readyz"
PATHS: Final = frozenset({HEALTH, HEALTHZ, READY})
# For all stores together; each is tried in a thread of its own.
SECONDS: Final = 1.8
STORE_SECONDS: Final = 1.5
# A result is as good as a new one for so long: strangers may ask, and each try writes.
FRESH_SECONDS: Final = 1.0
# More than what a full disk may still have for a file.
WRITTEN_BYTES: Final = 65_536
NO_STORE: Final = {"Cache-Control": "no-store"}

# A full or read-only database answers every read.
WRITE: Final = Statement(
    "INSERT INTO foundation_readiness (id, written) VALUES (1, 1)"
    " ON CONFLICT (id) DO UPDATE SET written = foundation_readiness.written + 1"
)


@require_safe
def health(_request: HttpRequest) -> HttpResponse:
    """Returns 200."""
    return JsonResponse({"status": "ok"}, headers=NO_STORE)


@require_safe
def readiness(_request: HttpRequest) -> HttpResponse:
    """Returns 200 if every store can be used within two seconds, else 503 with their names."""
    missing = find_missing_stores()
    return JsonResponse(_body(missing), status=_status(missing), headers=NO_STORE)


class Probes:
    """Answers `/health`, `/healthz` and `/readyz` ahead of Django, in an ASGI application."""

    def __init__(self) -> None:
        self._threads = ThreadPool(1, "readiness")
        self._running: asyncio.Future[list[str]] | None = None
        self._found: list[str] = []
        self._found_at = float("-inf")

    async def __call__(self, scope: Any, send: Any) -> None:
        if scope["method"] not in {"GET", "HEAD"}:
            await _send(send, scope, 405, {"status": "method not allowed"})
        elif scope["path"] in {HEALTH, HEALTHZ}:
            await _send(send, scope, 200, {"status": "ok"})
        else:
            missing = await self._find_missing()
            await _send(send, scope, _status(missing), _body(missing))

    def close(self) -> None:
        self._threads.close()

    async def _find_missing(self) -> list[str]:
        """The stores that are missing. Requests at the same time share one try."""
        if time.monotonic() < self._found_at + FRESH_SECONDS:
            return self._found
        if self._running is None:
            self._running = self._threads.submit(find_missing_stores)
            self._running.add_done_callback(self._keep)
        return await asyncio.shield(self._running)

    def _keep(self, finished: "asyncio.Future[list[str]]") -> None:
        self._running = None
        if not finished.cancelled() and finished.exception() is None:
            self._found = finished.result()
            self._found_at = time.monotonic()


def find_missing_stores() -> list[str]:
    """Returns the names of the stores that cannot be used; takes two seconds at most."""
    attempts = [_Attempt(name, use) for name, use in _stores().items()]
    until = time.monotonic() + SECONDS
    return [each.name for each in attempts if not each.has_succeeded(until)]


class _Attempt:
    """The use of a store in a thread, which ends by the limits of that store."""

    def __init__(self, name: str, use: Callable[[], object]) -> None:
        self.name = name
        self._use = use
        self._is_usable = False
        self._thread = threading.Thread(target=self._run, name=f"readiness_{name}", daemon=True)
        self._thread.start()

    def has_succeeded(self, until: float) -> bool:
        """Waits until that time of the monotonic clock."""
        self._thread.join(max(0.0, until - time.monotonic()))
        return self._is_usable

    def _run(self) -> None:
        try:
            self._use()
            self._is_usable = True
        except Exception as error:  # noqa: BLE001  whatever the store's library raises
            log.warning("store_not_usable", store=self.name, error=type(error).__name__)
        finally:
            connections.close_all()


def _stores() -> Mapping[str, Callable[[], object]]:
    stores: dict[str, Callable[[], object]] = {"database": _write_row, "files": _write_file}
    if settings.REDIS_URL:
        stores["redis"] = _ping_redis
    return stores


def _write_row() -> None:
    with waits.reply_limit(STORE_SECONDS):
        WRITE.rows()


def _write_file() -> None:
    with tempfile.TemporaryFile(dir=settings.HALO_DATA_DIR) as file:
        file.write(bytes(WRITTEN_BYTES))
        file.flush()


def _ping_redis() -> None:
    from foundation.redis_client import build_client  # noqa: PLC0415  slow to import

    with build_client(settings.REDIS_URL, STORE_SECONDS) as client:
        client.ping()


def _status(missing: list[str]) -> int:
    return 503 if missing else 200


def _body(missing: list[str]) -> Mapping[str, Any]:
    return {"status": "not ready", "missing": missing} if missing else {"status": "ready"}


async def _send(send: Any, scope: Any, status: int, answer: Mapping[str, Any]) -> None:
    body = json.dumps(answer).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if status == 405:  # noqa: PLR2004  RFC 9110 section 15.5.6
        headers.append((b"allow", b"GET, HEAD"))
    with suppress(OSError, RuntimeError):  # the client has left
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body}
        )
