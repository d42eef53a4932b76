"""manage.py demo_api: serve a small API to try the gateway with, until Ctrl-C."""

import signal
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway.demo_api.server import KEY, DemoServer


class Command(BaseCommand):
    help = "Serve a small demo API with its own OpenAPI document on loopback until Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=int, default=9100, help="default 9100; 0 chooses a free port"
        )

    def handle(self, *_args: Any, port: int, **_options: Any) -> None:
        signal.signal(signal.SIGTERM, _stop)
        signal.signal(signal.SIGINT, _stop)
        try:
            with DemoServer(port) as server:
                self._welcome(server)
                server.serve_forever()
        except (OSError, OverflowError) as error:
            raise CommandError(f"Port {port} cannot be listened on: {error}") from error
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")

    def _welcome(self, server: DemoServer) -> None:
        lines = [
            "",
            f"  Demo API is at    {server.url}",
            f"  OpenAPI document  {server.url}/openapi.json",
            f"  API key           X-Api-Key: {KEY}",
            "",
            "  Press Ctrl-C to stop.",
            "",
        ]
        self.stdout.write("\n".join(lines))
        self.stdout.flush()


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
