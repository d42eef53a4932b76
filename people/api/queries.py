"""The query parameters of lists."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from people import days
from people.api.fields import Choice, Day, RecordKey, TimeOfChange
from people.api.time_off_shapes import STATUSES
from rest.paging import DEFAULT_LIMIT, MAX_CURSOR, MAX_LIMIT
from rest.serializers import StrictSerializer

MAX_OUT_DAYS = 92


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


class PeopleQuery(ChangesQuery):
    search = serializers.CharField(
        required=False, min_length=2, max_length=120, help_text="A part of a name or work email."
    )
    department_id = RecordKey(required=False)
    manager_id = RecordKey(required=False)


class TimeOffQuery(ChangesQuery):
    sort = Choice(
        ["updated_at_desc", "start_date"],
        required=False,
        help_text="The last changed first, or the earliest first; the latest first without it.",
    )
    person_id = RecordKey(required=False)
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
        return given


class WhoIsOutQuery(PageQuery):
    def get_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().get_fields()
        return fields | {"from": Day(help_text="First day."), "to": Day(help_text="Last day.")}

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if not 0 <= (given["to"] - given["from"]).days < MAX_OUT_DAYS:
            text = f"Send a day from `from` on, {MAX_OUT_DAYS} days at most."
            raise serializers.ValidationError({"to": [text]})
        return given


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
