"""The query parameters of lists."""

from typing import Any, Final

from django.utils import timezone
from rest_framework import serializers

from people import days, search_words
from people.api.fields import Choice, Day, RecordKey, TimeOfChange
from people.api.time_off_shapes import STATUSES
from people.employment import EmploymentState
from rest.paging import DEFAULT_LIMIT, MAX_CURSOR, MAX_LIMIT
from rest.serializers import StrictSerializer

MAX_OUT_DAYS = 92
EVERYBODY: Final = "all"


class SearchField(serializers.CharField):
    """Words to look for: two characters or more, or one of a script without spaces."""

    def to_internal_value(self, data: Any) -> str:
        text: str = super().to_internal_value(data)
        if len(text) == 1 and not search_words.is_sign(text):
            raise serializers.ValidationError("Ensure this field has at least 2 characters.")
        return text


class PageQuery(StrictSerializer):
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text=f"Resources in a page; {DEFAULT_LIMIT} if it is left out.",
    )
    cursor = serializers.CharField(
        required=False, max_length=MAX_CURSOR, help_text="next_cursor of the page before."
    )


class ChangesQuery(PageQuery):
    updated_since = TimeOfChange(
        required=False, default_timezone=timezone.get_default_timezone(), help_text="ISO 8601."
    )
    sort = Choice(["updated_at_desc"], required=False, help_text="The last changed first.")


class OwnersQuery(StrictSerializer):
    """Which people are meant: all of these conditions together."""

    department = serializers.CharField(
        required=False, max_length=100, help_text="Name or id of their department."
    )
    team = serializers.CharField(
        required=False, max_length=100, help_text="Name or id of a team that they are in."
    )
    work_place = serializers.CharField(
        required=False, max_length=100, help_text="Name or id of their work place."
    )
    manager_id = RecordKey(required=False, help_text="Id of their manager.")
    reports = Choice(
        ["direct", "all"],
        required=False,
        help_text="With manager_id: direct reports, or all below. Direct if it is left out.",
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if "reports" in given and "manager_id" not in given:
            raise serializers.ValidationError({"reports": ["Send manager_id with it."]})
        return given


# The parameters that name people in lists of other records.
OWNER_FILTERS: Final = ("department", "team", "work_place", "manager_id", "reports")


class PeopleFilterQuery(OwnersQuery):
    """Which people are meant, by what only lists of people are filtered by."""

    search = SearchField(
        required=False,
        min_length=1,
        max_length=120,
        help_text=(
            "Words, each of which begins a word of the name, work email, job title or department. "
            "At least 2 characters, or one Chinese, Japanese or Korean character."
        ),
    )
    department_id = RecordKey(required=False)
    status = serializers.CharField(
        required=False, max_length=100, help_text="Name or id of their status."
    )
    employment = Choice(
        [*EmploymentState.values, EVERYBODY],
        required=False,
        help_text="Whether they are employed on the day of employed_on. All if both are left out.",
    )
    employed_on = Day(required=False, help_text="Employed on this day. Today if it is left out.")
    joined_from = Day(required=False, help_text="Their first day is this day or later.")
    joined_to = Day(required=False, help_text="Their first day is this day or earlier.")
    left_from = Day(required=False, help_text="Their last day is this day or later.")
    left_to = Day(required=False, help_text="Their last day is this day or earlier.")

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        for first, last in (("joined_from", "joined_to"), ("left_from", "left_to")):
            if first in given and last in given and given[last] < given[first]:
                raise serializers.ValidationError({last: [f"Send a day from `{first}` on."]})
        return super().validate(given)


class PeopleQuery(ChangesQuery, PeopleFilterQuery):
    pass


class PeopleCountQuery(PeopleFilterQuery):
    group_by = Choice(
        ["department", "work_place", "work_type", "status"],
        required=False,
        help_text="Counts for each of these too.",
    )


class ReportsQuery(PageQuery):
    levels = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=50,
        help_text="1 for direct reports only. All levels if it is left out.",
    )


class BalancesQuery(PageQuery, OwnersQuery):
    person_id = RecordKey(required=False)
    category_id = RecordKey(
        required=False, help_text="The first category with an allowance if it is left out."
    )
    on = Day(
        required=False,
        help_text="What is taken is counted up to this day. Today if it is left out.",
    )
    taken_below = serializers.DecimalField(
        max_digits=4,
        decimal_places=1,
        coerce_to_string=False,
        required=False,
        min_value=0,
        help_text="Only people who have taken fewer days up to the day.",
    )


class TimeOffQuery(ChangesQuery, OwnersQuery):
    sort = Choice(
        ["updated_at_desc", "start_date"],
        required=False,
        help_text="The last changed first, or the earliest first; the latest first without it.",
    )
    person_id = RecordKey(required=False)
    waits_for_id = RecordKey(
        required=False, help_text="Only pending requests that this person may decide about next."
    )
    status = Choice(list(STATUSES), required=False)
    type = serializers.CharField(required=False, max_length=64, help_text="Name of the category.")

    def get_fields(self) -> dict[str, Any]:
        # `from` is no name in Python.
        fields: dict[str, Any] = super().get_fields()
        return fields | {
            "from": Day(required=False, help_text="Absences that end on this day or later."),
            "to": Day(required=False, help_text="Absences that begin on this day or earlier."),
        }

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if "from" in given and "to" in given and given["to"] < given["from"]:
            raise serializers.ValidationError({"to": ["Send a day from `from` on."]})
        return super().validate(given)


class WhoIsOutQuery(PageQuery, OwnersQuery):
    person_id = RecordKey(required=False)

    def get_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().get_fields()
        return fields | {"from": Day(help_text="First day."), "to": Day(help_text="Last day.")}

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if not 0 <= (given["to"] - given["from"]).days < MAX_OUT_DAYS:
            text = f"Send a day from `from` on, {MAX_OUT_DAYS} days at most."
            raise serializers.ValidationError({"to": [text]})
        return super().validate(given)


class HolidaysQuery(StrictSerializer):
    year = serializers.IntegerField(
        required=False,
        min_value=days.FIRST_DAY.year,
        max_value=days.LAST_DAY.year,
        help_text="This year if it is left out.",
    )
    calendar_id = RecordKey(required=False)
    work_place_id = RecordKey(
        required=False, help_text="The holidays of the people who work there."
    )


class DayQuery(StrictSerializer):
    on = Day(required=False, help_text="A day of the leave year; today if it is left out.")


class UnitsQuery(PageQuery):
    type = serializers.CharField(required=False, max_length=20)


class DocumentsQuery(ChangesQuery):
    person_id = RecordKey(required=False)
