"""Fields of the shapes: what is empty in a row is null in an answer."""

from datetime import date, datetime
from typing import Any

from rest_framework import serializers

from foundation.calendar_days import missing_day_message
from people import days


class NullText(serializers.CharField):
    """Text, or null if the row has none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_null": True, "read_only": True} | options)

    def to_representation(self, value: Any) -> Any:
        return value or None


class Days(serializers.FloatField):
    """A number of days; halves are exact."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"read_only": True} | options)


class ResourceSerializer(serializers.Serializer):
    """A resource as it is answered; each has all of its fields."""


class RecordKey(serializers.CharField):
    """The id of a record, as the API has answered it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 64} | options)


class YesNo(serializers.BooleanField):
    """true or false, and not the words that a form might send."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("Send true or false.")
        return data


class Choice(serializers.ChoiceField):
    """One of some values; another one is refused with the list of them."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str) and data in self.choices:
            return data
        values = ", ".join(map(str, self.choices))
        raise serializers.ValidationError(f'"{str(data)[:80]}" is not a valid choice: {values}.')


class Day(serializers.DateField):
    """A date as YYYY-MM-DD, within the bounds of HR records."""

    def __init__(self, **options: Any) -> None:
        super().__init__(input_formats=["%Y-%m-%d"], **options)

    def to_internal_value(self, value: Any) -> Any:
        if message := missing_day_message(value):
            raise serializers.ValidationError(message)
        day: date = super().to_internal_value(value)
        if message := days.bounds_message(day):
            raise serializers.ValidationError(message)
        return day


class TimeOfChange(serializers.DateTimeField):
    """A time in ISO 8601, on a day within the bounds of HR records."""

    def to_internal_value(self, value: Any) -> Any:
        time: datetime = super().to_internal_value(value)
        if message := days.bounds_message(time.date()):
            raise serializers.ValidationError(message)
        return time
