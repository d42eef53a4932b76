"""HR records in the admin. What has rules is written by the functions that know them."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from audit import record
from foundation.links import link
from oauth.endpoints import replies
from people import (
    access,
    approvers,
    balances,
    calendars,
    changes,
    days,
    employment,
    leave_years,
    national_holidays,
    recounting,
    request_checks,
    time_off,
)
from people.changes import RefusedChange
from people.models import (
    AbsenceStatus,
    CustomField,
    CustomFieldValue,
    Document,
    EmploymentRecord,
    HolidayCalendar,
    LeavePolicy,
    LedgerEntry,
    LengthChange,
    OrgUnit,
    OrgUnitMembership,
    Person,
    PersonProfile,
    PersonRelationship,
    PublicHoliday,
    ReferenceItem,
    TimeOff,
    TimeOffCategory,
    TimeOffSettings,
    WorkingPattern,
)
from people.models.columns import Record
from people.models.decisions import MAX_COMMENT
from people.models.people import EMPLOYMENT_FIELDS
from people.models.reference import WEEKDAYS
from people.national_holidays import UnknownRegion
from people.request_checks import RequestProblem
from people.time_off import ApprovedRequest, TimeOffDecider
from people.working_time import ONE_DAY
from workspace.administration import access as admin_access
from workspace.administration.scoped import ReadOnlyAdmin, ScopedAdmin, ScopedInline
from workspace.models import Organization, User

TIMES: Final = ("created_at", "updated_at")
NAMES: Final = ("first_name", "last_name", "preferred_name", "work_email", "staff_id")
MAX_FILLED_YEARS: Final = 10
MAX_SHOWN_PROBLEMS: Final = 20
# Of the filter of requests that wait for somebody.
ME: Final = "me"
LEAVE_CONDITIONS: Final = ("person", "department", "work_type", "work_place", "years_of_service")
LEAVE_RULES: Final = (
    *("allowance_days", "carry_over_days", "carries_debt"),
    *("carried_until_month", "carried_until_day"),
)
OF_PERSON: Final = ("person__first_name", "person__last_name", "=person__id")


class OneOrganizationForm(forms.ModelForm):  # type: ignore[type-arg]
    """Refuses a row that refers to a row of another organization, and days out of bounds."""

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        referred = {name: organization_of(value) for name, value in given.items()}
        own = referred.get("organization") or organization_of(self.instance)
        own = own or referred.get("person")
        for name, organization in referred.items():
            if organization not in {None, own}:
                self.add_error(name, _("This belongs to another organization."))
        dates = {name: value for name, value in given.items() if type(value) is date}
        for name, day in dates.items():
            check = days.birth_message if name == "date_of_birth" else days.bounds_message
            if message := check(day):
                self.add_error(name, message)
        return given

    def _get_validation_exclusions(self) -> set[str]:
        # Unique constraints name the organization, which is read-only in the form of a change.
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]  # not in the stubs
        is_known = getattr(self.instance, "organization_id", None) is not None
        return excluded - {"organization"} if is_known else excluded


def organization_of(value: object) -> Any:
    """Returns the organization that a row belongs to; None for anything else."""
    if isinstance(value, Model) and value._meta.label == "workspace.Organization":
        return value.pk
    return getattr(value, "organization_id", None)


class HrRecordAdmin(ScopedAdmin):
    """A row keeps its organization; each change has a new version."""

    organization_lookup = "organization"
    form = OneOrganizationForm

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = tuple(super().get_readonly_fields(request, obj))
        return (*fields, "organization") if obj else fields

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        if change:
            next_version(obj)
        super().save_model(request, obj, form, change)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:  # noqa: FBT001, ARG002  Django's signature
        rows = formset.save(commit=False)
        for row, _fields in formset.changed_objects:
            next_version(row)
        for row in rows:
            if isinstance(row, Record):
                row.organization_id = form.instance.organization_id
            row.save()
        for row in formset.deleted_objects:
            row.delete()
        formset.save_m2m()


class CorrectionForm(OneOrganizationForm):
    """Requires a reason for a change of what holds already."""

    # The column with the day from which a row holds, and whether a new row needs a reason too.
    holds_from: ClassVar[str]
    is_for_new_rows: ClassVar[bool] = False

    reason = forms.CharField(
        label=_("Reason of the correction"),
        max_length=200,
        required=False,
        help_text=_("Needed for what holds already. It is kept in the history."),
    )

    def get_last_day(self, given: dict[str, Any]) -> date:  # noqa: ARG002  others read it
        """The last day of which a row needs a reason to change."""
        return timezone.localdate()

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        days_from = [given.get(self.holds_from), getattr(self.instance, self.holds_from)]
        is_asked = self.is_for_new_rows or self.instance.organization_id is not None
        holds = any(day and day <= self.get_last_day(given) for day in days_from)
        if is_asked and holds and self.has_changed() and not given.get("reason"):
            self.add_error("reason", _("Enter why this is changed for days that have passed."))
        return given


class ProblemsForm(OneOrganizationForm):
    """Shows the requests that a change breaks, and saves it once that is accepted."""

    accepts_problems = forms.BooleanField(
        label=_("Save although requests no longer fit"),
        required=False,
        help_text=_("They stay as they are until somebody rejects or cancels them."),
    )

    def list_broken(self) -> Sequence[RequestProblem]:
        """Returns the requests that the change breaks."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if not self.errors and not given.get("accepts_problems"):
            try:
                found = self.list_broken()
            except RefusedChange:
                # Saving it is refused, with the reason.
                return given
            for one in found[:MAX_SHOWN_PROBLEMS]:
                self.add_error("accepts_problems", _describe_problem(one))
            if more := len(found[MAX_SHOWN_PROBLEMS:]):
                self.add_error("accepts_problems", _("And %d more.") % more)
        return given


