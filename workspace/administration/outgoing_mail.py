"""The admin page of mails: whether each was sent, and a way to send it again."""

from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from workspace import outbox
from workspace.administration.facts import badge
from workspace.administration.scoped import ReadOnlyAdmin
from workspace.models import MailState, OutgoingMail

BADGES: Final = {MailState.WAITING: "wait", MailState.SENT: "good", MailState.FAILED: "bad"}


class OutgoingMailAdmin(ReadOnlyAdmin):
    organization_lookup = "organization"
    list_display = (
        *("recipient", "kind", "badge", "attempts", "due", "error"),
        *("organization", "created_at", "sent_at"),
    )
    list_filter = ("state", "kind", "organization", "created_at")
    list_select_related = ("organization",)
    search_fields = ("=id", "=recipient")
    search_help_text = _("Exactly: the id of a mail, or the email address of its recipient.")
    fields = (
        *("organization", "kind", "recipient", "state", "attempts", "next_attempt_at"),
        *("error", "created_at", "expires_at", "sent_at"),
    )
    actions = ("send_again",)
    show_full_result_count = False
    deferred = ("content",)

    @admin.display(description=_("state"), ordering="state")
    def badge(self, row: OutgoingMail) -> SafeString | str:
        return badge(BADGES[MailState(row.state)], row.get_state_display())

    @admin.display(description=_("next attempt"), ordering="next_attempt_at")
    def due(self, row: OutgoingMail) -> Any:
        return row.next_attempt_at if row.state == MailState.WAITING else None

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, "resend"))

    @admin.action(description=_("Send again"), permissions=["resend"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        count = outbox.send_again(self.limit_rows(request, queryset, "resend"))
        messages.success(
            request,
            _("%(count)s mails are sent again; a mail that was sent is not.") % {"count": count},
        )
