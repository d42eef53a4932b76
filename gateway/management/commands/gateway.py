"""manage.py gateway import: makes a project of an OpenAPI document, and a token for it."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from foundation.peer import UNKNOWN
from gateway import importing, policies, projects, servers
from gateway.importing import UnusableDocument
from gateway.models import Authentication, Effect, Project
from gateway.outbound_policy import InvalidTargetUrl
from gateway.projects import CreatedProject, InvalidProject
from oauth import mcp_tokens
from workspace.administration.access import ADMINS
from workspace.models import ACTIVE_MEMBERSHIP, Membership, Organization, User

TOKEN_DAYS: Final = 90
NO_APPROVER: Final = (
    "{owner} is the only person who can approve requests of this project, and people may not "
    "approve their own requests: what {owner} requests cannot be approved. Turn on “Requesters may "
    "approve their own requests” at {url}, add another admin, or name another approver in a rule. "
    "The option --self-approval of an import turns it on."
)
TOKEN_NAME: Final = "manage.py gateway import"  # noqa: S105  a name


class Command(BaseCommand):
    help = "Import an OpenAPI document as a project of the gateway."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        one = actions.add_parser("import", help=self.help)
        one.add_argument("document", help="a file, or the URL of the document")
        one.add_argument("--target", required=True, help="the base URL that calls go to")
        one.add_argument("--organization", required=True, help="the organization's slug")
        one.add_argument("--name", help="the project's name; by default the document's title")
        one.add_argument(
            "--policy",
            choices=("default", "allow"),
            default="default",
            help="allow: every call runs at once. default: only reads do",
        )
        one.add_argument(
            "--self-approval",
            action="store_true",
            help="requesters may approve their own requests, as where no other person could",
        )
        one.add_argument(
            "--authentication",
            choices=Authentication.values,
            default="",
            help="how calls are authenticated; by default as the document declares",
        )
        one.add_argument(
            "--reads",
            action="append",
            default=[],
            metavar="PATTERN",
            help="tools that only read whatever their method is, such as search_*",
        )
        one.add_argument(
            "--confirm-server",
            action="append",
            default=[],
            metavar="URL",
            help="a server of operations, as they declare it, that calls and credentials go to",
        )
        one.add_argument("--user", help="email of the owner; by default an admin")
        one.add_argument("--json", action="store_true", help="print one JSON object, with a token")

    def handle(self, *_args: Any, **options: Any) -> None:
        organization = Organization.objects.filter(slug=options["organization"]).first()
        if organization is None:
            raise CommandError(f"There is no organization {options['organization']!r}.")
        owner = _owner(organization, options["user"])
        created = _create_project(organization, owner, options)
        # The project is new, and has no other token.
        token = mcp_tokens.issue(
            owner,
            organization,
            f"/{created.project.pk}",
            name=TOKEN_NAME,
            days=TOKEN_DAYS,
            address=UNKNOWN,
        )
        found = _json_output(created, token.secret)
        if options["json"]:
            self.stdout.write(json.dumps(found, indent=2))
            return
        self.stdout.write(f"{created.project.name}: {len(found['tools'])} tools")
        for one in found["unmapped"]:
            self.stdout.write(f"no tool for {one['operation']}: {one['reason']}")
        for one in found["unconfirmed_servers"]:
            self.stdout.write(f"not confirmed: {one['server']}, for {', '.join(one['tools'])}")
        for warning in found["warnings"]:
            self.stdout.write(warning)
        self.stdout.write(f"MCP address: {found['mcp_url']}")
        self.stdout.write(f"Token, valid for {TOKEN_DAYS} days: {found['token']}")


def _create_project(
    organization: Organization, owner: User, options: dict[str, Any]
) -> CreatedProject:
    try:
        text = _text(options["document"])
        imported = importing.read(text, organization.pk).imported
        return projects.create(
            organization,
            name=options["name"] or imported.title or organization.name,
            target_url=options["target"],
            document_text=text,
            imported=imported,
            document_url=options["document"] if _is_url(options["document"]) else "",
            owner=owner,
            policy=options["policy"],
            self_approval=options["self_approval"],
            reads=options["reads"],
            authentication=options["authentication"],
            confirmed_servers=options["confirm_server"],
        )
    except (UnusableDocument, InvalidTargetUrl, InvalidProject) as failed:
        raise CommandError(str(failed)) from None


def _text(place: str) -> str:
    if _is_url(place):
        return importing.fetch_document(place)
    try:
        return importing.decode_document(Path(place).read_bytes())
    except OSError as error:
        raise CommandError(f"{place} cannot be read: {error.strerror}.") from None


def _is_url(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def _owner(organization: Organization, email: str | None) -> User:
    """The member of this address, else the first admin."""
    members = Membership.objects.filter(
        ACTIVE_MEMBERSHIP, organization=organization, user__is_active=True, user__is_program=False
    )
    if email:
        members = members.filter(user__email=email.lower())
    else:
        members = members.filter(role__in=sorted(ADMINS))
    found = members.select_related("user").order_by("pk").first()
    if found is None:
        raise CommandError(
            f"{email} is not a member of {organization.slug}."
            if email
            else f"{organization.slug} has no admin; name a member with --user."
        )
    return found.user


def _json_output(created: CreatedProject, token: str) -> dict[str, Any]:
    """What programs read."""
    return {
        "project_id": created.project.pk,
        "mcp_url": f"{settings.HALO_PUBLIC_URL}/{created.project.pk}",
        "token": token,
        "tools": [
            {"name": row.name, "method": row.operation["method"], "path": row.operation["path"]}
            for row in created.project.tools.all()
        ],
        "unconfirmed_servers": [
            {"server": one.declared, "tools": one.tools}
            for one in servers.list_of_project(created.project)
            if not one.is_confirmed
        ],
        "unmapped": [
            {"operation": one.key, "reason": one.reason} for one in created.imported.unmapped
        ],
        "warnings": _warnings(created.project),
    }


def _warnings(project: Project) -> list[str]:
    """What keeps calls of the project from being approved."""
    needs_approval = project.writes == Effect.REQUIRE_APPROVAL and not project.self_approval
    owner = project.owner
    if not needs_approval or owner is None:
        return []
    if not policies.is_only_decider(owner, project.organization_id):
        return []
    url = f"{settings.HALO_PUBLIC_URL}/projects/{project.pk}/policy"
    return [NO_APPROVER.format(owner=owner.email, url=url)]
