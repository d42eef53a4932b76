"""Requests for approval in the admin: an admin reads one in full, then approves or rejects it."""

import json
import re
from collections.abc import Callable
from typing import Any, Final, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals import decisions, masked_arguments, outcomes
from approvals.decisions import Decider, SelfApproval, Undecidable
from approvals.models import ApprovalRequest, ApprovalStatus
from approvals.surface_rules import DECIDE, find_rules
from foundation import admin_urls
from foundation.db.storable import escape_characters, escape_unstorable
from foundation.links import link
from oauth.endpoints import replies
from tools_registry.admin.access import require
from workspace.administration.access import reach
from workspace.administration.scoped import ReadOnlyAdmin
from workspace.models import User

CHANGE_PAGE: Final = "approvals_approvalrequest_change"
# Invisible characters, and those that change the order in which others are displayed.
MISLEADING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
# The style of each status in the list; requests that wait for an admin are emphasized.
BADGES: Final = {
    ApprovalStatus.PENDING: "halo-due",
    ApprovalStatus.RUNNING: "",
    ApprovalStatus.DONE: "halo-good",
    ApprovalStatus.FAILED: "halo-bad",
    ApprovalStatus.UNKNOWN: "halo-bad",
    ApprovalStatus.DECLINED: "",
    ApprovalStatus.EXPIRED: "",
}
CONFIRM_PAGE: Final = "admin/approvals/approvalrequest/decide.html"


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    organization_lookup = "organization"
    list_display = ("summary", "state", "organization", "requester", "created_at")
    list_filter = ("status", "integration", "tool", "organization", "created_at")
    list_select_related = ("organization", "decided_by")
    search_fields = ("=id", "summary", "=user_email", "=authorization_id", "=customer_id")
    search_help_text = _(
        "Words of a summary; or exactly: the id of a request, an authorization or a customer, or "
        "an email address."
    )
    date_hierarchy = "created_at"
    show_full_result_count = False
    change_form_template = "admin/approvals/approvalrequest/change_form.html"
    fieldsets = (
        (
            _("Request"),
            {"fields": ("summary", "organization", "tool", "full_arguments", "requester_reason")},
        ),
        (
            _("Requester"),
            {
                "fields": (
                    "user_email",
                    "client_name",
                    "client_id",
                    "customer_id",
                    "authorization_id",
                    "kind_of_credential",
                    "credential_id",
                    "created_at",
                    "expires_at",
                )
            },
        ),
        (
            _("Decision and result"),
            {
                "fields": (
                    "state",
                    "execution_state",
                    "decided_by",
                    "decided_at",
                    "note",
                    "sent_at",
                    "problem",
                    "answer",
                    "audit_row",
                )
            },
        ),
    )

    @admin.display(description=_("status"), ordering="status")
    def state(self, row: ApprovalRequest) -> SafeString:
        kind, text = BADGES[row.current_status], outcomes.get_label(row)
        badge = format_html('<span class="halo-badge {}">{}</span>', kind, text)
        if row.decided_by is None:
            return badge
        by = gettext("by {email}").format(email=row.decided_by.email)
        return format_html('{} <span class="halo-reason">{}</span>', badge, by)

    @admin.display(description=_("requested by"), ordering="user_email")
    def requester(self, row: ApprovalRequest) -> str:
        return row.user_email

    @admin.display(description=_("kind of credential"))
    def kind_of_credential(self, row: ApprovalRequest) -> str:
        return f"{row.credential}…"

    @admin.display(description=_("audit row"))
    def audit_row(self, row: ApprovalRequest) -> SafeString | str:
        if not row.execution_id:
            return self.get_empty_value_display()
        url = admin_urls.page_url("audit_actionexecution_change", row.execution_id)
        return link(url, row.execution_id)

    @admin.display(description=_("arguments, in full"))
    def full_arguments(self, row: ApprovalRequest) -> SafeString:
        return format_html("<pre>{}</pre>", masked_arguments.mask_request(row).full_text())

    @admin.display(description=_("reason given"))
    def requester_reason(self, row: ApprovalRequest) -> str:
        return str(escape_characters(row.why, MISLEADING)) or self.get_empty_value_display()

    @admin.display(description=_("answer"))
    def answer(self, row: ApprovalRequest) -> SafeString | str:
        if row.result is None:
            return self.get_empty_value_display()
        return _format_json(masked_arguments.masked_result(row))

    def get_urls(self) -> list[URLPattern]:
        ours = [
            path(
                f"<uuid:pk>/{word}/",
                self.admin_site.admin_view(view),
                name=f"approvals_approvalrequest_{word}",
            )
            for word, view in (("approve", self.approve_view), ("decline", self.decline_view))
        ]
        return [*ours, *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        row: ApprovalRequest = more["obj"]
        if reach(request.user, DECIDE).includes(row.organization_id):
            user, deciders = cast("User", request.user), find_rules(row).deciders
            is_tried = decisions.may_be_tried(row) and deciders.may_decide(user, row)
            why_not = decisions.why_not_approved(row, user) if is_tried else ""
            context["may_approve"] = is_tried and not why_not
            context["may_decline"] = is_tried and row.status == ApprovalStatus.PENDING
            is_running = row.status == ApprovalStatus.RUNNING
            context["live"] = f"{row.status}-{row.execution_state}" if is_running else ""
            context["why_not"] = why_not
        page = find_rules(row).page_url(row)
        context["page_url"] = "" if page == admin_urls.row_url(row) else page
        return super().render_change_form(request, context, *rest, **more)

    def approve_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        return self._handle_decision(request, pk, "approve", lambda by: decisions.approve(pk, by))

    def decline_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        note = str(escape_unstorable(request.POST.get("note", "")))
        return self._handle_decision(
            request, pk, "decline", lambda by: decisions.decline(pk, by, note)
        )

    def _handle_decision(
        self,
        request: HttpRequest,
        pk: Any,
        word: str,
        decide: Callable[[Decider], ApprovalRequest],
    ) -> HttpResponse:
        require(request, DECIDE)
        own = self.limit_rows(request, ApprovalRequest.objects.all(), "decide")
        row = get_object_or_404(own, pk=pk)
        if request.method != "POST":
            return self._confirm_page(request, row, word)
        try:
            ended = decide(Decider(cast("User", request.user), replies.address_of(request)))
        except SelfApproval as refused:
            raise PermissionDenied(str(refused)) from refused
        except Undecidable as refused:
            self.message_user(request, str(refused), messages.ERROR)
        else:
            self._tell(request, ended, word)
        return HttpResponseRedirect(admin_urls.page_url(CHANGE_PAGE, pk))

    def _confirm_page(self, request: HttpRequest, row: ApprovalRequest, word: str) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Approve this request?") if word == "approve" else _("Reject this request?"),
            "opts": self.opts,
            "row": row,
            "word": word,
            "tool": row.tool,
            "in_full": self.full_arguments(row),
            "in_their_words": self.requester_reason(row),
        }
        return TemplateResponse(request, CONFIRM_PAGE, context)

    def _tell(self, request: HttpRequest, row: ApprovalRequest, word: str) -> None:
        self.log_change(request, row, f"{word}: {row.status}")
        fine = row.status in {ApprovalStatus.RUNNING, ApprovalStatus.DECLINED}
        text = f"{row.get_status_display()}. {row.problem}".rstrip(" ")
        self.message_user(request, text, messages.SUCCESS if fine else messages.ERROR)


def _format_json(value: Any) -> SafeString:
    """Returns a JSON value with every character beyond ASCII escaped, so that none can mislead."""
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2, sort_keys=True))
