"""Fields of the shapes: what is empty in a row is null in an answer."""

from typing import Any

from rest_framework import serializers


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


class Shape(serializers.Serializer):
    """A resource as it is answered; each has all of its fields."""


class Body(serializers.Serializer):
    """A body or a query that is sent; unknown members are errors."""

    def to_internal_value(self, data: Any) -> Any:
        given = set(data) if isinstance(data, dict) or hasattr(data, "keys") else set()
        if unknown := sorted(given - set(self.fields)):
            problems = {name[:80]: ["There is no such field."] for name in unknown[:20]}
            raise serializers.ValidationError(problems)
        return super().to_internal_value(data)


class Key(serializers.CharField):
    """The id of a record, as the API has answered it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 64} | options)


class YesNo(serializers.BooleanField):
    """true or false, and not the words that a form might send."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("Send true or false.")
        return data


class Day(serializers.DateField):
    """A date as YYYY-MM-DD."""

    def __init__(self, **options: Any) -> None:
        super().__init__(input_formats=["%Y-%m-%d"], **options)
