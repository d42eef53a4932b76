"""Forms that carry what they showed, and are refused once that has changed.

Every form posts all of its fields. Saved from a page that was opened before somebody else's change,
it would undo that change, also where the person has not touched the field. So a form has the shown
values in a hidden field, and they are compared with those of now, under a lock, before anything is
saved. The hidden field protects people from their own old pages, and is not signed: whoever sends
other values could as well open the page again.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from foundation.db.storable import escape_unstorable

FIELD: Final = "shown_values"
MAX_SHOWN: Final = 2_000
NO_VALUE: Final = "-"
MAX_KEY: Final = 64
MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A value that has changed since a form showed it, as text for people."""

    label: str
    shown: str
    now: str
    entered: str


class StaleForm(Exception):
    """Nothing was saved: what the form showed has changed since `shown_at`.

    Without changes, the form does not say what it showed.
    """

    def __init__(self, changes: Iterable[ChangedValue], shown_at: datetime | None) -> None:
        super().__init__("The form was changed meanwhile.")
        self.changes = tuple(changes)
        self.shown_at = shown_at


@dataclass(frozen=True, slots=True)
class FormValue:
    """One value of a form as its page shows it: as JSON, and how it is written for people.

    The value of a digest says nothing to people: they read `text`, and in the history what changed.
    """

    label: str
    value: Any
    form: forms.BaseForm | None = None
    name: str = ""
    sent: str = ""
    text: str = ""

    def format_value(self, value: Any) -> str:
        if self.text:
            value = self.text if value == self.value else _("See what was changed, above")
        if self.form is not None:
            value = _labels(self.form.fields[self.name], value)
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return text[:MAX_SHOWN] or NO_VALUE

    def entered_text(self) -> str:
        """What a bound form was sent for this value."""
        sent = self._sent_value()
        return self.sent if sent is None else self.format_value(sent)

    def is_sent(self) -> bool:
        """Returns whether the value of now is what was sent: saving it would undo nothing."""
        return self.value in (self._sent_value(), self.sent or None)

    def _sent_value(self) -> Any:
        if self.form is None or not self.form.is_bound:
            return None
        bound = self.form[self.name]
        given = getattr(self.form, "cleaned_data", {}).get(self.name, bound.data)
        return _as_json(bound.field, given)


Values = Mapping[str, FormValue]


@dataclass(frozen=True, slots=True)
class ShownValues:
    """What a form was sent as shown: when, and the values by name."""

    values: Mapping[str, Any] = field(default_factory=dict)
    at: datetime | None = None

    @classmethod
    def parse(cls, text: str) -> "ShownValues":
        """Reads the hidden field; what cannot be read has shown nothing."""
        try:
            given = json.loads(text)
            values, at = given["values"], parse_datetime(given["at"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return cls()
        if not isinstance(values, dict) or at is None or timezone.is_naive(at):
            return cls()
        # Texts of a client may hold characters that no response can.
        return cls(
            {
                str(escape_unstorable(name)): escape_unstorable(value)
                for name, value in values.items()
            },
            at,
        )


class ComparedForm(forms.Form):
    """A form that raises StaleForm where it is validated after what it showed has changed.

    `initial` are the values of now, for a bound form too. `also_shown` are further values that the
    page shows and that the change depends on.
    """

    def __init__(self, *args: Any, also_shown: Values | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self.also_shown = also_shown or {}

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        compare(str(self.data.get(FIELD, "")), self.values_of_now())
        return cleaned

    def values_of_now(self) -> Values:
        return {**read_values(self), **self.also_shown}

    def shown_values(self) -> SafeString:
        """The hidden field of the template: what was shown first, also after an error."""
        shown = str(self.data.get(FIELD, "")) if self.is_bound else serialize(self.values_of_now())
        return hidden_field(shown)


def read_values(form: forms.BaseForm, prefix: str = "") -> dict[str, FormValue]:
    """Returns what a form shows in its fields, without those that nobody can change.

    What is entered and never shown, as a secret, is left out: no page may show it.
    """
    values = {}
    for name, each in form.fields.items():
        if not each.disabled and not isinstance(each.widget, forms.PasswordInput):
            value = _as_json(each, form.get_initial_for_field(each, name))
            label = str(form[name].label)
            values[f"{prefix}{name}"] = FormValue(label, value, form, name)
    return values


def serialize(values: Values, at: datetime | None = None) -> str:
    """Returns the text of the hidden field, for values that were shown at a moment, else now."""
    shown = {name: each.value for name, each in values.items()}
    return json.dumps({"at": (at or timezone.now()).isoformat(), "values": shown})


def hidden_field(text: str) -> SafeString:
    return format_html('<input type="hidden" name="{}" value="{}">', FIELD, text)


def compare(text: str, now: Values, *, optional: Iterable[str] = ()) -> bool:
    """Raises StaleForm if a value of now is neither what the hidden field has nor what was sent.

    Returns whether one was changed meanwhile to what was sent, as by the first click of a double
    click. Those that the page cannot have shown, as a row that was added since, are `optional`.
    """
    shown = ShownValues.parse(text)
    if shown.at is None:
        raise StaleForm((), None)
    unseen = {*optional} - {*shown.values}
    changed = {
        name: each
        for name, each in now.items()
        if name not in unseen and (name not in shown.values or shown.values[name] != each.value)
    }
    undone = {name: each for name, each in changed.items() if not each.is_sent()}
    if changed and not undone:
        # The first click may have added these: the second would add them again.
        undone = {name: each for name, each in now.items() if name in unseen}
    changes = [_change(each, shown.values.get(name)) for name, each in undone.items()]
    gone = [name for name in shown.values if name not in now]
    changes += [ChangedValue(name, _text(shown.values[name]), _("Removed"), "") for name in gone]
    if changes:
        raise StaleForm(changes, shown.at)
    return bool(changed)


def _change(now: FormValue, shown: Any) -> ChangedValue:
    before = NO_VALUE if shown is None else now.format_value(shown)
    return ChangedValue(now.label, before, now.format_value(now.value), now.entered_text())


def _text(value: Any) -> str:
    return str(value)[:MAX_SHOWN]


def _as_json(field: forms.Field, value: Any) -> Any:
    """Returns a value of a field as it survives JSON: texts, booleans, or lists of texts."""
    value = field.prepare_value(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple | set | QuerySet):
        return sorted(str(one.pk if isinstance(one, Model) else one) for one in value)
    if isinstance(value, datetime):
        return timezone.localtime(value).isoformat() if timezone.is_aware(value) else str(value)
    return str(value.pk if isinstance(value, Model) else value)


def _labels(field: forms.Field, value: Any) -> Any:
    """Returns the texts that a field with choices shows for a value."""
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    texts = value if isinstance(value, list) else [value]
    if isinstance(field, forms.ModelChoiceField) and field.queryset is not None:
        try:
            found = field.queryset.filter(pk__in=[one for one in map(str, texts) if _is_key(one)])
            return sorted(str(row) for row in found)
        except (ValueError, TypeError, ValidationError):
            return value
    if isinstance(field, forms.ChoiceField):
        known = {str(key): str(label) for key, label in _flat(field.choices)}
        return [known.get(str(one), str(one)) for one in texts]
    return value


def _is_key(text: str) -> bool:
    """Returns whether a text of a client may be compared with a key: no number is too large."""
    return 0 < len(text) <= MAX_KEY and not (text.isdecimal() and len(text) > MAX_DIGITS)


def _flat(choices: Any) -> Iterable[tuple[Any, Any]]:
    for key, label in choices:
        if isinstance(label, list | tuple):
            yield from label
        else:
            yield key, label
