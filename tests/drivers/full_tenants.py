"""Organizations with a row of everything that the admin lists, each with its name in it."""

from dataclasses import dataclass
from typing import Any
from zlib import crc32

from allauth.mfa.models import Authenticator
from django.db import models
from django.db.models import F
from django.test import Client as Http
from django.utils import timezone

from agents.models import AgentDefinition, AgentOption, LanguageModel, Session, SessionTurn
from approvals.models import ApprovalRequest
from audit.models import ActionExecution, SecurityEvent
from foundation.ids import uuid7
from gateway.models import MonthlyUsage, Plan, Project, ProjectTool, UpstreamCredential
from oauth import mcp_tokens, server_keys
from oauth.clients import service_clients
from oauth.grants import tokens
from oauth.models import Grant, KeyKind, McpToken
from oauth.scopes import parse
from people.models import (
    CustomField,
    EmploymentRecord,
    HolidayCalendar,
    LeavePolicy,
    LedgerEntry,
    LengthChange,
    OrgUnit,
    Person,
    PersonProfile,
    PublicHoliday,
    Recount,
    ReferenceItem,
    ReferenceKind,
    TimeOff,
    TimeOffCategory,
    TimeOffDecision,
    TimeOffSettings,
    WorkingPattern,
)
from tests.drivers import grants
from tests.drivers.grants import Grant as Consent
from tests.drivers.records import Records
from tools_registry.models import ActionToggle, IntegrationMode
from tools_registry.vendors import credentials
from workspace.models import (
    Customer,
    DataImport,
    Event,
    FeatureFlag,
    Feedback,
    Join,
    JoinOrigin,
    JoinRule,
    KnowledgeSource,
    Lead,
    Membership,
    Organization,
    OutgoingMail,
    Role,
    User,
)


@dataclass(frozen=True)
class FullTenant:
    """An organization with a row of everything, each of which carries its name."""

    name: str
    organization: Organization
    admin: User
    member: User
    rows: dict[type[models.Model], Any]

    def browser(self, user: User | None = None) -> Http:
        client = Http()
        client.force_login(user or self.admin)
        return client


def tenant(name: str, *, role: Role = Role.ADMIN) -> FullTenant:
    consent = grants.make_grant("actions:*", client_name=f"{name} client")
    place, owner = consent.organization, consent.user
    Organization.objects.filter(pk=place.pk).update(name=f"{name} place", slug=f"{name}-place")
    User.objects.filter(pk=owner.pk).update(email=f"owner@{name}.example", name=f"{name} owner")
    boss = User.objects.create_user(f"admin@{name}.example", name=f"{name} admin")
    membership = Membership.objects.create(user=boss, organization=place, role=role)
    member = User.objects.create_user(f"member@{name}.example", name=f"{name} member")
    Membership.objects.create(user=member, organization=place)
    place.refresh_from_db()
    # A key that is no part of another number of a page.
    factor = Authenticator.objects.create(
        id=crc32(name.encode()), user=member, type=Authenticator.Type.TOTP, data={}
    )
    people = {User: member, Membership: membership, Authenticator: factor}
    rows = {Organization: place, **people, **rows_of(name, consent)}
    return FullTenant(name, place, boss, member, rows)


def rows_of(name: str, consent: Consent) -> dict[type[models.Model], Any]:
    place = consent.organization
    agent = place.agents.get()
    pair = tokens.issue(consent.authorization, parse("actions:*"))
    assert pair.access
    text = {"organization_id": str(place.pk), "client_id": f"{name}-client"}
    mode = IntegrationMode.objects.create(organization=place, integration=f"{name}_crm")
    credentials.store(mode, f"{name} key")
    execution = ActionExecution.objects.create(
        **text, actor_kind="agent", outcome="success", tool=f"{name}.tool", reason=f"{name}_reason"
    )
    event = SecurityEvent.objects.create(
        **text, kind=f"{name}_kind", minute=timezone.now(), address_prefix=f"{name}/24"
    )
    request = ApprovalRequest.objects.create(
        organization=place,
        integration="stripe",
        requested_with="stripe.request_refund",
        tool="stripe.refund",
        digest=name,
        summary=f"{name} refund",
        user_id="someone",
        user_email=f"x@{name}.example",
        client_id=f"{name}-client",
        authorization_id="1",
        credential="halo_at_",
        credential_id="1",
    )
    code = Grant.objects.create(
        authorization=consent.authorization,
        code=name,
        code_challenge=name,
        expires=timezone.now(),
        redirect_uri=f"https://{name}.example/cb",
    )
    rows: list[models.Model] = [
        execution,
        event,
        request,
        code,
        mode,
        consent.client,
        consent.authorization,
        consent.authorization.access_tokens.get(),
        consent.authorization.refresh_tokens.get(),
        Customer.objects.create(organization=place, name=f"{name} customer", email_key=name),
        ActionToggle.objects.create(agent=agent, integration=f"{name}_crm", action="act"),
        FeatureFlag.objects.create(organization=place, name=f"{name}_flag", enabled=True),
        agent,
        DataImport.objects.create(organization=place, kind="customers", file_name=f"{name}.csv"),
        OutgoingMail.objects.create(
            organization=place, recipient=f"clerk@{name}.example", expires_at=timezone.now()
        ),
        *agent_rows(name, place),
        *gateway_rows(name, consent),
        *people_rows(name, place),
    ]
    return {**record_everything(name, consent), **{type(row): row for row in rows}}


