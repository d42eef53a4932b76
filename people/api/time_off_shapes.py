"""The resources of time off: requests, balances, ledger, categories, settings, holidays."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from people import balances, calendars, countries, models
from people.api.fields import Days, NullText, ResourceSerializer
from people.approvers import Approver
from people.ledger import LineKind
from people.models import CategoryKind

# The values of the filter: labels of the API, the codes of requests, and what is ahead of somebody.
STATUSES = {
    "approved": ["approved"],
    "declined": ["rejected"],
    "pending_approval": ["pending"],
    "pending": ["pending"],
    "rejected": ["rejected"],
    "cancelled": ["cancelled"],
    "pending_or_approved": ["pending", "approved"],
}


class TimeOffSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    person_id = serializers.CharField()
    category_id = serializers.CharField()
    type = serializers.CharField(source="category.name", help_text="The name of the category.")
    start_date = serializers.DateField()
    end_date = serializers.DateField()
    length = Days(source="amount_days", help_text="Working days.")
    duration_unit = serializers.SerializerMethodField()
    duration_minutes = serializers.IntegerField(source="amount_minutes")
    balance_unit = serializers.SerializerMethodField()
    balance_amount = serializers.SerializerMethodField()
    public_holiday_treatment = serializers.CharField(source="category.public_holidays")
    is_from_half_day = serializers.BooleanField()
    is_to_half_day = serializers.BooleanField()
    status_code = serializers.CharField(source="status")
    status = serializers.CharField(source="get_status_display")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_duration_unit(self, _row: models.TimeOff) -> str:
        return "days"

    def get_balance_unit(self, _row: models.TimeOff) -> str:
        return "days"

    def get_balance_amount(self, row: models.TimeOff) -> float:
        """What is taken from the allowance."""
        return float(row.amount_days) if row.category.consumes_balance else 0.0


class ListedTimeOffSerializer(TimeOffSerializer):
    """With whose it is in words, for keys that may read people. Needs `has_names` as context."""

    person_name = serializers.SerializerMethodField()
    department = serializers.SerializerMethodField()
    work_place = serializers.SerializerMethodField()

    @extend_schema_field({"type": "string", "nullable": True})
    def get_person_name(self, row: models.TimeOff) -> str | None:
        """null if the key does not have people:read."""
        return row.person.display_name if self.context["has_names"] else None

    @extend_schema_field({"type": "string", "nullable": True})
    def get_department(self, row: models.TimeOff) -> str | None:
        return _label_of(row.person.department) if self.context["has_names"] else None

    @extend_schema_field({"type": "string", "nullable": True})
    def get_work_place(self, row: models.TimeOff) -> str | None:
        return _label_of(row.person.work_place) if self.context["has_names"] else None


class ApproverSerializer(ResourceSerializer):
    """Somebody who may decide now. Needs `has_names` as context."""

    person_id = serializers.CharField(source="person.pk")
    person_name = serializers.SerializerMethodField()
    role = serializers.ChoiceField(models.DeciderRole.choices)
    deputy_of_id = NullText(source="deputy_of.pk", help_text="Whose deputy it is.")

    @extend_schema_field({"type": "string", "nullable": True})
    def get_person_name(self, row: Approver) -> str | None:
        """null if the key does not have people:read."""
        return row.person.display_name if self.context["has_names"] else None


class DecisionSerializer(ResourceSerializer):
    """Who decided, when, and with which comment. Needs `has_names` as context."""

    decision = serializers.ChoiceField(models.AbsenceStatus.choices)
    step = serializers.IntegerField(allow_null=True)
    decided_at = serializers.DateTimeField(source="created_at")
    role = serializers.ChoiceField(models.DeciderRole.choices)
    person_id = serializers.CharField(allow_null=True)
    person_name = serializers.SerializerMethodField()
    account = serializers.SerializerMethodField()
    program = NullText(help_text="The name of the API key.")
    comment = NullText()

    @extend_schema_field({"type": "string", "nullable": True})
    def get_person_name(self, row: models.TimeOffDecision) -> str | None:
        """null if the key does not have people:read."""
        if row.person is None or not self.context["has_names"]:
            return None
        return row.person.display_name

    @extend_schema_field({"type": "string", "nullable": True})
    def get_account(self, row: models.TimeOffDecision) -> str | None:
        """The name of the account; null if the key does not have people:read."""
        return str(row.user) if self.context["has_names"] and row.user else None


class ApprovalSerializer(ResourceSerializer):
    """Who decides about a request and who has decided. Needs `has_names` as context."""

    time_off_id = serializers.CharField(source="row.pk")
    status_code = serializers.CharField(source="row.status")
    steps = serializers.IntegerField(help_text="Approvals that it needs.")
    approved_steps = serializers.IntegerField(source="row.approved_steps")
    approvers = ApproverSerializer(
        many=True, help_text="Who decides next, of a pending request. Admins and keys always may."
    )
    decisions = DecisionSerializer(many=True, help_text="The first one first.")
    problem = NullText(help_text="Why it could not be requested now, such as its last day.")
    cancellable_until = serializers.DateField(
        allow_null=True,
        help_text="Until when it may be cancelled once it is approved; null: by admins only.",
    )


class OutSerializer(ListedTimeOffSerializer):
    """An absence of somebody who is out. The person has their `current_teams`."""

    teams = serializers.SerializerMethodField()

    @extend_schema_field({"type": "array", "items": {"type": "string"}})
    def get_teams(self, row: models.TimeOff) -> list[str]:
        """Names of the teams that the person is in today."""
        return [one.unit.name for one in getattr(row.person, "current_teams", ())]


class OutTotalsSerializer(ResourceSerializer):
    """How many people and absences there are on all pages."""

    people = serializers.IntegerField()
    absences = serializers.IntegerField()


class LeaveUseSerializer(ResourceSerializer):
    """A person's days of one category in a leave year."""

    person_id = serializers.CharField(source="person.pk")
    person_name = serializers.SerializerMethodField()
    allowance = Days(source="balance.allowance")
    adjustment = Days(
        source="balance.adjustment", help_text="Sum of the ledger: carried over, corrected."
    )
    taken = Days(help_text="Approved, up to the day.")
    booked = Days(source="booked_days", help_text="Approved, after the day.")
    pending = Days(source="balance.pending")
    remaining = Days(
        source="balance.remaining",
        help_text="Allowance and adjustment less taken, booked and pending days.",
    )

    @extend_schema_field({"type": "string", "nullable": True})
    def get_person_name(self, row: balances.LeaveUse) -> str | None:
        """null if the key does not have people:read."""
        return row.person.display_name if self.context["has_names"] else None


