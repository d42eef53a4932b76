"""The open tasks, today's figures and the recorded rows, for the first page of the admin."""

from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import islice
from typing import Any, Final, cast

from django import template
from django.apps import apps
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals import decisions
from approvals.models import ApprovalRequest, ApprovalStatus
from audit import listing
from audit.outcomes import Outcome
from foundation import admin_urls, ids, scheduled_tasks
from tools_registry.admin.access import VIEW_SWITCHES
from tools_registry.models import ConnectionState, IntegrationMode
from workspace.administration.access import reach
from workspace.models import Company, Conversation, Customer, Event, Feedback, Lead, Ticket, User

register = template.Library()

MAX_COUNTED: Final = 1_000
RECORDS: Final = (Customer, Company, Lead, Ticket, Conversation, Feedback, Event)
VIEW_TOKENS: Final = ("oauth.view_accesstoken", "oauth.view_authorization")


@dataclass(frozen=True, slots=True)
class OverviewFigure:
    """A number with a link to its rows; `count` ends with + where there may be more."""

    label: Any
    count: str
    url: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A page to work on: `label` in the sidebar, `title` on the first page.

    `waiting` is the number of rows that wait there, empty for none.
    """

    label: Any
    title: Any
    url: str
    waiting: str = ""


@register.simple_tag
def admin_tasks(request: HttpRequest) -> list[Task]:
    """Returns the pages that an admin works on, in their usual order, if the user may open them."""
    tasks = []
    waiting = _visible(request, ApprovalRequest)
    if waiting is not None:
        tasks.append(_inbox_task(cast("User", request.user), waiting))
    if reach(request.user, *VIEW_SWITCHES):
        page = admin_urls.page_url("tools_registry_switchboards")
        tasks.append(Task(_("Switches"), _("Integrations and their switches"), page))
    if reach(request.user, *VIEW_TOKENS):
        page = admin_urls.page_url("tools_registry_why")
        tasks.append(Task(_("Why is a tool missing?"), _("Why can't a token see a tool?"), page))
    return tasks


def _inbox_task(user: User, visible: QuerySet[ApprovalRequest]) -> Task:
    """The page of requests, with the number of those that the person may approve.

    People who belong to no organization decide requests in the list of the admin.
    """
    label = _("Pending requests")
    if user.active_roles:
        found = sum(1 for _row in islice(decisions.list_decidable(user), MAX_COUNTED + 1))
        page, count = reverse("approval_requests"), _format_number(found)
    else:
        page = _list("approvals_approvalrequest", status__exact=ApprovalStatus.PENDING.value)
        pending = ApprovalRequest.with_current_status(ApprovalStatus.PENDING)
        count = _format_count(visible.filter(pending))
    return Task(label, label, page, "" if count == "0" else count)


@register.simple_tag
def admin_today(request: HttpRequest) -> list[OverviewFigure]:
    """Returns calls and refusals since midnight UTC and failing connections, each bounded."""
    figures = []
    calls = _visible(request, _calls())
    if calls is not None:
        day = timezone.now().astimezone(UTC).date()
        midnight = datetime.combine(day, time(), UTC)
        today = calls.filter(pk__gte=ids.first_key(midnight))
        refused = today.filter(outcome=Outcome.REFUSED.value)
        page, period = "audit_actionexecution", day.isoformat()
        figures = [
            OverviewFigure(_("Calls today"), _format_list_count(today), _list(page, period=period)),
            OverviewFigure(
                _("Refused today"),
                _format_list_count(refused),
                _list(page, outcome=Outcome.REFUSED.value, period=period),
            ),
        ]
    modes = _visible(request, IntegrationMode)
    if modes is not None:
        failing = _format_count(modes.filter(connection=ConnectionState.FAILING))
        page = _list(
            "tools_registry_integrationmode", connection__exact=ConnectionState.FAILING.value
        )
        figures.append(
            OverviewFigure(_("Failing connections"), failing, page, is_bad=failing != "0")
        )
    return figures


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """When a worker ran a task of the schedule last, if any did."""

    last_ran: datetime | None
    is_late: bool


@register.simple_tag
def admin_schedule(request: HttpRequest) -> ScheduleState | None:
    """Returns the state of the background work, for platform staff."""
    if not getattr(request.user, "is_staff", False):
        return None
    return ScheduleState(scheduled_tasks.schedule_last_ran(), scheduled_tasks.is_schedule_late())


@register.simple_tag
def admin_records(request: HttpRequest) -> list[tuple[Any, str]]:
    """Returns the name and the address of each list of recorded rows that the user may open."""
    lists = [(model, admin.site.get_model_admin(model)) for model in RECORDS]
    return [
        (model._meta.verbose_name_plural, _list(f"workspace_{model._meta.model_name}"))
        for model, page in lists
        if page.has_view_permission(request)
    ]


def _calls() -> type[Model]:
    # By name: only `audit` imports its models.
    return apps.get_model("audit", "ActionExecution")


def _visible(request: HttpRequest, model: type[Model]) -> QuerySet[Any] | None:
    """Returns the rows that the model's own list shows to the user, or None without permission."""
    page = admin.site.get_model_admin(model)
    return page.get_queryset(request) if page.has_view_permission(request) else None


def _format_count(rows: QuerySet[Any]) -> str:
    return _format_number(rows.order_by()[: MAX_COUNTED + 1].count())


def _format_number(count: int) -> str:
    return f"{MAX_COUNTED:,}+" if count > MAX_COUNTED else str(count)


def _format_list_count(rows: QuerySet[Any]) -> str:
    found = listing.newest(rows, MAX_COUNTED)
    is_more = found.has_more or found.continue_from is not None
    return f"{len(found.keys):,}{'+' if is_more else ''}"


def _list(page: str, **filters: str) -> str:
    return admin_urls.page_url(f"{page}_changelist", **filters)
