"""Objects of request bodies and queries: unknown members are errors, and all errors are named."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from customers.identification import field_values
from customers.identification.field_values import InvalidField, InvalidValue

# Unknown members that are named.
MAX_UNKNOWN: Final = 20


class TypedField(serializers.Field):
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


@extend_schema_field({"type": "object", "additionalProperties": True})
class LateCheckedField(TypedField):
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
            if isinstance(field, LateCheckedField) and isinstance(value, dict):
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


def validate(shape: type[serializers.Serializer], given: Any) -> Mapping[str, Any]:
    """Returns the values of an object. Raises ValidationError."""
    serializer = shape(data=given)
    serializer.is_valid(raise_exception=True)
    values: Mapping[str, Any] = serializer.validated_data
    return values
