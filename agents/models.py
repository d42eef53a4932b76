"""Sessions of agents: their settings, messages and turns. `agents.sessions` writes them.

And what admins define: agents, and language models, whose keys `agents.language_models` seals.
"""

from collections.abc import Callable
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models import Organization


def _range_validators(least: int, most: int) -> list[Callable[[Any], None]]:
    return [MinValueValidator(least), MaxValueValidator(most)]


def _dollars(name: Any, places: int, help_text: Any = "") -> "models.DecimalField[Any, Any]":
    """A sum in US dollars, which may be left empty."""
    return models.DecimalField(
        name,
        max_digits=12,
        decimal_places=places,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=help_text,
    )


def new_session_id() -> str:
    """In the order of their creation, so that an id is a cursor. Only its key may use it."""
    return f"sess_{ids.uuid7_hex()}"


class LanguageModel(models.Model):
    """A model of a provider, with the organization's key for it."""

    class Provider(models.TextChoices):
        ANTHROPIC = "anthropic", _("Anthropic")
        OPENAI = "openai", _("OpenAI, or another with the same API")

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="+", verbose_name=_("organization")
    )
    provider = models.CharField(_("provider"), max_length=20, choices=Provider.choices)
    model = models.CharField(
        _("model"), max_length=200, help_text=_("As the provider names it: claude-sonnet-5.")
    )
    base_url = models.CharField(
        _("base URL"),
        max_length=500,
        blank=True,
        help_text=_("Empty for the provider's own. https://llm.example.com/v1"),
    )
    sealed = models.BinaryField(editable=False, default=bytes)
    is_used = models.BooleanField(
        _("used by the agents"),
        default=True,
        help_text=_("By all that have no model of their own. An organization has one such model."),
    )
    max_output_tokens = models.PositiveIntegerField(
        _("output tokens of one response"),
        default=4_096,
        validators=[MinValueValidator(1), MaxValueValidator(1_000_000)],
    )
    # Prices are in US dollars, as providers publish them.
    input_price = _dollars(
        _("price of a million input tokens, USD"),
        4,
        _("Empty for the published price of a known model."),
    )
    output_price = _dollars(_("price of a million output tokens, USD"), 4)
    daily_budget = _dollars(
        _("budget of a day, USD"),
        2,
        _("No turn begins once this is used up, until 00:00 UTC. Empty for no limit."),
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("language model")
        verbose_name_plural = _("language models")
        ordering = ("organization", "model", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("organization",),
                condition=models.Q(is_used=True),
                name="agents_one_model_used",
                violation_error_message=_("The organization's agents use another model already."),
            ),
        )

    def __str__(self) -> str:
        return self.model


