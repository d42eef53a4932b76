"""Billing requests in the admin: read in full, then approved or declined on a page of its own."""

import json
import re
from collections.abc import Callable
from typing import Any, Final, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from audit.admin import ReadOnlyAdmin
from foundation.storable import escape_unstorable, spelled_out
from oauth import replies
from tools_registry.admin_access import require
from tools_registry.billing import approvals
from tools_registry.billing.approvals import Decider, SelfApproval, Undecidable
from tools_registry.billing.models import BillingRequest, Status
from workspace.models import User

DECIDE: Final = "tools_registry.decide_billingrequest"
CHANGE_PAGE: Final = "admin:tools_registry_billingrequest_change"
# Characters that are not seen, or that make their neighbours seen elsewhere.
MISLEADING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
CONFIRM_PAGE: Final = "admin/tools_registry/billingrequest/decide.html"


@admin.register(BillingRequest)
class BillingRequestAdmin(ReadOnlyAdmin):
    list_display = ("summary", "status", "organization", "user_email", "created_at", "decided_by")
    list_filter = ("status", "integration", "perform", "organization", "created_at")
    list_select_related = ("organization", "decided_by")
    search_fields = ("=id", "summary", "=user_email", "=authorization_id", "=customer_id")
    date_hierarchy = "created_at"
    show_full_result_count = False
    change_form_template = "admin/tools_registry/billingrequest/change_form.html"
    fieldsets = (
        (
            _("What is asked for"),
            {"fields": ("summary", "organization", "tool", "in_full", "in_their_words")},
        ),
        (
            _("By whom"),
            {
                "fields": (
                    "user_email",
                    "client_name",
                    "client_id",
                    "customer_id",
                    "authorization_id",
                    "token_id",
                    "created_at",
                    "expires_at",
                )
            },
        ),
        (
            _("What became of it"),
            {
                "fields": (
                    "status",
                    "decided_by",
                    "decided_at",
                    "note",
                    "sent_at",
                    "problem",
                    "answer",
                    "execution_id",
                )
            },
        ),
    )

    @admin.display(description=_("action to perform"))
    def tool(self, row: BillingRequest) -> str:
        return f"{row.integration}.{row.perform}"

    @admin.display(description=_("arguments, in full"))
    def in_full(self, row: BillingRequest) -> SafeString:
        return _spelled_out(row.arguments)

    @admin.display(description=_("why, in the asker's words"))
    def in_their_words(self, row: BillingRequest) -> str:
        return str(spelled_out(row.why, MISLEADING)) or self.get_empty_value_display()

    @admin.display(description=_("answer"))
    def answer(self, row: BillingRequest) -> SafeString | str:
        return self.get_empty_value_display() if row.result is None else _spelled_out(row.result)

    def get_urls(self) -> list[URLPattern]:
        ours = [
            path(
                f"<uuid:pk>/{word}/",
                self.admin_site.admin_view(view),
                name=f"tools_registry_billingrequest_{word}",
            )
            for word, view in (("approve", self.approve_view), ("decline", self.decline_view))
        ]
        return [*ours, *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        row: BillingRequest = more["obj"]
        if request.user.has_perm(DECIDE):
            is_own = approvals.is_own(row, cast("User", request.user))
            may_be_tried = approvals.may_be_tried(row)
            context["may_approve"] = may_be_tried and not is_own
            context["may_decline"] = may_be_tried and row.status == Status.PENDING
            context["why_not"] = SelfApproval.message if may_be_tried and is_own else ""
        return super().render_change_form(request, context, *rest, **more)

    def approve_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        return self._decided(request, pk, "approve", lambda by: approvals.approve(pk, by))

    def decline_view(self, request: HttpRequest, pk: Any) -> HttpResponse:
        note = str(escape_unstorable(request.POST.get("note", "")))
        return self._decided(request, pk, "decline", lambda by: approvals.decline(pk, by, note))

    def _decided(
        self,
        request: HttpRequest,
        pk: Any,
        word: str,
        decide: Callable[[Decider], BillingRequest],
    ) -> HttpResponse:
        require(request, DECIDE)
        row = get_object_or_404(BillingRequest, pk=pk)
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
        return HttpResponseRedirect(reverse(CHANGE_PAGE, args=[pk]))

    def _confirm_page(self, request: HttpRequest, row: BillingRequest, word: str) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Approve?") if word == "approve" else _("Decline?"),
            "opts": self.opts,
            "row": row,
            "word": word,
            "tool": self.tool(row),
            "in_full": self.in_full(row),
            "in_their_words": self.in_their_words(row),
        }
        return TemplateResponse(request, CONFIRM_PAGE, context)

    def _tell(self, request: HttpRequest, row: BillingRequest, word: str) -> None:
        self.log_change(request, row, f"{word}: {row.status}")
        fine = row.status in {Status.DONE, Status.DECLINED}
        text = f"{row.get_status_display()}. {row.problem}".rstrip(" ")
        self.message_user(request, text, messages.SUCCESS if fine else messages.ERROR)


def _spelled_out(value: Any) -> SafeString:
    """A JSON value with every character beyond ASCII as its number, so that none can mislead."""
    return format_html("<pre>{}</pre>", json.dumps(value, indent=2, sort_keys=True))