class LeaveYearSerializer(ResourceSerializer):
    starts_on = serializers.DateField()
    ends_on = serializers.DateField()
    resets_on = serializers.DateField()


class LeaveUseBasisSerializer(ResourceSerializer):
    """What the days of a list of balances are days of."""

    day = serializers.DateField()
    leave_year = LeaveYearSerializer()
    category_id = serializers.CharField()
    base_allowance = Days(help_text="Of a full year and a full-time week.")


def _label_of(row: Any) -> str | None:
    """The name of a unit or of a reference entry; None without one."""
    return None if row is None else str(row)


class LeftSerializer(ResourceSerializer):
    """What is left of an allowance in a leave year, with a request and without it."""

    leave_year = LeaveYearSerializer(source="year")
    remaining = Days(source="balance.remaining")
    remaining_without = Days(source="balance_without.remaining")


class TimeOffDryRunSerializer(ResourceSerializer):
    """What a request would be. Needs `left` as context, which is None if the key may not read it.

    It is that of the category, in the leave years of the days, and in the present one for days of a
    closed year.
    """

    length = Days(source="amount_days", help_text="Working days.")
    duration_minutes = serializers.IntegerField(source="amount_minutes")
    status_code = serializers.ChoiceField(models.AbsenceStatus.choices, source="status")
    left = serializers.SerializerMethodField()

    @extend_schema_field(LeftSerializer(many=True, allow_null=True))
    def get_left(self, _row: models.TimeOff) -> Any:
        """Pending requests are subtracted. null if the key does not have time_off:read."""
        left = self.context["left"]
        return None if left is None else LeftSerializer(left, many=True).data


class CategorySerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    name = serializers.CharField()
    kind = serializers.ChoiceField(CategoryKind.choices)
    name_for_ai = serializers.CharField(
        help_text="What AI clients are answered as the name; Absence unless the organization "
        "allows more."
    )
    allowance_days = serializers.SerializerMethodField()
    is_discretionary = serializers.BooleanField()
    carry_over = Days(source="carry_over_days")
    carried_until = serializers.SerializerMethodField()
    carries_debt = serializers.BooleanField(
        help_text="Whether what was taken too much is subtracted from the next leave year."
    )
    is_active = serializers.BooleanField()
    order = serializers.IntegerField(source="position")
    updated_at = serializers.DateTimeField()

    @extend_schema_field({"type": "string", "nullable": True})
    def get_carried_until(self, row: models.TimeOffCategory) -> str | None:
        """The month and day until which carried days are taken, such as 03-31; null: all year."""
        month, day = row.carried_until_month, row.carried_until_day
        return f"{month:02}-{day:02}" if month and day else None

    def get_allowance_days(self, row: models.TimeOffCategory) -> float:
        """A year, today, for people of whom no leave policy says anything else."""
        return float(self.context["days_a_year"][row.pk])


class CalendarSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    name = serializers.CharField()
    is_default = serializers.BooleanField(
        help_text="For people whose work place has no calendar, and who have none themselves."
    )


class HolidaySerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    name = serializers.CharField()
    date = serializers.DateField()
    type = serializers.SerializerMethodField()
    is_half_day = serializers.BooleanField()
    description = NullText()
    calendar = CalendarSerializer(allow_null=True)

    def get_type(self, _row: Any) -> str:
        return "public"


