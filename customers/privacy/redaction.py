"""Removes what names a customer from texts and JSON values that are kept."""

import json
import re
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, Final

from django.db.models import F, Q, TextField
from django.db.models.functions import Cast, Lower
from django.db.models.lookups import Contains

from customers.lookup_keys import CASE
from customers.privacy.subject import Subject

ERASED: Final = "[erased]"
ERASED_NAME: Final = "Erased customer"
# Shorter values, such as the external id "42", are removed only where a JSON value is equal to
# them: in a text they may mean anything.
MIN_LENGTH: Final = 6
NEVER: Final = r"(?!)"
# Before the names of fields in `trait_times`. An address after a dot is taken for another one.
FIELDS: Final = ("custom_fields.", "context.")


class Redaction:
    """Replaces what names a customer: the ids, the email address and the full name.

    Case is ignored. A first name alone and other descriptions of a person stay.
    """

    def __init__(self, subject: Subject) -> None:
        always = (*subject.ids, *subject.emails, subject.external_id, *subject.other_external_ids)
        if_long = (subject.name, *subject.vendor_ids)
        named = [*always, *(one for one in if_long if len(one) >= MIN_LENGTH)]
        self._named = {one for one in named if one}
        self._equal = {one.lower() for one in self._named}
        self._inside = {one for one in self._named if len(one) >= MIN_LENGTH}
        # Longer ones first: an email address may begin with the external id.
        words = sorted(self._inside, key=len, reverse=True)
        self._pattern = re.compile(
            "|".join(map(_whole_word_pattern, words)) or NEVER, re.IGNORECASE
        )

    def text(self, value: str) -> str:
        """Returns a text without what names the customer."""
        return self._pattern.sub(ERASED, value)

    def json(self, value: Any) -> Any:
        """Returns a JSON value without what names the customer, in its keys too."""
        if isinstance(value, str):
            return ERASED if value.lower() in self._equal else self.text(value)
        if isinstance(value, dict):
            return {self._key(key): self.json(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.json(item) for item in value]
        return value

    def _key(self, key: Any) -> Any:
        prefix = next((one for one in FIELDS if isinstance(key, str) and key.startswith(one)), "")
        return f"{prefix}{self.json(key.removeprefix(prefix))}" if prefix else self.json(key)

    def finds(self, value: Any) -> bool:
        """Returns whether a JSON value names the customer."""
        return bool(self.json(value) != value)

    def text_condition(self, *columns: str) -> Q:
        """Returns the condition that a text column may name the customer."""
        return _contain(columns, {form for one in self._inside for form in _cases(one)})

    def json_condition(self, *columns: str) -> Q:
        """Returns the condition that a JSON column may name the customer."""
        whole = {f'"{form}"' for one in self._named - self._inside for form in _json_forms(one)}
        inside = {form for one in self._inside for form in _json_forms(one)}
        return _contain(columns, whole | inside)


def _whole_word_pattern(text: str) -> str:
    """Returns the pattern of a name that is no part of another address, or of a longer word."""
    if "@" in text:
        return rf"(?<![\w.+-]){re.escape(text)}(?![\w-]|\.\w)"
    return rf"(?<!\w){re.escape(text)}(?!\w)"


def _json_forms(text: str) -> set[str]:
    """Returns the forms of a text within JSON: Python escapes letters that databases do not."""
    return {
        json.dumps(form, ensure_ascii=is_ascii)[1:-1]
        for form in _cases(text)
        for is_ascii in (True, False)
    }


def _cases(text: str) -> set[str]:
    """Returns how LOWER writes a text: SQLite lowers ASCII letters only, PostgreSQL all of them."""
    return {text.lower(), text.translate(CASE), text.upper().translate(CASE)}


def _contain(columns: Iterable[str], forms: Iterable[str]) -> Q:
    conditions = (
        Q(Contains(Lower(Cast(F(column), TextField())), form))
        for column in columns
        for form in sorted(forms)
    )
    return reduce(or_, conditions, Q(pk__in=()))
