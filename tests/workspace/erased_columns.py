"""Which columns an erasure searches, and why it does not search the others."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import Model

from approvals import privacy as approvals
from approvals.models import ApprovalRequest
from audit import privacy as calls
from audit.models import ActionExecution, SecurityEvent
from customers.privacy import ports, tables

TEXT = (models.TextField, models.JSONField, models.BinaryField, models.CharField)
# Tables without a text about customers.
NOT_SEARCHED = {
    "accounts of the organization's own people, and their sign-in": {
        *("account.EmailAddress", "account.EmailConfirmation", "mfa.Authenticator"),
        *("sessions.Session", "workspace.User", "auth.Group", "auth.Permission"),
    },
    "the organization itself": {"workspace.Organization", "gateway.ApproverGroup"},
    "what client programs say of themselves, hashes, and what is sealed for minutes": {
        *("oauth.Client", "oauth.Authorization", "oauth.RememberedConsent"),
        *("oauth.AuthorizationRequest", "oauth.Grant", "oauth.AccessToken", "oauth.RefreshToken"),
        *("oauth.IDToken", "oauth2_provider.DeviceGrant", "tools_registry.Question"),
        *("tools_registry.PushedMessage", "tools_registry.SessionLevel", "workspace.ErasedName"),
    },
    "sealed keys of vendors, models and APIs": {
        *("tools_registry.Credential", "gateway.UpstreamCredential", "agents.LanguageModel"),
        "foundation.SealingProof",
    },
    "names of tools and metrics": {
        *("tools_registry.ActionToggle", "workspace.KpiSnapshot", "workspace.DemoSeed"),
        "workspace.KpiChange",
        *("contenttypes.ContentType", "documentation.DocumentationSection"),
    },
    "facts about the organization's own people": {
        *("people.ReferenceItem", "people.WorkingPattern", "people.OrgUnit", "people.Person"),
        "people.PersonWord",
        *("people.EmploymentRecord", "people.Document", "people.CustomField"),
        *("people.CustomFieldValue", "people.TimeOffCategory", "people.PublicHoliday"),
        *("people.HolidayCalendar", "people.LeavePolicy"),
        "people.Recount",
    },
    "the record that it happened: the internal id, once it is finished": {"workspace.Erasure"},
    "rows of which an erasure empties those that it changes": {"admin.LogEntry"},
    "answers of changes that may be repeated, for a day": {
        *("rest.RepeatableRequest", "tools_registry.RepeatableCall"),
    },
    "deleted by an erasure that finds the customer in its content": {"workspace.OutgoingMail"},
    "deleted with the session": {"agents.Session", "agents.SessionMessage"},
}
# Columns of tables that are searched otherwise.
NO_TEXT = {
    "ids, digests and names of what the product or a teammate defines": {
        *("agents.AgentDefinition.name", "agents.AgentDefinition.version"),
        *("agents.AgentDefinition.tools", "agents.AgentDefinition.approval_tools"),
        "agents.AgentOption.name",
        *("agents.SessionTurn.agent", "agents.SessionTurn.idempotency_key"),
        *("agents.SessionTurn.request_digest", "agents.SessionTurn.granted"),
        *("agents.SessionTurn.stop_reason", "agents.SessionTurn.model"),
        *("gateway.ProjectDocument.sha256", "gateway.ProjectTool.name", "gateway.ProjectTool.key"),
        *("gateway.ProjectTool.fingerprint", "gateway.PolicyRule.approver_roles"),
        *("oauth.ServerKey.checksum", "oauth.ServerKey.ending", "oauth.ServerKey.scope"),
        *("oauth.McpToken.resource_path", "oauth.McpToken.checksum", "oauth.McpToken.ending"),
        *("oauth.McpToken.scope", "oauth.ServiceClient.jwks", "oauth.UsedAssertion.jti_sha256"),
        *("tools_registry.IntegrationMode.integration", "tools_registry.IntegrationMode.missing"),
        "oauth.ServerKey.record_limit",
        *("workspace.PageJob.back", "workspace.PageJob.result"),
        *("workspace.KnowledgeSource.digest", "workspace.KnowledgeChunk.embedder"),
        *("workspace.KnowledgePage.digest", "workspace.KnowledgePage.etag"),
        *("workspace.KnowledgePage.last_modified", "workspace.KnowledgePage.lastmod"),
    },
    "words of other columns, which the database empties when one of those is replaced": {
        *("workspace.TicketMessage.search_text", "workspace.ConversationMessage.search_text"),
        *("workspace.Lead.search_text", "workspace.KnowledgeChunk.search_text"),
    },
    "keys of names, which are computed again when a name is replaced": {
        *("workspace.Company.name_key", "workspace.Customer.name_key"),
    },
    "ids that the organization's own systems gave": {
        "workspace.Company.external_id",
    },
    "ids that a vendor gave to the account of the organization": {
        "tools_registry.IntegrationMode.account",
    },
    "deleted when an erasure begins": {
        *("workspace.DataImport.content", "workspace.DataImport.refused_rows"),
    },
    "headers and formats of files": {
        *("workspace.DataImport.choices", "workspace.ImportMapping.columns"),
    },
    "a document, which is listed by its text": {
        *("workspace.KnowledgeSource.original", "workspace.KnowledgeChunk.embedding"),
    },
    "facts about the organization's own people": {
        f"people.PersonProfile.{name}"
        for name in (
            *("middle_names", "personal_email", "personal_phone_number", "work_phone_number"),
            *("address_line_1", "address_line_2", "address_line_3", "city", "region_state"),
            *("postal_code", "bank_account", "tax_id"),
        )
    },
}


def text_columns() -> Iterator[tuple[type[Model], str]]:
    """Every column of the database that may hold a text that somebody chose."""
    for model in apps.get_models(include_auto_created=False):
        for column in model._meta.concrete_fields:
            if isinstance(column, TEXT) and not column.choices and not column.primary_key:
                yield model, column.name


def searched_columns() -> Iterator[tuple[type[Model], str]]:
    """The columns whose texts an erasure replaces, or of which it says that it leaves them."""
    for columns in (*ports.mentions(), *ports.left_as_they_are()):
        yield from ((columns.model, name) for name in columns.columns)
    yield from ((ActionExecution, name) for name in ("arguments", "detail", *calls.NAMES))
    yield SecurityEvent, "detail"
    yield from ((ApprovalRequest, name) for name in (*approvals.TEXTS, *approvals.VALUES))


def emptied_tables() -> set[Any]:
    """The tables whose rows of the customer an erasure deletes or anonymizes."""
    return {model for table in tables.TABLES for model in (table.model, *table.parts)}