class SettingsSerializer(ResourceSerializer):
    reset_month = serializers.SerializerMethodField(help_text="From 0 for January.")
    reset_day = serializers.IntegerField()
    show_national_holidays = serializers.BooleanField()
    use_individual_country_holidays = serializers.SerializerMethodField()
    country_id = serializers.SerializerMethodField()
    updated_at = serializers.DateTimeField()

    def get_reset_month(self, row: Any) -> int:
        return int(row.reset_month) - 1

    def get_use_individual_country_holidays(self, row: Any) -> bool:
        """Whether there are calendars besides the default."""
        return calendars.has_several(row.organization_id)

    @extend_schema_field({"type": "string", "nullable": True})
    def get_country_id(self, row: Any) -> str | None:
        return countries.id_of(row.country_code) if row.country_code else None


class LedgerSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    person_id = serializers.CharField()
    category_id = serializers.CharField()
    entry_type = serializers.ChoiceField(models.EntryType.choices)
    unit = serializers.SerializerMethodField()
    amount = Days(source="amount_days")
    effective_date = serializers.DateField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_unit(self, _row: Any) -> str:
        return "days"


class LedgerSumsSerializer(ResourceSerializer):
    allowance_grants = Days(source="allowance_grant")
    carry_over = Days()
    manual_adjustments = Days(source="manual_adjustment")
    corrections = Days(source="correction")
    expired = Days()
    net = serializers.SerializerMethodField()

    def get_net(self, sums: Any) -> float:
        return float(sum(sums.values()))


class CategoryBalanceSerializer(ResourceSerializer):
    category_id = serializers.CharField(source="category.pk")
    name = serializers.CharField(source="category.name")
    kind = serializers.ChoiceField(CategoryKind.choices, source="category.kind")
    name_for_ai = serializers.CharField(source="category.name_for_ai")
    unit = serializers.SerializerMethodField()
    base_allowance = Days()
    allowance = Days()
    ledger = LedgerSumsSerializer()
    approved = Days(source="approved_days")
    pending = Days()
    remaining = Days(help_text="Approved and pending requests are subtracted.")
    remaining_before_pending = Days(help_text="Only approved requests are subtracted.")
    consumes_balance = serializers.BooleanField(source="category.consumes_balance")

    def get_unit(self, _row: Any) -> str:
        return "days"


class LedgerLineSerializer(ResourceSerializer):
    """Days that are added to a balance, or taken away if negative, and why."""

    kind = serializers.ChoiceField(LineKind.choices)
    first_day = serializers.DateField()
    last_day = serializers.DateField()
    days = Days()
    text = serializers.CharField(help_text="How the days were counted.")
    policy = NullText(source="policy.name", help_text="The leave policy that grants them.")
    time_off_id = NullText(source="request.pk")
    entry_id = NullText(source="entry.pk", help_text="Of the entry in leave-balance-ledger.")


class ExplainedCategorySerializer(ResourceSerializer):
    category_id = serializers.CharField(source="category.pk")
    name = serializers.CharField(source="category.name")
    name_for_ai = serializers.CharField(source="category.name_for_ai")
    lines = LedgerLineSerializer(many=True)
    remaining = Days(help_text="The sum of the lines.")


class ExplainedBalanceSerializer(ResourceSerializer):
    """Why a person's balances in one leave year are what they are, line by line."""

    person_id = serializers.CharField(source="person.pk")
    leave_year = LeaveYearSerializer(source="year")
    categories = ExplainedCategorySerializer(many=True)


class BalanceTotalsSerializer(ResourceSerializer):
    """The sums of all categories. Days of one allowance cannot be taken from another."""

    unit = serializers.SerializerMethodField()
    base_allowance = serializers.SerializerMethodField()
    allowance = serializers.SerializerMethodField()
    ledger_adjustment = serializers.SerializerMethodField()
    approved = serializers.SerializerMethodField()
    pending = serializers.SerializerMethodField()
    remaining = serializers.SerializerMethodField()

    def get_unit(self, _row: balances.Balance) -> str:
        return "days"

    def get_base_allowance(self, row: balances.Balance) -> float:
        return float(row.total("base_allowance"))

    def get_allowance(self, row: balances.Balance) -> float:
        return float(row.total("allowance"))

    def get_ledger_adjustment(self, row: balances.Balance) -> float:
        return float(row.total("adjustment"))

    def get_approved(self, row: balances.Balance) -> float:
        return float(row.total("approved_days"))

    def get_pending(self, row: balances.Balance) -> float:
        return float(row.total("pending"))

    def get_remaining(self, row: balances.Balance) -> float:
        return float(row.total("remaining"))


class BalanceSerializer(ResourceSerializer):
    """What is left of a person's allowances in one leave year."""

    person_id = serializers.CharField(source="person.pk")
    leave_year = LeaveYearSerializer(source="year")
    totals = BalanceTotalsSerializer(source="*")
    categories = CategoryBalanceSerializer(many=True)
    sick_days_taken = Days(source="sick_days")
    other_leave_taken = Days(source="other_days", help_text="Without an allowance.")
    calculated_at = serializers.SerializerMethodField()

    def get_calculated_at(self, _row: balances.Balance) -> datetime:
        return timezone.now()