def agent_rows(name: str, place: Organization) -> list[models.Model]:
    """A language model, and a session with a turn."""
    model = LanguageModel.objects.create(
        organization=place, provider="anthropic", model=f"{name} model", sealed=b"x"
    )
    session = Session.objects.create(organization=place, key_id=uuid7(), agent=f"{name} agent")
    turn = SessionTurn.objects.create(
        organization=place,
        key_id=session.key_id,
        agent=session.agent,
        session=session,
        model=f"{name} model",
    )
    definition = AgentDefinition.objects.create(
        organization=place, name=f"{name}-agent", title=f"{name} agent", instructions=name
    )
    option = AgentOption.objects.create(agent=definition, name="language", title=f"{name} language")
    return [model, session, turn, definition, option]


def gateway_rows(name: str, consent: Consent) -> list[models.Model]:
    """A project of the organization, with everything that belongs to it."""
    place = consent.organization
    project = Project.objects.create(
        organization=place, name=f"{name} project", target_url=f"https://{name}.example"
    )
    tool = ProjectTool(project=project, name=f"{name}_tool", key=f"GET /{name}", operation={})
    tool.save()
    credential = UpstreamCredential.objects.create(
        project=project, user=consent.user, scheme=f"{name} scheme", sealed=b""
    )
    usage = MonthlyUsage.objects.create(organization=place, month=timezone.now().date())
    plan = Plan.objects.create(organization=place)
    return [project, tool, credential, plan, usage, *keys(name, consent, project)]


def keys(name: str, consent: Consent, project: Project) -> list[models.Model]:
    """An API key, a token of a person for a project, and a program with credentials of its own."""
    place, user = consent.organization, consent.user
    key = server_keys.build_row(place, f"{name} key", ("data:read",), 1, KeyKind.AGENTS)
    server_keys.issue(key, user=user, address="")
    mcp_tokens.issue(user, place, f"/{project.pk}", name=f"{name} token", days=1, address="")
    program = service_clients.create(
        place,
        name=f"{name} program",
        method="client_secret_basic",
        scope=parse("docs:read"),
        jwks=None,
        user=user,
        address="",
    )
    return [key, McpToken.objects.get(organization=place), program.row]


def people_rows(name: str, place: Organization) -> list[models.Model]:
    """A person of the organization, with a row of every list of HR records."""
    own, today = {"organization": place}, timezone.localdate()
    pattern = WorkingPattern.objects.create(**own, label=f"{name} pattern")
    unit = OrgUnit.objects.create(**own, type="team", name=f"{name} unit")
    category = TimeOffCategory.objects.create(**own, name=f"{name} leave")
    calendar = HolidayCalendar.objects.create(**own, name=f"{name} calendar", is_default=True)
    person = Person.objects.create(
        **own, first_name=name, working_pattern=pattern, department=unit, job_title=f"{name} job"
    )
    of_person = own | {"person": person}
    day_off = TimeOff.objects.create(
        **of_person,
        category=category,
        start_date=today,
        end_date=today,
        amount_days=1,
        amount_minutes=480,
        note=f"{name} note",
    )
    recount = Recount.objects.create(**own, reason=f"{name} reason", finished_at=timezone.now())
    return [
        *(pattern, unit, category, calendar, person),
        TimeOffDecision.objects.create(
            **own, time_off=day_off, decision="approved", step=1, role="admin", comment="Enjoy it"
        ),
        PersonProfile.objects.create(**of_person, city=f"{name} city"),
        EmploymentRecord.objects.create(**of_person, effective_from=today, job_title=f"{name} job"),
        ReferenceItem.objects.create(**own, kind=ReferenceKind.WORK_PLACE, label=f"{name} house"),
        day_off,
        LengthChange.objects.create(
            **own, recount=recount, time_off=day_off, days_before=2, days_after=1
        ),
        LeavePolicy.objects.create(
            **own, category=category, name=f"{name} policy", allowance_days=30, valid_from=today
        ),
        LedgerEntry.objects.create(
            **of_person, category=category, amount_days=1, effective_date=today
        ),
        TimeOffSettings.objects.create(organization=place),
        PublicHoliday.objects.create(**own, calendar=calendar, date=today, name=f"{name} holiday"),
        CustomField.objects.create(**own, key="key", label=f"{name} field"),
    ]


def record_everything(name: str, consent: Consent) -> dict[type[models.Model], Any]:
    """A row of everything that the organization records, each with its name in it."""
    made = Records(consent, word=name).add()
    of_customer = {"customer": made.customers[0]}
    # A number of one digit is found everywhere on a page.
    Event.objects.filter(**of_customer).update(id=F("id") + 10**12)
    source = KnowledgeSource.objects.get(organization=consent.organization)
    rows = [source, made.companies[0], made.tickets[0], made.conversations[0]]
    rows += [model.objects.get(**of_customer) for model in (Lead, Feedback, Event)]
    rows.append(
        Join.objects.create(
            organization=consent.organization,
            **of_customer,
            rule=JoinRule.SESSION,
            source=f"{name} session",
            origin=JoinOrigin.PAGE,
        )
    )
    return {type(row): row for row in rows}
