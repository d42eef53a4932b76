"""Binds the ports of lower layers to upper layers, and mounts the surfaces, once at start-up."""

from agents import callers as agents
from agents import retention as agents_retention
from agents import sessions
from agents.privacy import AgentSessions
from approvals import execution, surface_rules
from approvals import retention as approvals_retention
from approvals.privacy import ApprovalRequests
from approvals.requests import ApprovalRequestStore
from approvals.surface_rules import SurfaceRules
from audit import record
from audit.privacy import Calls, PrivacyEventRecorder, SecurityEvents
from console.ask import calling
from customers.privacy import ports as privacy
from customers.privacy import retention
from customers.privacy.mails import OutgoingMails
from foundation import journal
from gateway import decision_push
from gateway import surface as gateway
from gateway.policies import PROJECT_SURFACES, Approvers
from gateway.requests import details, statuses
from gateway.resources import GatewayProjects
from halo_mcp import privacy_columns
from halo_mcp.mounts import SURFACES
from oauth import ports
from people.mcp import surface as people
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.pipeline import approval_port, idempotency, surfaces
from tools_registry.pipeline.scope_explainer import GateExplainer


def bind() -> None:
    ports.bind_scope_explainer(GateExplainer(WORKSPACE_SURFACE))
    ports.bind_projects(GatewayProjects())
    ports.bind_key_hint(people.key_hint)
    approval_port.bind(ApprovalRequestStore())
    record.bind_journal()
    journal.bind(execution.OUTCOME, execution.write_outcome)
    journal.bind(idempotency.FIRST_OUTCOME, idempotency.write_outcome)
    journal.bind(sessions.TURN_END, sessions.write_turn_end)
    privacy.bind(
        (AgentSessions(), ApprovalRequests(), OutgoingMails(), Calls(), SecurityEvents()),
        PrivacyEventRecorder(),
        mentions=privacy_columns.REDACTED,
        settings=privacy_columns.LEFT_AS_THEY_ARE,
    )
    retention.bind(
        (
            *agents_retention.KINDS,
            approvals_retention.build_kind(sessions.is_call_in_session),
        )
    )
    surface_rules.bind(
        PROJECT_SURFACES,
        SurfaceRules(
            deciders=Approvers(),
            find_schema=details.schema_of,
            find_obstacle=details.find_obstacle,
            find_refusal=details.find_refusal,
            page_url=statuses.path,
            deliver=decision_push.deliver,
        ),
    )
    for each in SURFACES.values():
        surfaces.mount(each)
    surfaces.mount(calling.SURFACE)
    surfaces.mount(people.SURFACE)
    surfaces.mount(agents.SURFACE)
    surfaces.mount_family(PROJECT_SURFACES, gateway.find_for_project)
