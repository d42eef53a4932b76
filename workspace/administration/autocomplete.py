"""Autocomplete fields that show a form again whatever was sent for them."""

from collections.abc import Iterable
from typing import Any

from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import ValidationError

from foundation.db.storable import has_unstorable_text


class CheckedAutocompleteSelect(AutocompleteSelect):
    """Shows no choice for a value that no row can have; the field has the error for it.

    Django looks the value up as it was sent, and raises for a text that is no UUID.
    """

    def optgroups(self, name: str, value: Iterable[Any], attr: Any = None) -> Any:
        return super().optgroups(name, [one for one in value if self._is_possible(one)], attr)

    def _is_possible(self, value: Any) -> bool:
        if has_unstorable_text(value):
            return False
        try:
            self.field.target_field.run_validators(self.field.target_field.to_python(value))
        except (ValidationError, ValueError, OverflowError):
            return False
        return True
