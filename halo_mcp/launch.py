"""Web processes and background worker in the foreground: a socket, who serves it, and their end."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any

import structlog
import uvicorn
from django.conf import settings
from uvicorn.config import STARTUP_FAILURE
from uvicorn.importer import import_from_string
from uvicorn.supervisors import Multiprocess

from halo_mcp import env

log = structlog.get_logger(__name__)

APPLICATION = "halo_mcp.asgi:application"
WORKER_GRACE_SECONDS = 10
WORKER_RESTART_SECONDS = 5
ENDINGS = (signal.SIGINT, signal.SIGTERM)

_asked_to_end = threading.Event()


class PortTaken(Exception):
    """The address cannot be listened on; the message is for a person."""


class NotServing(Exception):
    """A web process gave up before it served, and has said why."""

    def __str__(self) -> str:
        return "A web process could not start; why is said above."


def obey_signals() -> None:
    """Let SIGTERM and a closed terminal end this process as Ctrl-C does, its worker included.

    While the database is prepared the first signal only asks, so that no migration is left
    half-way, and `serve` returns at once. The second raises KeyboardInterrupt.
    """
    for ending in ENDINGS:
        signal.signal(ending, _ask_to_end)
    # Under nohup a closed terminal is ignored, and stays so.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, made before anything else starts. Raises PortTaken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        # At once: two sockets that only are bound to one port do not see each other.
        sock.listen()
    except OSError as error:
        sock.close()
        raise PortTaken(
            f"Cannot listen on {env.bracketed(host)}:{port} ({error.strerror}). "
            "Stop what runs there, or choose another PORT."
        ) from error
    sock.set_inheritable(True)
    return sock


def serve(sock: socket.socket, processes: int, application: str = APPLICATION) -> None:
    """Serve until SIGINT or SIGTERM; not at all when one came before.

    One process is this one. Several share the socket and are children of this one, which starts
    another for one that dies and, on SIGHUP, for each in turn. Raises NotServing.
    """
    config = uvicorn.Config(
        partial(loaded, application),
        factory=True,
        workers=processes,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # foundation/peer.py decides which forwarded address to believe
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        # A process that does not answer its starter for so long is killed. It has to begin within
        # that time too, which takes a busy machine more than uvicorn's 5 seconds.
        timeout_worker_healthcheck=30,
        h11_max_incomplete_event_size=65_536,
    )
    run = _several(config, sock) if processes > 1 else _one(config, sock)
    # From here on the server hears every signal itself.
    if not _asked_to_end.is_set():
        run()


def loaded(application: str) -> Any:
    """The ASGI application of that name, in a process that does not outlive the one it serves for.

    Orphans would keep the port, and go on with the settings and the code of a server that is gone.
    """
    starter = multiprocessing.parent_process()
    if starter is not None:
        threading.Thread(target=_end_after, args=(starter,), daemon=True).start()
    try:
        return import_from_string(application)
    except Exception:
        # By this code the starter knows that another try would fare no better.
        log.exception("application_not_loaded", application=application)
        sys.exit(STARTUP_FAILURE)


def _end_after(starter: BaseProcess) -> None:
    starter.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _one(config: uvicorn.Config, sock: socket.socket) -> Callable[[], None]:
    server = uvicorn.Server(config)
    for ending in ENDINGS:
        signal.signal(ending, server.handle_exit)
    return partial(server.run, sockets=[sock])


def _several(config: uvicorn.Config, sock: socket.socket) -> Callable[[], None]:
    return _Processes(config, sockets=[sock]).run


class _Processes(Multiprocess):
    """Says when it replaces a process, and calls it no success when one cannot start."""

    def run(self) -> None:
        super().run()
        if any(each.exitcode == STARTUP_FAILURE for each in self.processes):
            raise NotServing

    def keep_subprocess_alive(self) -> None:
        before = list(self.processes)
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
    """The background worker and its schedule, kept running for as long as the block runs."""
    stopping = threading.Event()
    keeper = threading.Thread(target=_keep_running, args=(stopping,), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stopping.set()
        keeper.join(WORKER_GRACE_SECONDS + 1)


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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the worker in order, and whatever it leaves behind: a killed one cannot end its beat."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(WORKER_GRACE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
