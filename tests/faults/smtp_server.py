"""A mail server on loopback that keeps what it is sent."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from typing import Final

HOST: Final = "127.0.0.1"


class MailServer(socketserver.ThreadingTCPServer):
    """`on_mail` is called before a mail is accepted, and may hold it back."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Session)
        self.mails: list[Message] = []
        self.on_mail: Callable[[], object] = lambda: None

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def recipients(self) -> list[str]:
        return [str(mail["To"]) for mail in self.mails]


class _Session(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 ready")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self._say("354 go on")
                self._take_mail()
            elif word == b"QUIT":
                self._say("221 bye")
                return
            self._say("250 ok")

    def _take_mail(self) -> None:
        lines: list[bytes] = []
        while (line := self.rfile.readline()) not in {b".\r\n", b""}:
            lines.append(line)
        self.server.on_mail()
        self.server.mails.append(message_from_bytes(b"".join(lines)))

    def _say(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())


@contextmanager
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
