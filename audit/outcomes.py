"""The values of audit rows: the kinds of actors and outcomes. All layers may import them."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class ActorKind(models.TextChoices):
    MCP_CLIENT = "mcp_client", _("MCP client")
    AGENT = "agent", _("Agent")
    PERSON = "person", _("Person")
    API_KEY = "api_key", _("API key")
    SYSTEM = "system", _("System")


class Outcome(models.TextChoices):
    STARTED = "started", _("Started")
    SUCCESS = "success", _("Success")
    REFUSED = "refused", _("Refused")
    VALIDATION_FAILED = "validation_failed", _("Invalid arguments")
    NOT_FOUND = "not_found", _("Not found")
    RATE_LIMITED = "rate_limited", _("Rate limited")
    TOOL_ERROR = "tool_error", _("Tool error")
    INTEGRATION_ERROR = "integration_error", _("Integration error")
    PROTOCOL_ERROR = "protocol_error", _("Malformed request")
    INPUT_REQUIRED = "input_required", _("Waiting for input")
    PENDING_APPROVAL = "pending_approval", _("Waiting for approval")
    CANCELLED = "cancelled", _("Cancelled")
    INTERRUPTED = "interrupted", _("Interrupted")