def _describe_problem(problem: RequestProblem) -> str:
    row = problem.row
    status = row.get_status_display()
    return f"{row}, {row.category}, {status}: {problem.text}"


class CorrectedAdmin(ScopedAdmin):
    """Its history has each value before and after a change, and the reason."""

    def construct_change_message(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        add: bool = False,  # noqa: FBT001, FBT002  Django's signature
    ) -> Any:
        if add and not form.cleaned_data.get("reason"):
            return super().construct_change_message(request, form, formsets, add)
        parts = [] if add else [_describe_change(form, name) for name in form.changed_data]
        if reason := form.cleaned_data.get("reason"):
            parts.append(_("Reason: %s") % reason)
        return ". ".join(filter(None, parts))


def _describe_change(form: Any, name: str) -> str:
    """What a field of a form was, and what it is."""
    if name in {"reason", "accepts_problems"}:
        return ""
    field, before = form.fields[name], form.initial.get(name)
    if isinstance(field, forms.ModelChoiceField) and field.queryset is not None and before:
        before = field.queryset.filter(pk=before).first()
    text = _("%(field)s: %(before)s becomes %(after)s")
    empty = _("nothing")
    after = form.cleaned_data[name]
    shown = {
        key: empty if value in {None, ""} else value
        for key, value in {"before": before, "after": after}.items()
    }
    return text % {"field": field.label, **shown}


def recount(
    page: ScopedAdmin, request: HttpRequest, organization: Organization, reason: str, **scope: Any
) -> None:
    """Has requests counted again, and says so if there are any."""
    user = cast("User", request.user)
    if recounting.request_recount(organization, reason, user, **scope):
        text = _(
            "Requests are counted again. Those with another length will be in “Changed lengths”."
        )
        page.message_user(request, text, messages.WARNING)


def next_version(row: Model) -> None:
    """Notes that a row changes."""
    if isinstance(row, Record):
        row.version += 1
        row.updated_at = timezone.now()


class PersonRows(ScopedInline):
    """Rows on the page of a person."""

    fk_name = "person"
    extra = 0
    form = OneOrganizationForm


class UnitMembershipInline(PersonRows):
    model = OrgUnitMembership
    fields = ("unit", "role", "is_primary", "effective_from", "effective_to")


class RelationshipInline(PersonRows):
    model = PersonRelationship
    autocomplete_fields = ("related_person",)
    fields = ("type", "related_person", "is_primary", "effective_from", "effective_to")


class DocumentInline(PersonRows):
    model = Document
    fields = ("name", "category", "content_type", "size_bytes", "url")


class CustomValueInline(PersonRows):
    organization_lookup = "person__organization"
    model = CustomFieldValue
    fields = ("field", "value")


@admin.register(Person)
class PersonAdmin(HrRecordAdmin):
    """The page of a person also shows the ledger of a leave year, `?leave_day=` or the present."""

    change_form_template = "admin/people/person/change_form.html"
    list_display = ("display", "job_title", "department", "manager", "work_email", "start_date")
    list_filter = ("department", "work_place", "work_type", "organization")
    list_select_related = ("department", "manager")
    search_fields = ("first_name", "last_name", "preferred_name", "work_email", "=staff_id", "=id")
    readonly_fields = (*EMPLOYMENT_FIELDS, *TIMES)
    inlines: ClassVar[Any] = [
        UnitMembershipInline,
        RelationshipInline,
        CustomValueInline,
        DocumentInline,
    ]

    @admin.display(description=_("name"), ordering="last_name")
    def display(self, row: Person) -> str:
        return row.display_name

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        person = context.get("original")
        permissions = ("people.view_timeoff", "people.view_ledgerentry")
        reach = admin_access.reach(request.user, *permissions)
        if person is not None and reach.includes(person.organization_id):
            found = balances.balance(person, _read_leave_day(request, person))
            context |= {"balance": found, "day_before": found.year.starts_on - ONE_DAY}
        return super().render_change_form(request, context, *args, **more)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002  Django's signature
        shown: list[Any] = [(None, {"fields": ("organization", *NAMES, "status")})]
        if obj:
            fields = {"fields": EMPLOYMENT_FIELDS, "description": _how_to_change(obj)}
            shown.append((_("Employment"), fields))
            shown.append((_("Dates"), {"fields": TIMES}))
        return shown


