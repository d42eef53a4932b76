"""What security events and calls name by keys: the person, the subject, the project, the request.

The models are of higher layers, so they are named by their labels.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from django.http import HttpRequest

from audit.models import ActionExecution, SecurityEvent
from workspace.administration import row_names
from workspace.administration.row_names import USER, Reference, RowNames

ORGANIZATION: Final = "workspace.organization"
CLIENT: Final = "oauth.client"
PROJECT: Final = "gateway.project"
REQUEST: Final = "approvals.approvalrequest"
AGENT: Final = "agents.agentdefinition"

# The kinds of events that people look for together, by topic, and the model of their subject.
PROJECT_KINDS: Final = (
    *("policy_changed", "project_created", "project_imported", "project_changed"),
    *("project_deleted", "upstream_credential_changed"),
)
MEMBER_KINDS: Final = ("member_suspended", "member_restored", "member_removed", "role_changed")
SIGN_IN_KINDS: Final = (
    *("factor_added", "factor_removed", "recovery_codes_made", "second_step_failed"),
    *("second_step_removed", "password_set"),
)
SWITCH_KINDS: Final = (
    *("flag_changed", "integration_mode_changed", "action_toggled"),
    *("integration_connection_changed", "integration_settings_changed"),
)
AGENT_KINDS: Final = ("agent_definition_changed",)
_SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    PROJECT: PROJECT_KINDS,
    USER: (*MEMBER_KINDS, *SIGN_IN_KINDS, "audit_exported", "admin_refused"),
    REQUEST: ("self_approval",),
    AGENT: AGENT_KINDS,
    "agents.languagemodel": ("language_model_changed",),
    "gateway.upstreamcredential": ("upstream_credential_refused",),
    "oauth.authorization": (
        *("refresh_replay", "refresh_repeated", "refresh_expired", "code_replay"),
        *("refresh_client_mismatch", "code_client_mismatch", "revoked_by_client"),
        *("revoked_by_admin", "consent_remembered", "consent_reused", "connection_narrowed"),
        *("connection_asks_again", "connection_revoked"),
    ),
    "oauth.mcptoken": ("mcp_token_created", "mcp_token_revoked"),
    "oauth.serverkey": ("server_key_created", "server_key_revoked"),
    "oauth.serviceclient": (
        *("service_client_created", "service_client_keys_replaced"),
        *("service_client_ended", "service_client_refused"),
    ),
    "tools_registry.integrationmode": ("integration_set_up", "integration_disconnected"),
    "workspace.customer": ("customer_exported",),
    "people.person": ("private_profile_opened",),
}
SUBJECT_MODELS: Final = {kind: model for model, kinds in _SUBJECTS.items() for kind in kinds}
PROJECT_SURFACE: Final = "gateway:"
# How the note of a call names the request that it was approved with.
APPROVED: Final = re.compile(r"approval request ([0-9a-f-]{36})")


def load_events(request: HttpRequest, rows: Iterable[SecurityEvent]) -> RowNames:
    """Returns the names that the visitor may see of what these events are about."""
    return row_names.load(request, (one for row in rows for one in _references(row)))


def load_calls(request: HttpRequest, rows: Iterable[ActionExecution]) -> RowNames:
    """Returns the names that the visitor may see of the people, projects and requests of calls."""
    return row_names.load(request, (one for row in rows for one in _references_of_call(row)))


def subject_of(event: SecurityEvent) -> Reference | None:
    """Returns the row that an event is about, if its subject is the key of one."""
    model = SUBJECT_MODELS.get(event.kind)
    return (model, event.subject) if model and event.subject else None


def project_of(call: ActionExecution) -> str:
    """Returns the key of the project that a call went through, empty for other surfaces."""
    is_project = call.surface.startswith(PROJECT_SURFACE)
    return call.surface.removeprefix(PROJECT_SURFACE) if is_project else ""


def request_of(call: ActionExecution) -> str:
    """Returns the key of the request that a call was approved with, empty for other calls."""
    found = APPROVED.search(call.detail)
    return found[1] if found else ""


def _references(event: SecurityEvent) -> Iterator[Reference]:
    yield USER, event.user_id
    yield ORGANIZATION, event.organization_id
    yield CLIENT, event.client_id
    subject = subject_of(event)
    if subject is not None:
        yield subject


def _references_of_call(call: ActionExecution) -> Iterator[Reference]:
    yield USER, call.user_id
    yield ORGANIZATION, call.organization_id
    yield PROJECT, project_of(call)
    yield REQUEST, request_of(call)
