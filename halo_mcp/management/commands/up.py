"""manage.py up: prepare the database and serve web and worker together."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from halo_mcp import bootstrap, checks, launch
from halo_mcp.bootstrap import FirstAdmin


class Command(BaseCommand):
    help = "Prepare the database, then serve web and background worker until Ctrl-C."
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
            self._welcome(bootstrap.bootstrap())
            with launch.worker():
                launch.serve(sock, settings.HALO_PROCESSES)

    def _welcome(self, admin: FirstAdmin | None) -> None:
        url = settings.HALO_PUBLIC_URL
        lines = [
            "",
            f"  Halo MCP is at    {url}/",
            f"  MCP endpoint      {url}/api/mcp",
            f"  Documentation     {url}/docs/",
            f"  Admin and audit   {url}/admin/audit/actionexecution/",
            "",
        ]
        if admin is not None:
            shown = admin.password or "(the one in HALO_ADMIN_PASSWORD)"
            lines += [f"  Sign in as        {admin.email}", f"  Password          {shown}"]
            lines += ["  It is shown this once: only its hash is kept.", ""]
        self.stdout.write("\n".join([*lines, "  Ctrl-C stops everything.", ""]))
        self.stdout.flush()