def _read_leave_day(request: HttpRequest, person: Person) -> date:
    """A day of the leave year that is shown; today if the address has none."""
    try:
        day = date.fromisoformat(request.GET.get("leave_day", ""))
    except ValueError:
        return days.today(person.organization)
    return days.today(person.organization) if days.bounds_message(day) else day


def _how_to_change(person: Person) -> str:
    """What the page of a person says above their employment."""
    address = f"{reverse('admin:people_employmentrecord_add')}?person={person.pk}"
    waiting = f"{reverse('admin:people_timeoff_changelist')}?waits_for={person.pk}"
    links = (
        link(address, _("Add an employment record to change this")),
        link(waiting, _("Requests for time off that wait for this person")),
    )
    return format_html_join(mark_safe("<br>"), "{}", ([one] for one in links))


@admin.register(PersonProfile)
class PersonProfileAdmin(HrRecordAdmin):
    list_display = ("person", "organization")
    list_filter = ("organization",)
    list_select_related = ("person", "organization")
    search_fields = OF_PERSON
    autocomplete_fields = ("person",)
    fieldsets = (
        (None, {"fields": ("person", "middle_names", "date_of_birth")}),
        (
            _("Contact"),
            {
                "fields": (
                    *("personal_email", "personal_phone_number", "work_phone_number"),
                    *("address_line_1", "address_line_2", "address_line_3"),
                    *("city", "region_state", "postal_code", "country_code"),
                )
            },
        ),
        (_("Pay"), {"fields": ("annual_salary", "bank_account", "tax_id")}),
        (_("Notes"), {"fields": ("notes",)}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return (*fields, "person") if obj else fields

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        profile = context.get("original")
        if profile is not None:
            # Calls of the API and of clients leave a row with each read; so does this page.
            record.security_event(
                "private_profile_opened",
                address=replies.address_of(request),
                subject=str(profile.person_id),
                organization_id=str(profile.organization_id),
                user_id=str(request.user.pk),
            )
        return super().render_change_form(request, context, *args, **more)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        obj.organization_id = obj.person.organization_id
        super().save_model(request, obj, form, change)


class RefusingAdmin(ScopedAdmin):
    """A form that can be refused by a change made since the form was validated."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        try:
            answer: HttpResponse = super().changeform_view(
                request, object_id, form_url, extra_context
            )
        except RefusedChange as refused:
            messages.error(request, refused.message)
            return redirect(request.get_full_path())
        return answer


class EmploymentRecordForm(ProblemsForm, CorrectionForm):
    """Refuses a second record of a day."""

    holds_from = "effective_from"

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        person, day = given.get("person"), given.get("effective_from")
        try:
            if person and day:
                employment.check_day(person, day)
        except RefusedChange as refused:
            self.add_error("effective_from", refused.message)
        return given

    def list_broken(self) -> Sequence[RequestProblem]:
        given = self.cleaned_data
        values = {name: given[name] for name in EMPLOYMENT_FIELDS}
        record, is_new = self.instance, self.instance.organization_id is None
        person = access.row(Person, *_key_of(given["person"] if is_new else record.person))

        def change() -> None:
            if is_new:
                employment.add(person, given["effective_from"], **values)
            else:
                employment.correct(record, **values)

        return request_checks.list_broken(person.time_off.all(), _today_of(person), change)


def _key_of(row: Record) -> tuple[Any, str]:
    return row.organization_id, str(row.pk)


def _today_of(row: Record) -> date:
    return days.today(row.organization)


@admin.register(EmploymentRecord)
class EmploymentRecordAdmin(RefusingAdmin, CorrectedAdmin):
    """The history of employment. A change is added; what was wrong is corrected, with a reason."""

    organization_lookup = "organization"
    form = EmploymentRecordForm
    list_display = ("person", "effective_from", "job_title", "department", "manager")
    list_filter = ("effective_from", "organization")
    list_select_related = ("person", "department", "manager")
    search_fields = (*OF_PERSON, "job_title")
    autocomplete_fields = ("person", "manager")
    fields = ("person", "effective_from", *EMPLOYMENT_FIELDS, "accepts_problems", "reason")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002  Django's signature
        return self.fields if obj else self.fields[:-1]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return (*fields, "person", "effective_from") if obj else fields

    def get_actions(self, request: HttpRequest) -> Any:  # noqa: ARG002  Django's signature
        """Records are deleted one at a time: the only one of a person stays."""
        return {}

    def lock(self, row: Any) -> None:
        access.lock_row(Person, row.organization_id, row.person_id)
        super().lock(row)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may_delete = super().has_delete_permission(request, obj)
        if obj is None or not may_delete:
            return may_delete
        return EmploymentRecord.objects.filter(person=obj.person_id).exclude(pk=obj.pk).exists()

    def delete_model(self, request: HttpRequest, obj: EmploymentRecord) -> None:
        rows = TimeOff.objects.filter(person=obj.person_id)
        broken = request_checks.list_broken(rows, _today_of(obj), lambda: employment.remove(obj))
        for one in broken:
            messages.warning(request, _describe_problem(one))
        employment.remove(obj)
        reason = _("the employment record from %s on was deleted") % obj.effective_from
        dates = _list_changed_days(obj)
        recount(self, request, obj.organization, reason, person=obj.person, dates=dates)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """With `?person=` the form has the person's present employment."""
        found: dict[str, Any] = {"effective_from": timezone.localdate()}
        key = unquote(request.GET.get("person", ""))
        people = self.limit_rows(request, Person.objects.filter(pk=key.replace("\x00", "")), "add")
        if person := people.first():
            found |= {name: getattr(person, name) for name in EMPLOYMENT_FIELDS}
            found["person"] = person
            found["effective_from"] = days.today(person.organization, person.work_place)
        return found

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        given = {name: form.cleaned_data[name] for name in EMPLOYMENT_FIELDS}
        record = (
            employment.correct(obj, **given)
            if change
            else employment.add(obj.person, obj.effective_from, **given)
        )
        obj.pk, obj.organization_id = record.pk, record.organization_id
        later = obj.person.employment_history.filter(effective_from__gt=obj.effective_from)
        if found := later.order_by("effective_from").values_list("effective_from", flat=True):
            text = _("This holds until the next record. Later records are unchanged: %s.")
            messages.warning(request, text % ", ".join(map(str, found)))
        reason = _("employment changed from %s on") % obj.effective_from
        organization, dates = obj.person.organization, _list_changed_days(obj)
        recount(self, request, organization, reason, person=obj.person, dates=dates)


def _list_changed_days(record: EmploymentRecord) -> Sequence[date]:
    """The first and the last day that an employment record says something about."""
    earlier = record.person.employment_history.filter(effective_from__lt=record.effective_from)
    first_day = record.effective_from if earlier.exists() else days.FIRST_DAY
    return first_day, days.LAST_DAY


class TimeOffForm(OneOrganizationForm):
    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if not self.errors:
            person = given["person"]
            try:
                request_checks.measure(TimeOff(**given, organization_id=person.organization_id))
            except RefusedChange as refused:
                field = refused.field if refused.field in self.fields else None
                self.add_error(field, refused.message)
        return given


class ProblemFilter(admin.SimpleListFilter):
    """Lists pending and approved requests that could not be made now."""

    title = _("problem")
    parameter_name = "problem"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:  # noqa: ARG002  Django's signature
        return (("any", _("Could not be requested now")),)

    def queryset(self, request: HttpRequest, queryset: QuerySet[TimeOff]) -> QuerySet[TimeOff]:  # noqa: ARG002  Django's signature
        if self.value() != "any":
            return queryset
        found = request_checks.list_open_problems(queryset, timezone.localdate())
        return queryset.filter(pk__in=[one.row.pk for one in found])


class WaitingFilter(admin.SimpleListFilter):
    """Lists the pending requests that somebody decides about next: the visitor, or one person."""

    title = _("waits for")
    parameter_name = "waits_for"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:  # noqa: ARG002  Django's signature
        named = [(self.value(), _("The person"))] if self.value() not in {None, ME} else []
        return ((ME, _("Me, by my work email")), *named)

    def queryset(self, request: HttpRequest, queryset: QuerySet[TimeOff]) -> QuerySet[TimeOff]:
        if not (key := self.value()):
            return queryset
        email = cast("User", request.user).email
        is_meant = (
            Q(work_email__iexact=email or "-") if key == ME else Q(pk=key.replace("\x00", ""))
        )
        people = Person.objects.filter(
            is_meant, organization__in=queryset.order_by().values("organization")
        )
        keys = [row for one in people for row in approvers.list_waiting_for(one)]
        return queryset.filter(pk__in=keys)


class DecisionForm(ActionForm):
    """The action that is carried out, with a comment that is kept with each decision."""

    comment = forms.CharField(label=_("Comment"), max_length=MAX_COMMENT, required=False)


@admin.register(TimeOff)
class TimeOffAdmin(RefusingAdmin):
    """Requests are added and decided here; their dates do not change."""

    organization_lookup = "organization"
    form = TimeOffForm
    action_form = DecisionForm
    list_display = ("person", "category", "start_date", "end_date", "amount_days", "status")
    list_filter = (
        *("status", "start_date", WaitingFilter, ProblemFilter, "category", "organization"),
    )
    list_select_related = ("person", "category")
    search_fields = (*OF_PERSON, "=id")
    autocomplete_fields = ("person",)
    actions = ("approve", "decline", "cancel")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002  Django's signature
        given = ("person", *time_off.CHANGEABLE, "note")
        shown = ("amount_days", "amount_minutes", "status", "problem", "waits_for", "decisions")
        return (*given, *shown, "response_note", "decided_at", *TIMES) if obj else given

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        computed = ("problem", "waits_for", "decisions")
        return (*super().get_readonly_fields(request, obj), *computed)

    @admin.display(description=_("problem"), empty_value="-")
    def problem(self, row: TimeOff) -> str:
        """Why the request could not be made now."""
        return time_off.find_approval(row).problem

    @admin.display(description=_("waits for"), empty_value="-")
    def waits_for(self, row: TimeOff) -> str:
        """Who decides next, besides admins and programs."""
        found = time_off.find_approval(row).approvers
        return ", ".join(f"{one.person} ({one.role.label})" for one in found)

    @admin.display(description=_("decisions"), empty_value="-")
    def decisions(self, row: TimeOff) -> str:
        lines = [
            (
                one.get_decision_display(),
                one.get_role_display(),
                one.decider,
                date_format(timezone.localtime(one.created_at), "DATETIME_FORMAT"),
                one.comment,
            )
            for one in time_off.find_approval(row).decisions
        ]
        return format_html_join(mark_safe("<br>"), "{} ({}): {}, {} {}", lines)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and super().has_change_permission(request)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001, ARG002  Django's signature
        made = time_off.request(**form.cleaned_data)
        obj.pk, obj.organization_id = made.pk, made.organization_id
        for text in time_off.list_warnings(made):
            messages.warning(request, text)

    @admin.action(description=_("Approve the selected requests"), permissions=["change"])
    def approve(self, request: HttpRequest, queryset: QuerySet[TimeOff]) -> None:
        self._decide(request, queryset, time_off.approve)

    @admin.action(description=_("Reject the selected requests"), permissions=["change"])
    def decline(self, request: HttpRequest, queryset: QuerySet[TimeOff]) -> None:
        self._decide(request, queryset, time_off.decline)

    @admin.action(
        description=_("Cancel the selected requests, approved ones too"), permissions=["change"]
    )
    def cancel(self, request: HttpRequest, queryset: QuerySet[TimeOff]) -> None:
        self._decide(request, queryset, time_off.cancel)

    def _decide(
        self,
        request: HttpRequest,
        rows: QuerySet[TimeOff],
        decide: Callable[..., TimeOff | ApprovedRequest],
    ) -> None:
        done, user = 0, cast("User", request.user)
        decider = TimeOffDecider(user=user, comment=request.POST.get("comment", ""))
        for row in self.limit_rows(request, rows, "change"):
            try:
                decided = decide(row.organization_id, row.pk, decider=decider)
                done += 1
                for text in decided.warnings if isinstance(decided, ApprovedRequest) else ():
                    messages.warning(request, f"{row}: {text}")
            except (RefusedChange, access.RecordNotFound) as refused:
                messages.warning(request, f"{row}: {refused}")
        text = ngettext("%d request was changed.", "%d requests were changed.", done)
        self.message_user(request, text % done)


@admin.register(OrgUnit)
class OrgUnitAdmin(HrRecordAdmin):
    list_display = ("name", "type", "code", "parent", "archived_at")
    list_filter = ("type", "organization")
    list_select_related = ("parent",)
    search_fields = ("name", "code")
    fields = (
        *("organization", "type", "name", "code", "description", "parent"),
        *("active_from", "active_to", "archived_at"),
    )


@admin.register(WorkingPattern)
class WorkingPatternAdmin(HrRecordAdmin):
    list_display = ("label", "weekly", "organization")
    list_filter = ("organization",)
    list_select_related = ("organization",)
    search_fields = ("label",)

    @admin.display(description=_("minutes a week"))
    def weekly(self, row: WorkingPattern) -> int:
        return row.weekly_minutes

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The days of a pattern in use do not change: an employment record names another one."""
        fields = super().get_readonly_fields(request, obj)
        return (*fields, *WEEKDAYS) if obj and _is_in_use(obj) else fields

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_used = obj is not None and _is_in_use(obj)
        return not is_used and super().has_delete_permission(request, obj)


def _is_in_use(pattern: WorkingPattern) -> bool:
    employed = (Person.objects, EmploymentRecord.objects)
    return any(rows.filter(working_pattern=pattern).exists() for rows in employed)


@admin.register(ReferenceItem)
class ReferenceItemAdmin(HrRecordAdmin):
    list_display = ("label", "kind", "time_zone", "holiday_calendar", "position", "is_active")
    list_filter = ("kind", "is_active", "organization")
    list_select_related = ("holiday_calendar",)
    search_fields = ("label",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        super().save_model(request, obj, form, change)
        if change and "holiday_calendar" in form.changed_data:
            reason = _("the holiday calendar of %s was changed") % obj
            recount(self, request, obj.organization, reason, work_place=obj)


class TimeOffCategoryForm(ProblemsForm):
    """Shows the requests that wait when a category is switched off."""

    def list_broken(self) -> Sequence[RequestProblem]:
        category = self.instance
        if "is_active" not in self.changed_data or category.organization_id is None:
            return []
        given = {"is_active": self.cleaned_data["is_active"]}
        row = access.row(TimeOffCategory, *_key_of(category))
        rows = TimeOff.objects.filter(category=row, status=AbsenceStatus.PENDING)
        return request_checks.list_broken(rows, _today_of(row), lambda: changes.apply(row, given))


@admin.register(TimeOffCategory)
class TimeOffCategoryAdmin(HrRecordAdmin):
    form = TimeOffCategoryForm
    list_display = (
        *("name", "allowance_days", "consumes_balance", "carry_over_days", "is_named_to_ai"),
        "is_active",
    )
    fields = (
        *("organization", "name", *LEAVE_RULES, "consumes_balance", "is_sickness"),
        *("is_discretionary", "is_named_to_ai", "public_holidays", "position", "is_active"),
        "accepts_problems",
    )
    list_filter = ("consumes_balance", "is_active", "organization")
    search_fields = ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The rules of leave that was requested change by a leave policy, from a day on."""
        fields = super().get_readonly_fields(request, obj)
        return (*fields, *LEAVE_RULES) if obj and self._is_used(obj) else fields

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A category that requests name is switched off instead."""
        is_used = obj is not None and self._is_used(obj)
        return not is_used and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        super().save_model(request, obj, form, change)
        if change and "public_holidays" in form.changed_data:
            reason = _("the public holidays of the category %s count differently") % obj
            recount(self, request, obj.organization, reason, category=obj)

    def _is_used(self, category: TimeOffCategory) -> bool:
        return TimeOff.objects.filter(category=category).exists()


class LeavePolicyForm(CorrectionForm):
    """Refuses a second policy for the same people from the same day on."""

    holds_from = "valid_from"
    is_for_new_rows = True

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if not self.errors:
            names = ("category", "valid_from", *LEAVE_CONDITIONS)
            same = LeavePolicy.objects.filter(**{name: given[name] for name in names})
            if other := same.exclude(pk=self.instance.pk).first():
                message = _("The policy “%s” is for the same people from the same day on.")
                self.add_error("valid_from", message % other.name)
        return given


@admin.register(LeavePolicy)
class LeavePolicyAdmin(HrRecordAdmin, CorrectedAdmin):
    """A policy that holds already changes with a reason, and is not deleted: it ends."""

    form = LeavePolicyForm
    list_display = (
        *("name", "category", "allowance_days", "valid_from", "valid_to"),
        *LEAVE_CONDITIONS,
    )
    list_filter = ("category", "work_place", "work_type", "organization")
    list_select_related = ("category", "person", "department", "work_type", "work_place")
    search_fields = ("name", *OF_PERSON)
    autocomplete_fields = ("person",)
    fields = (
        *("organization", "name", "category", *LEAVE_RULES, "valid_from", "valid_to"),
        *LEAVE_CONDITIONS,
        *("overdraft", "approval_steps", "cancellation", "cancellation_days"),
        "reason",
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        holds = obj is not None and obj.valid_from <= timezone.localdate()
        return not holds and super().has_delete_permission(request, obj)


@admin.register(LengthChange)
class LengthChangeAdmin(ReadOnlyAdmin):
    """Requests that have another length since what they are counted by has changed."""

    organization_lookup = "organization"
    list_display = ("request", "days_before", "days_after", "reason", "user", "created_at")
    list_filter = ("created_at", "time_off__status", "organization")
    list_select_related = ("time_off__person", "time_off__category", "recount__user")
    search_fields = ("time_off__person__first_name", "time_off__person__last_name")
    fields = ("time_off", "days_before", "days_after", "reason", "user", "created_at")
    readonly_fields = ("reason", "user", "created_at")

    @admin.display(description=_("request"), ordering="time_off__start_date")
    def request(self, row: LengthChange) -> str:
        return f"{row.time_off}, {row.time_off.category}"

    @admin.display(description=_("reason"))
    def reason(self, row: LengthChange) -> str:
        return row.recount.reason

    @admin.display(description=_("by"))
    def user(self, row: LengthChange) -> str:
        return str(row.recount.user or "")


class LedgerEntryForm(CorrectionForm):
    """An entry of a leave year that has ended changes what is carried over, and needs a reason."""

    holds_from = "effective_date"
    is_for_new_rows = True

    def get_last_day(self, given: dict[str, Any]) -> date:
        person = given.get("person") or getattr(self.instance, "person", None)
        if person is None:
            return days.FIRST_DAY
        today = days.today(person.organization)
        year = leave_years.find_year(leave_years.find_settings(person.organization_id), today)
        return year.starts_on - ONE_DAY


@admin.register(LedgerEntry)
class LedgerEntryAdmin(HrRecordAdmin, CorrectedAdmin):
    """Days that are added to a balance, or taken away. What is carried over is calculated."""

    form = LedgerEntryForm
    list_display = (
        *("person", "category", "entry_type", "amount_days", "effective_date", "is_replaced"),
    )
    list_filter = ("entry_type", "effective_date", "organization")
    list_select_related = ("person", "category")
    search_fields = OF_PERSON
    autocomplete_fields = ("person",)
    fields = (
        *("organization", "person", "category", "entry_type", "amount_days", "effective_date"),
        *("note", "reason"),
    )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        """What is entered here is in place of what is calculated."""
        access.lock_people(obj.organization_id, [obj.person_id, form.initial.get("person")])
        obj.is_replaced = False
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: LedgerEntry) -> None:
        self.delete_queryset(request, LedgerEntry.objects.filter(pk=obj.pk))

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[LedgerEntry]) -> None:
        people: dict[UUID, list[str]] = {}
        for organization_id, person_id in queryset.values_list("organization", "person"):
            people.setdefault(organization_id, []).append(person_id)
        for organization_id, keys in people.items():
            access.lock_people(organization_id, keys)
        super().delete_queryset(request, queryset)


@admin.register(TimeOffSettings)
class TimeOffSettingsAdmin(HrRecordAdmin):
    list_display = ("organization", "reset_month", "reset_day", "country_code")
    list_filter = ("organization",)
    list_select_related = ("organization",)
    search_fields = ("organization__name",)


class HolidayCalendarForm(OneOrganizationForm):
    """Refuses a region of which no holidays are known."""

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        country, region = given.get("country_code", ""), given.get("region", "")
        try:
            regions = national_holidays.list_regions(country) if region else ()
        except UnknownRegion:
            regions = ()
        if region and not regions:
            message = _("Choose a country whose regions are known, or leave this empty.")
            self.add_error("region", message)
        elif region and region not in regions:
            self.add_error("region", _("Use one of: %s.") % ", ".join(regions))
        return given


class FilledYearsForm(forms.Form):
    """The years whose holidays are added to a calendar."""

    first_year = forms.IntegerField(
        label=_("From"), min_value=days.FIRST_DAY.year, max_value=national_holidays.LAST_YEAR
    )
    last_year = forms.IntegerField(
        label=_("To"), min_value=days.FIRST_DAY.year, max_value=national_holidays.LAST_YEAR
    )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if not self.errors and not 0 <= given["last_year"] - given["first_year"] < MAX_FILLED_YEARS:
            message = _("Enter the first year or a later one, at most %d years.")
            self.add_error("last_year", message % MAX_FILLED_YEARS)
        return given

    def years(self) -> range:
        return range(self.cleaned_data["first_year"], self.cleaned_data["last_year"] + 1)


@admin.register(HolidayCalendar)
class HolidayCalendarAdmin(HrRecordAdmin):
    """The first calendar of an organization is its default; an action makes another one that."""

    form = HolidayCalendarForm
    list_display = ("name", "country_code", "region", "is_default", "organization")
    list_filter = ("organization",)
    list_select_related = ("organization",)
    search_fields = ("name",)
    fields = ("organization", "name", "country_code", "region")
    actions = ("fill", "make_default")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The default is deleted once another calendar is."""
        is_default = obj is not None and obj.is_default
        return not is_default and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        if not change:
            obj.is_default = calendars.find_default(obj.organization_id) is None
        super().save_model(request, obj, form, change)

    def has_fill_permission(self, request: HttpRequest) -> bool:
        return bool(_fill_reach(request))

    @admin.action(
        description=_("Fill the selected calendar with the holidays of its country"),
        permissions=["fill"],
    )
    def fill(
        self, request: HttpRequest, queryset: QuerySet[HolidayCalendar]
    ) -> HttpResponse | None:
        """Shows the days that the calendar lacks; adds those that are selected there."""
        calendar = self._find_calendar(request, queryset)
        if calendar is None:
            return None
        if not _fill_reach(request).includes(calendar.organization_id):
            message = _("You may not add holidays to this calendar.")
            self.message_user(request, message, messages.ERROR)
            return None
        year = days.today(calendar.organization).year
        shown = {"first_year": year, "last_year": year + 1}
        form = FilledYearsForm(request.POST if "first_year" in request.POST else shown)
        years = form.years() if form.is_valid() else range(0)
        place = (calendar.country_code, calendar.region)
        try:
            missing = calendars.list_missing(calendar, years)
            gaps = national_holidays.list_gaps(*place, years)
        except UnknownRegion:
            message = _("No holidays are known for the country of this calendar.")
            self.message_user(request, message, messages.ERROR)
            return None
        if "add" in request.POST and form.is_valid():
            self._add_selected(request, calendar, missing)
            return None
        context = self.admin_site.each_context(request) | {
            "title": _("Fill this calendar"),
            "opts": self.opts,
            "row": calendar,
            "form": form,
            "missing": missing,
            "gaps": gaps,
        }
        return TemplateResponse(request, "admin/people/holidaycalendar/fill.html", context)

    def _add_selected(
        self, request: HttpRequest, calendar: HolidayCalendar, missing: Sequence[PublicHoliday]
    ) -> None:
        selected = set(request.POST.getlist("day"))
        rows = [one for one in missing if one.date.isoformat() in selected]
        with transaction.atomic():
            count = calendars.add_holidays(calendar, rows)
            text = ngettext("%d holiday was added.", "%d holidays were added.", count) % count
            self.log_change(request, calendar, text)
            self.message_user(request, text)
            if rows:
                reason = _("holidays were added to %s") % calendar
                dates = [one.date for one in rows]
                recount(self, request, calendar.organization, reason, dates=dates)

    @admin.action(description=_("Make the selected calendar the default"), permissions=["change"])
    def make_default(self, request: HttpRequest, queryset: QuerySet[HolidayCalendar]) -> None:
        calendar = self._find_calendar(request, queryset)
        if calendar is None:
            return
        with transaction.atomic():
            calendars.make_default(calendar)
            text = _("%s is the default now.") % calendar
            self.log_change(request, calendar, text)
            self.message_user(request, text)
            reason = _("%s became the default holiday calendar") % calendar
            recount(self, request, calendar.organization, reason)

    def _find_calendar(
        self, request: HttpRequest, queryset: QuerySet[HolidayCalendar]
    ) -> HolidayCalendar | None:
        """The calendar that an action is for; None, and a message, if it is not one."""
        rows = list(self.limit_rows(request, queryset, "change")[:2])
        if len(rows) == 1:
            return rows[0]
        self.message_user(request, _("Select one calendar."), messages.ERROR)
        return None


def _fill_reach(request: HttpRequest) -> admin_access.Reach:
    """Where a visitor may fill calendars."""
    permissions = ("people.change_holidaycalendar", "people.add_publicholiday")
    return admin_access.reach(request.user, *permissions)


@admin.register(PublicHoliday)
class PublicHolidayAdmin(HrRecordAdmin):
    list_display = ("date", "name", "calendar", "is_half_day", "organization")
    list_filter = ("calendar", "date", "organization")
    list_select_related = ("calendar", "organization")
    search_fields = ("name",)
    fields = ("organization", "calendar", "date", "name", "is_half_day", "description")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        rows = [obj, *PublicHoliday.objects.filter(pk=obj.pk)]
        super().save_model(request, obj, form, change)
        dates = [row.date for row in rows]
        recount(self, request, obj.organization, _("the holiday “%s” was saved") % obj, dates=dates)

    def delete_model(self, request: HttpRequest, obj: PublicHoliday) -> None:
        self.delete_queryset(request, PublicHoliday.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[PublicHoliday]) -> None:
        rows = list(queryset.select_related("organization"))
        by_organization: dict[Organization, list[PublicHoliday]] = {}
        for row in rows:
            by_organization.setdefault(row.organization, []).append(row)
        with transaction.atomic():
            super().delete_queryset(request, queryset)
            for organization, deleted in by_organization.items():
                names = ", ".join(f"“{row}”" for row in deleted)
                dates = [row.date for row in deleted]
                recount(self, request, organization, _("deleted holidays: %s") % names, dates=dates)


@admin.register(CustomField)
class CustomFieldAdmin(HrRecordAdmin):
    list_display = ("label", "key", "field_type", "sensitivity")
    list_filter = ("field_type", "sensitivity", "organization")
    search_fields = ("label", "key")
