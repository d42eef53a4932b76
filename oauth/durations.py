"""Durations in words, for pages and settings."""

from typing import Final

from django.utils.translation import ngettext

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


def in_words(seconds: int) -> str:
    """Returns the duration in the largest unit that divides it."""
    if seconds % DAY == 0:
        return _counted(seconds // DAY, ngettext("%(n)d day", "%(n)d days", seconds // DAY))
    if seconds % HOUR == 0:
        return _counted(seconds // HOUR, ngettext("%(n)d hour", "%(n)d hours", seconds // HOUR))
    if seconds % MINUTE == 0:
        minutes = seconds // MINUTE
        return _counted(minutes, ngettext("%(n)d minute", "%(n)d minutes", minutes))
    return _counted(seconds, ngettext("%(n)d second", "%(n)d seconds", seconds))


def _counted(number: int, words: str) -> str:
    return words % {"n": number}
