"""Durations in words, for pages and settings."""

from typing import Final

from django.utils.translation import ngettext

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


def to_words(seconds: int) -> str:
    """Returns the duration in the largest unit that divides it."""
    if seconds % DAY == 0:
        return _format_count(seconds // DAY, ngettext("%(n)d day", "%(n)d days", seconds // DAY))
    if seconds % HOUR == 0:
        return _format_count(
            seconds // HOUR, ngettext("%(n)d hour", "%(n)d hours", seconds // HOUR)
        )
    if seconds % MINUTE == 0:
        minutes = seconds // MINUTE
        return _format_count(minutes, ngettext("%(n)d minute", "%(n)d minutes", minutes))
    return _format_count(seconds, ngettext("%(n)d second", "%(n)d seconds", seconds))


def _format_count(number: int, words: str) -> str:
    return words % {"n": number}
