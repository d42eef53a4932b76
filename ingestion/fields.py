"""Fields of request bodies that accept exactly the JSON type that the contract names."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from customers.identification import external_ids, field_values
from customers.identification.external_ids import MAX_ID
from customers.identification.field_values import InvalidValue
from rest.serializers import TypedField


class Text(serializers.CharField):
    """A string, kept as it is sent."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False} | options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("Send a string.")
        text: str = super().to_internal_value(data)
        return text


@extend_schema_field({"type": "string", "format": "date-time"})
class Time(TypedField):
    def read(self, value: Any) -> Any:
        return field_values.time(value)


@extend_schema_field({"type": "string", "format": "email", "maxLength": field_values.MAX_EMAIL})
class Email(TypedField):
    def read(self, value: Any) -> Any:
        return field_values.email(value)


@extend_schema_field({"type": "string", "maxLength": field_values.MAX_EMAIL})
class Assignee(TypedField):
    """An email address, or an empty text for nobody."""

    def read(self, value: Any) -> Any:
        return value if value == "" else field_values.email(value)


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 100})
class Percentage(TypedField):
    def read(self, value: Any) -> Any:
        if field_values.whole(value) > 100:  # noqa: PLR2004  per cent
            raise InvalidValue("Send a whole number from 0 to 100.")
        return int(value)


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": field_values.MAX_WHOLE})
class Whole(TypedField):
    def read(self, value: Any) -> Any:
        return field_values.whole(value)


@extend_schema_field({"type": "integer", "minimum": 1, "maximum": field_values.MAX_WHOLE})
class Position(TypedField):
    def read(self, value: Any) -> Any:
        if field_values.whole(value) == 0:
            raise InvalidValue("Messages are numbered from 1.")
        return int(value)


@extend_schema_field({"type": "number", "minimum": -1, "maximum": 1})
class Sentiment(TypedField):
    def read(self, value: Any) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not -1 <= value <= 1:
            raise InvalidValue("Send a number from -1 to 1.")
        return float(value)


@extend_schema_field({"type": "boolean"})
class Flag(TypedField):
    def read(self, value: Any) -> Any:
        return field_values.flag(value)


@extend_schema_field({"type": "object", "additionalProperties": True})
class Fields(TypedField):
    """An object of the caller's own names and values, of at most `max_bytes` as JSON."""

    def __init__(self, max_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_bytes = max_bytes

    def read(self, value: Any) -> Any:
        return field_values.json_object(self.max_bytes)(value)


class Identifier(Text):
    """An id in the caller's own system, without the spaces around it."""

    def to_internal_value(self, data: Any) -> str:
        sent = super().to_internal_value(data)
        try:
            return external_ids.parse_id(sent) if sent else sent
        except InvalidValue as refused:
            raise serializers.ValidationError(str(refused)) from None


def identifier(**options: Any) -> Identifier:
    """Returns a field for an id in the caller's own system."""
    return Identifier(**{"max_length": MAX_ID} | options)