class AgentDefinition(models.Model):
    """An agent that an organization has defined, next to those that come with the product."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="+", verbose_name=_("organization")
    )
    name = models.CharField(
        _("name"),
        max_length=64,
        validators=[RegexValidator(r"^[a-z0-9]+(-[a-z0-9]+)*\Z", _("Use a-z, 0-9 and hyphens."))],
        help_text=_("By which applications call it: support-agent."),
    )
    title = models.CharField(_("title"), max_length=200)
    version = models.CharField(
        _("version"),
        max_length=50,
        default="1.0.0",
        validators=[RegexValidator(r"^\d{1,9}(\.\d{1,9}){2}\Z", _("Use three numbers: 1.0.0."))],
    )
    description = models.CharField(_("description"), max_length=1_000, blank=True)
    instructions = models.TextField(
        _("instructions"), max_length=50_000, help_text=_("What the language model is to do.")
    )
    language_model = models.ForeignKey(
        LanguageModel,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("language model"),
        help_text=_("None for the one that the agents of the organization use."),
    )
    has_all_tools = models.BooleanField(
        _("all tools"),
        default=False,
        db_default=False,
        help_text=_("Every tool that a key may use, also those that are added later."),
    )
    tools = models.JSONField(_("tools"), default=list, blank=True)
    approval_tools = models.JSONField(
        _("tools that need an approval"),
        default=list,
        blank=True,
        help_text=_("Each of their calls waits until an admin approves it."),
    )
    reads_images = models.BooleanField(
        _("reads images"),
        default=False,
        db_default=False,
        help_text=_("Applications may send images. The language model has to be one that can."),
    )
    is_enabled = models.BooleanField(_("enabled"), default=True)
    max_steps = models.PositiveIntegerField(
        _("responses of the model in a turn"), default=10, validators=_range_validators(1, 100)
    )
    max_tool_calls = models.PositiveIntegerField(
        _("calls of tools in a turn"), default=40, validators=_range_validators(0, 1_000)
    )
    max_tokens = models.PositiveIntegerField(
        _("tokens of a turn"), default=200_000, validators=_range_validators(1, 100_000_000)
    )
    max_seconds = models.PositiveIntegerField(
        _("seconds of a turn"), default=300, validators=_range_validators(1, 3_600)
    )
    daily_budget = _dollars(
        _("budget of a day, USD"),
        2,
        _("No turn of it begins once this is used up, until 00:00 UTC."),
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("agent for applications")
        verbose_name_plural = _("agents for applications")
        ordering = ("organization", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("organization", "name"),
                name="agents_definition_name",
                violation_error_message=_("The organization has an agent of this name."),
            ),
        )

    def __str__(self) -> str:
        return self.name


class AgentOption(models.Model):
    """What applications may set for an agent of an organization."""

    class Type(models.TextChoices):
        TEXT = "text", _("text")
        SELECT = "select", _("choice from a list")
        SECRET = "secret", _("own key of the application for the language model")

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    agent = models.ForeignKey(AgentDefinition, models.CASCADE, related_name="options")
    name = models.CharField(
        _("name"),
        max_length=64,
        validators=[
            RegexValidator(r"^[a-z][a-z0-9_]*\Z", _("Use a-z, 0-9 and _, and begin with a letter."))
        ],
        help_text=_("By which applications set it: language."),
    )
    title = models.CharField(_("title"), max_length=200)
    description = models.CharField(_("description"), max_length=1_000, blank=True)
    type = models.CharField(_("type"), max_length=10, choices=Type.choices, default=Type.TEXT)
    choices = models.TextField(
        _("choices"), max_length=10_000, blank=True, help_text=_("Of a list, one in each line.")
    )
    default = models.CharField(_("default"), max_length=1_000, blank=True)

    class Meta:
        verbose_name = _("option")
        verbose_name_plural = _("options")
        ordering = ("agent", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("agent", "name"),
                name="agents_option_name",
                violation_error_message=_("The agent has an option of this name."),
            ),
            models.UniqueConstraint(
                fields=("agent",),
                condition=models.Q(type="secret"),
                name="agents_one_own_key",
                violation_error_message=_("The agent has another option for a key."),
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def choice_list(self) -> list[str]:
        """The choices of a list."""
        return [line.strip() for line in self.choices.splitlines() if line.strip()]


class Session(models.Model):
    """A conversation of an API key with an agent. What the client last declared is kept."""

    id = models.CharField(max_length=64, primary_key=True, default=new_session_id, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    key_id = models.UUIDField(_("API key"))
    agent = models.CharField(_("agent"), max_length=100)
    # [{"name", "trust"}], as they are answered.
    tools = models.JSONField(_("tools"), default=list)
    # As they are answered; the values of secrets are sealed, as JSON by name.
    options = models.JSONField(_("options"), default=dict)
    sealed_options = models.BinaryField(editable=False, default=bytes)
    client_tools = models.JSONField(_("tools of the application"), default=list)
    # The turn that runs, and until when it has the session.
    turn_id = models.UUIDField(_("running turn"), null=True, editable=False)
    leased_until = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("agent session")
        verbose_name_plural = _("agent sessions")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("key_id", "id"), name="agents_sessions_of_key"),
            models.Index(fields=("organization", "updated_at"), name="agents_sessions_by_age"),
        )

    def __str__(self) -> str:
        return self.pk


class SessionTurn(models.Model):
    """One turn: why it ended, and what it cost. It outlives its session. `agents.turns` ends it."""

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="+", verbose_name=_("organization")
    )
    key_id = models.UUIDField(_("API key"))
    agent = models.CharField(_("agent"), max_length=100)
    session = models.ForeignKey(
        Session, models.SET_NULL, null=True, related_name="turns", verbose_name=_("session")
    )
    idempotency_key = models.CharField(max_length=255, blank=True)
    request_digest = models.CharField(max_length=64, blank=True)
    # The ids of the calls that its request has permitted.
    granted = models.JSONField(default=list, editable=False)
    started_at = models.DateTimeField(_("began"), default=timezone.now)
    ended_at = models.DateTimeField(_("ended"), null=True)
    stop_reason = models.CharField(_("stop reason"), max_length=20, blank=True)
    error = models.CharField(_("error"), max_length=500, blank=True)
    model = models.CharField(_("model"), max_length=100, blank=True)
    has_own_key = models.BooleanField(_("with the application's own key"), default=False)
    input_tokens = models.PositiveIntegerField(_("input tokens"), default=0)
    output_tokens = models.PositiveIntegerField(_("output tokens"), default=0)
    cost_micros = models.PositiveBigIntegerField(_("cost, millionths"), default=0)
    is_measured = models.BooleanField(_("counted by the provider"), default=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ("session", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("session", "idempotency_key"),
                condition=~models.Q(idempotency_key=""),
                name="agents_turn_once",
            ),
        )
        indexes = (models.Index(fields=("organization", "started_at"), name="agents_turns_of_day"),)

    def __str__(self) -> str:
        return f"{self.session_id} {self.pk}"


class SessionMessage(models.Model):
    """A message of the history, as it is answered. `state` is what the provider needs of it."""

    session = models.ForeignKey(Session, models.CASCADE, related_name="messages")
    turn = models.ForeignKey(SessionTurn, models.CASCADE, related_name="messages", null=True)
    position = models.PositiveIntegerField()
    content = models.JSONField(_("message"))
    state = models.JSONField(null=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ("session", "position")
        constraints = (
            models.UniqueConstraint(fields=("session", "position"), name="agents_message_order"),
        )

    def __str__(self) -> str:
        return f"{self.session_id} {self.position}"
