"""Fields of request bodies that accept exactly the JSON type that the contract names."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from customers.identification import field_values
from customers.identification.field_values import InvalidField, InvalidValue

MAX_ID: Final = 200
# Unknown members that are named.
MAX_UNKNOWN: Final = 20


class Text(serializers.CharField):
    """A string, kept as it is sent."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False} | options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("Send a string.")
        text: str = super().to_internal_value(data)
        return text


class Typed(serializers.Field):
    """A value that a function of `customers.identification.field_values` reads."""

    def read(self, value: Any) -> Any:
        raise NotImplementedError

    def to_internal_value(self, data: Any) -> Any:
        try:
            return self.read(data)
        except InvalidValue as refused:
            raise serializers.ValidationError(str(refused)) from None

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"type": "string", "format": "date-time"})
class Time(Typed):
    def read(self, value: Any) -> Any:
        return field_values.time(value)


@extend_schema_field({"type": "string", "format": "email", "maxLength": field_values.MAX_EMAIL})
class Email(Typed):
    def read(self, value: Any) -> Any:
        return field_values.email(value)


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 100})
class Percentage(Typed):
    def read(self, value: Any) -> Any:
        if field_values.whole(value) > 100:  # noqa: PLR2004  per cent
            raise InvalidValue("Send a whole number from 0 to 100.")
        return int(value)


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": field_values.MAX_WHOLE})
class Whole(Typed):
    def read(self, value: Any) -> Any:
        return field_values.whole(value)


@extend_schema_field({"type": "integer", "minimum": 1, "maximum": field_values.MAX_WHOLE})
class Position(Typed):
    def read(self, value: Any) -> Any:
        if field_values.whole(value) == 0:
            raise InvalidValue("Messages are numbered from 1.")
        return int(value)


@extend_schema_field({"type": "number", "minimum": -1, "maximum": 1})
class Sentiment(Typed):
    def read(self, value: Any) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not -1 <= value <= 1:
            raise InvalidValue("Send a number from -1 to 1.")
        return float(value)


@extend_schema_field({"type": "boolean"})
class Flag(Typed):
    def read(self, value: Any) -> Any:
        return field_values.flag(value)


@extend_schema_field({"type": "object", "additionalProperties": True})
class Fields(Typed):
    """An object of the caller's own names and values, of at most `max_bytes` as JSON."""

    def __init__(self, max_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_bytes = max_bytes

    def read(self, value: Any) -> Any:
        return field_values.json_object(self.max_bytes)(value)


@extend_schema_field({"type": "object", "additionalProperties": True})
class CheckedLater(Typed):
    """An object whose members `check` reads one by one once the body is known to be right.

    `check` raises InvalidField. A body with other errors has these named with them.
    """

    def __init__(self, check: Callable[[Mapping[str, Any]], object], **options: Any) -> None:
        super().__init__(**options)
        self.check = check

    def read(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise InvalidValue("Send an object.")
        return value


class StrictSerializer(serializers.Serializer):
    """An object with these members and no other; each wrong member is an error."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(data.keys() - self.fields.keys()) if isinstance(data, Mapping) else []
        problems: dict[str, Any] = {
            field_values.escape_name(name): ["There is no such field."]
            for name in unknown[:MAX_UNKNOWN]
        }
        try:
            typed = super().to_internal_value(self._drop_nulls(data))
        except serializers.ValidationError as error:
            problems |= error.detail
        if problems:
            if self.parent is None:
                _add_missing(problems, self.errors_of_members(data))
            raise serializers.ValidationError(problems)
        return typed

    def errors_of_members(self, data: Any) -> dict[Any, Any]:
        """Returns what is wrong with members that are checked later, by their place."""
        found: dict[Any, Any] = {}
        for name, field in self.fields.items() if isinstance(data, Mapping) else ():
            value = data.get(name)
            if isinstance(field, CheckedLater) and isinstance(value, dict):
                found |= _errors_of(field.check, value)
            child = getattr(field, "child", None)
            if isinstance(child, StrictSerializer) and isinstance(value, list):
                each = enumerate(value[: field.max_length])
                wrong = {place: child.errors_of_members(one) for place, one in each}
                found[name] = {place: errors for place, errors in wrong.items() if errors}
        return {name: errors for name, errors in found.items() if errors}

    def _drop_nulls(self, data: Any) -> Any:
        """Null for an optional member that does not take null is the member left out."""
        if not isinstance(data, Mapping):
            return data
        return {
            name: value
            for name, value in data.items()
            if value is not None or self._can_be_null(name)
        }

    def _can_be_null(self, name: str) -> bool:
        field = self.fields.get(name)
        return field is None or field.required or field.allow_null


def _errors_of(
    check: Callable[[Mapping[str, Any]], object], value: Mapping[str, Any]
) -> dict[str, list[str]]:
    try:
        check(value)
    except InvalidField as error:
        return {one.field: [one.reason] for one in error.each}
    return {}


def _add_missing(errors: dict[Any, Any], more: Mapping[Any, Any]) -> None:
    """Adds those errors to others whose place has none, at every level."""
    for place, error in more.items():
        if place not in errors:
            errors[place] = error
        elif isinstance(errors[place], dict):
            _add_missing(errors[place], error)


def identifier(**options: Any) -> Text:
    """Returns a field for an id in the caller's own system."""
    return Text(**{"max_length": MAX_ID} | options)
