"""Who decided about a request for time off, when, for whom, and with which comment."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people.models.columns import Record, key
from people.models.people import Person
from people.models.time_off import AbsenceStatus, TimeOff

MAX_COMMENT = 512
MAX_PROGRAM = 200


def new_decision_id() -> str:
    return ids.reference("tod_")


class DeciderRole(models.TextChoices):
    """By what somebody may decide about a request."""

    MANAGER = "manager", _("Manager")
    APPROVER = "approver", _("Approver")
    DEPUTY = "deputy", _("Deputy")
    PERSON = "person", _("The person")
    ADMIN = "admin", _("Admin")
    PROGRAM = "program", _("Program")


class TimeOffDecision(Record):
    """A request was approved in one step, rejected or cancelled. `people.time_off` writes it.

    `person` is the one who decided, by `role`. `user` is the account that was signed in. `program`
    is the name of the API key that was sent, and `key_id` its id, which decisions of earlier
    versions do not have. A cancellation has no step.
    """

    id = key(new_decision_id)
    time_off = models.ForeignKey(
        TimeOff, models.CASCADE, verbose_name=_("request"), related_name="decisions"
    )
    decision = models.CharField(_("decision"), max_length=10, choices=AbsenceStatus.choices)
    step = models.PositiveSmallIntegerField(_("step"), null=True)
    role = models.CharField(_("role"), max_length=10, choices=DeciderRole.choices)
    person = models.ForeignKey(
        Person, models.SET_NULL, verbose_name=_("person"), related_name="+", null=True
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, verbose_name=_("by"), related_name="+", null=True
    )
    program = models.CharField(_("program"), max_length=MAX_PROGRAM, blank=True, default="")
    key_id = models.UUIDField(null=True, editable=False)
    comment = models.CharField(_("comment"), max_length=MAX_COMMENT, blank=True, default="")

    class Meta:
        verbose_name = _("decision about time off")
        verbose_name_plural = _("decisions about time off")
        ordering = ("created_at", "step", "id")

    def __str__(self) -> str:
        return f"{self.time_off}: {self.get_decision_display()}"

    @property
    def decider(self) -> str:
        """Who decided, in words."""
        names = (self.person, self.user, self.program)
        return ", ".join(str(one) for one in names if one)
