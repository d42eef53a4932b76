"""Runs web processes and the background worker in the foreground, until a stop signal."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

import structlog
import uvicorn
from django.conf import settings
from uvicorn.config import STARTUP_FAILURE
from uvicorn.importer import import_from_string
from uvicorn.supervisors import Multiprocess

from halo_mcp import env
from halo_mcp.parent_process import end_with_parent
from halo_mcp.server.http_protocol import HttpProtocol
from halo_mcp.server.websocket_protocol import WebSocketProtocol

log = structlog.get_logger(__name__)

APPLICATION = "halo_mcp.asgi:application"
# What a server has beyond HALO_STOP_SECONDS: calls that were interrupted have three of them.
SERVER_MARGIN_SECONDS = 5
WORKER_RESTART_SECONDS = 5
ENDINGS = (signal.SIGINT, signal.SIGTERM)

_asked_to_end = threading.Event()


class PortTaken(Exception):
    """The address cannot be listened on; the message is shown to the user."""


class NotServing(Exception):
    """A web process ended before it served, and has printed the reason."""

    def __str__(self) -> str:
        return "A web process could not start; why is said above."


def obey_signals() -> None:
    """Makes SIGTERM and SIGHUP end this process and its worker, as Ctrl-C does.

    While the database is prepared, the first signal only sets a flag, so that no migration is
    interrupted, and `serve` returns at once. The second raises KeyboardInterrupt.
    """
    for ending in ENDINGS:
        signal.signal(ending, _ask_to_end)
    # nohup ignores SIGHUP; that is kept.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def listen(host: str, port: int) -> socket.socket:
    """Returns a listening socket, created before anything else starts. Raises PortTaken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        # Listen at once: two sockets that are only bound to one port do not conflict.
        sock.listen()
    except OSError as error:
        sock.close()
        raise PortTaken(
            f"Cannot listen on {env.bracket_host(host)}:{port} ({error.strerror}). "
            "Stop what runs there, or choose another PORT."
        ) from error
    sock.set_inheritable(True)
    return sock


def serve(sock: socket.socket, processes: int, application: str = APPLICATION) -> None:
    """Serves until SIGINT or SIGTERM; returns at once if there was a signal before.

    One process is this one. Several are children that share the socket; a child that dies is
    replaced, and on SIGHUP all are replaced one after the other. Raises NotServing.
    """
    config = uvicorn.Config(
        partial(load_application, application),
        factory=True,
        workers=processes,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # foundation/peer.py decides which forwarded address to trust.
        timeout_keep_alive=30,
        # More than the application needs to end what runs (`endpoint.asgi.Timeouts`).
        timeout_graceful_shutdown=settings.HALO_STOP_SECONDS + SERVER_MARGIN_SECONDS,
        # The supervisor kills a child that does not answer within this time. It includes the start,
        # which can take longer than uvicorn's 5 seconds on a busy machine.
        timeout_worker_healthcheck=30,
        http=HttpProtocol,
        ws=WebSocketProtocol,
        # Twice, so that the application can say which limit a message exceeds.
        ws_max_size=2 * settings.HALO_MAX_BODY_BYTES,
        ws_ping_interval=20,
        ws_ping_timeout=20,
        # A compressor for each socket takes more memory than all the rest of it.
        ws_per_message_deflate=False,
    )
    run = _several(config, sock) if processes > 1 else _one(config, sock)
    # From here on the server handles the signals.
    if not _asked_to_end.is_set():
        run()


def load_application(application: str) -> Any:
    """Returns the named ASGI application, in a process that ends with its parent.

    An orphan would keep the port, and continue with old settings and old code.
    """
    end_with_parent()
    try:
        return import_from_string(application)
    except Exception:
        # The supervisor does not retry after this exit code.
        log.exception("application_not_loaded", application=application)
        sys.exit(STARTUP_FAILURE)


def _one(config: uvicorn.Config, sock: socket.socket) -> Callable[[], None]:
    server = _LoggingServer(config)
    for ending in ENDINGS:
        signal.signal(ending, server.handle_exit)
    return partial(server.run, sockets=[sock])


def _several(config: uvicorn.Config, sock: socket.socket) -> Callable[[], None]:
    return _Processes(config, sockets=[sock]).run


class _LoggingServer(uvicorn.Server):
    """A server that logs when it begins to stop."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            _say_stopping()
        super().handle_exit(sig, frame)


def _say_stopping() -> None:
    # Not through sys.stderr, whose buffer the signal may have interrupted. A closed pipe or
    # terminal must not keep the server from stopping.
    with suppress(OSError):
        os.write(sys.stderr.fileno(), b"Stopping...\n")


class _Processes(Multiprocess):
    """Logs when it replaces a process or stops, and raises if a process cannot start."""

    def handle_int(self) -> None:
        _say_stopping()
        super().handle_int()

    def handle_term(self) -> None:
        _say_stopping()
        super().handle_term()

    def run(self) -> None:
        super().run()
        if any(each.exitcode == STARTUP_FAILURE for each in self.processes):
            raise NotServing

    def keep_subprocess_alive(self) -> None:
        before = list(self.processes)
        for each in before:
            # The end of a child closes its health check pipe only if this process has no copy of
            # the child's end. With a copy, a child that cannot start is noticed only after the
            # timeout.
            each.child_conn.close()
        super().keep_subprocess_alive()
        for dead, fresh in zip(before, self.processes, strict=True):
            if dead is not fresh:
                log.warning("web_process_replaced", ended=dead.pid, code=dead.exitcode)


def _ask_to_end(*_signal: object) -> None:
    if _asked_to_end.is_set():
        raise KeyboardInterrupt
    _asked_to_end.set()


@contextmanager
def worker() -> Iterator[None]:
    """Runs the background worker and its schedule, and restarts it, during the block."""
    stopping = threading.Event()
    keeper = threading.Thread(target=_keep_running, args=(stopping,), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stopping.set()
        keeper.join(_worker_grace() + 1)


def _keep_running(stopping: threading.Event) -> None:
    while not stopping.is_set():
        process = _start_worker()
        while process.poll() is None and not stopping.wait(0.2):
            pass
        _end(process)
        if not stopping.is_set():
            log.warning("worker_ended", code=process.returncode)
            stopping.wait(WORKER_RESTART_SECONDS)


def _start_worker() -> subprocess.Popen[bytes]:
    manage = str(settings.BASE_DIR / "manage.py")
    return subprocess.Popen(  # noqa: S603  every word is ours
        [sys.executable, manage, "worker", "--until-stdin-closes"],
        # Closed by the kernel when this process dies, however it dies.
        stdin=subprocess.PIPE,
        # Its own session: Ctrl-C reaches this process, which then stops the worker in order.
        start_new_session=True,
    )


def _worker_grace() -> int:
    """How long the worker has for what it executes, in seconds."""
    return settings.HALO_STOP_SECONDS + SERVER_MARGIN_SECONDS


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stops the worker, then its remaining children: a killed worker cannot end them."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_worker_grace())
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
