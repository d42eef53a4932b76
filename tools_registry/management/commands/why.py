"""manage.py why: what every layer says to a token that wants a tool."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from oauth.grants import token_status
from oauth.grants.token_status import TokenStatus
from tools_registry.admin import why
from tools_registry.admin.why import Explanation, ExplanationLine, UnknownTool
from tools_registry.pipeline import surfaces


class Command(BaseCommand):
    help = "Explain layer by layer why a token can or cannot use a tool, and how to change it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "token_id", help="id of an access token or an authorization, from the audit log"
        )
        parser.add_argument("tool", help="name of a tool, such as hubspot.create_deal")

    def handle(self, *_args: Any, **options: Any) -> None:
        status = token_status.explain(options["token_id"])
        if status is None:
            # Not repeated: somebody may have given the token itself.
            raise CommandError("No access token and no authorization has this id.")
        _require_deployment(status)
        try:
            workspace = surfaces.get_mounted(surfaces.WORKSPACE_NAME)
            explanation = why.explain(status, options["tool"], workspace)
        except UnknownTool as unknown:
            raise CommandError(f"{status.organization} has no tool {str(unknown)!r}.") from unknown
        self.stdout.write("\n".join([_heading(status), *_lines(explanation)]))


def _require_deployment(status: TokenStatus) -> None:
    """Refuse to answer with the settings of another deployment: every token would get a 401."""
    if status.issued_for != settings.HALO_PUBLIC_URL:
        raise CommandError(
            f"This token was issued for {status.issued_for}; this command runs with "
            f"HALO_PUBLIC_URL={settings.HALO_PUBLIC_URL}. Set HALO_PUBLIC_URL={status.issued_for}."
        )


def _heading(status: TokenStatus) -> str:
    return f"{status.client_name} for {status.user_email} in {status.organization}"


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.tool.name}: {explanation.verdict}"
    yield ""
    for line in explanation.lines:
        yield from _answer(line)


def _answer(line: ExplanationLine) -> Iterator[str]:
    yield f"  {'yes' if line.passes else 'NO ':3}  {line.layer:13}  {line.message}"
    if line.remedy:
        place = f" {settings.HALO_PUBLIC_URL}{line.url}" if line.url else ""
        yield f"{'':22}{line.remedy}{place}"
