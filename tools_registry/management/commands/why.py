"""manage.py why: what every layer says to a token that wants a tool."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from oauth import standing
from oauth.standing import Standing
from tools_registry import why
from tools_registry.why import Explanation, Line, UnknownTool


class Command(BaseCommand):
    help = "Say why a token can or cannot use a tool, layer by layer, and how to change it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "token_id", help="of an access token or an authorization, as the audit log has it"
        )
        parser.add_argument("tool", help="such as hubspot.create_deal")

    def handle(self, *_args: Any, **options: Any) -> None:
        behind = standing.behind(options["token_id"])
        if behind is None:
            # Not repeated: somebody may have given the token itself.
            raise CommandError("No access token and no authorization has this id.")
        try:
            explanation = why.explain(behind, options["tool"])
        except UnknownTool as unknown:
            raise CommandError(f"{behind.organization} has no tool {str(unknown)!r}.") from unknown
        self.stdout.write("\n".join([_heading(behind), *_told(explanation)]))


def _heading(behind: Standing) -> str:
    return f"{behind.client_name} for {behind.user_email} in {behind.organization}"


def _told(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.tool.name}: {explanation.verdict}"
    yield ""
    for line in explanation.lines:
        yield from _answer(line)


def _answer(line: Line) -> Iterator[str]:
    yield f"  {'yes' if line.passes else 'NO ':3}  {line.layer:13}  {line.told}"
    if line.remedy:
        place = f" {settings.HALO_PUBLIC_URL}{line.url}" if line.url else ""
        yield f"{'':22}{line.remedy}{place}"
