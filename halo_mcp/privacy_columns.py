"""Columns of upper layers that may name a customer who is erased or exported."""

from typing import Final

from agents.models import AgentDefinition, AgentOption, SessionTurn
from customers.privacy.text_columns import TextColumns
from gateway.models import ImportDraft, PolicyRule, Project, ProjectDocument, ProjectTool
from oauth import privacy as oauth
from people.models import LedgerEntry, PersonProfile, TimeOff, TimeOffDecision
from tools_registry.models import IntegrationMode

OF_PROJECT: Final = "project__organization"

REDACTED: Final = (
    TextColumns("agent_turns", SessionTurn, texts=("error",)),
    TextColumns("time_off", TimeOff, texts=("note", "response_note")),
    TextColumns("time_off_decisions", TimeOffDecision, texts=("comment", "program")),
    TextColumns("leave_balance_ledger", LedgerEntry, texts=("note",)),
    TextColumns("personal_profiles", PersonProfile, texts=("notes",)),
    TextColumns("integration_errors", IntegrationMode, texts=("last_error",)),
)
# What admins enter.
LEFT_AS_THEY_ARE: Final = (
    TextColumns(
        "agent_definitions", AgentDefinition, texts=("title", "description", "instructions")
    ),
    TextColumns(
        "agent_options",
        AgentOption,
        texts=("title", "description", "choices", "default"),
        organization="agent__organization",
    ),
    TextColumns(
        "projects", Project, texts=("name", "target_url", "document_url"), values=("servers",)
    ),
    TextColumns("api_documents", ProjectDocument, texts=("text",), organization=OF_PROJECT),
    TextColumns("api_imports", ImportDraft, texts=("text",), values=("fields",)),
    TextColumns(
        "project_tools",
        ProjectTool,
        values=("operation", "review_notes"),
        organization=OF_PROJECT,
    ),
    TextColumns(
        "policy_rules",
        PolicyRule,
        texts=("pattern",),
        values=("conditions",),
        organization=OF_PROJECT,
    ),
    *oauth.NAMES,
    TextColumns("integration_settings", IntegrationMode, values=("settings",)),
)
