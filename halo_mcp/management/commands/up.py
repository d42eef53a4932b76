"""manage.py up: prepare the database, then serve the web process and the background worker."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from foundation.version import PRODUCT
from halo_mcp import bootstrap, checks, served_address
from halo_mcp.bootstrap import FirstAdmin
from halo_mcp.server import launch


class Command(BaseCommand):
    help = "Prepare the database, then run the web server and the background worker until Ctrl-C."
    requires_system_checks = []  # made below, so that no option skips them

    def handle(self, *_args: Any, **_options: Any) -> None:
        self.check(tags=checks.BEFORE_SERVING, databases=checks.DATABASES)
        launch.obey_signals()
        try:
            self._run()
        except (launch.PortTaken, launch.NotServing) as failed:
            raise CommandError(str(failed)) from failed
        except KeyboardInterrupt as insisted:
            raise CommandError("Interrupted.", returncode=130) from insisted
        self.stdout.write("Stopped.")

    def _run(self) -> None:
        with launch.listen(settings.HOST, settings.PORT) as sock:
            admin = bootstrap.bootstrap()
            served_address.write(settings.HALO_DATA_DIR, settings.HALO_PUBLIC_URL)
            self._welcome(admin)
            with launch.worker():
                launch.serve(sock, settings.HALO_PROCESSES)

    def _welcome(self, admin: FirstAdmin | None) -> None:
        url = settings.HALO_PUBLIC_URL
        lines = [
            "",
            f"  {PRODUCT}",
            "",
            f"  Halo MCP is at    {url}/",
            f"  MCP endpoint      {url}/api/mcp",
            f"  Documentation     {url}/docs/",
            f"  Admin and audit   {url}/admin/audit/actionexecution/",
            "",
        ]
        if admin is not None:
            lines += [f"  Email             {admin.email}", *_password(admin), ""]
        self.stdout.write("\n".join([*lines, "  Press Ctrl-C to stop.", ""]))
        self.stdout.flush()


def _password(admin: FirstAdmin) -> list[str]:
    if admin.password is None:
        return ["  Password          the value of HALO_ADMIN_PASSWORD"]
    return [
        f"  Password          {admin.password}",
        "  Copy the password now. Only its hash is stored, so it is not shown again.",
    ]
