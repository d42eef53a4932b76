"""Columns for the number of calls per minute that an admin allows; empty means no cap."""

from typing import Any, Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from foundation.limits import Limit
from foundation.limits.window import MAX_COUNT

SECONDS: Final = 60


def field(help_text: Any) -> "models.PositiveIntegerField[int | None, int | None]":
    """Returns a column for a cap; `constraint` excludes invalid limits."""
    return models.PositiveIntegerField(
        _("calls a minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_COUNT)],
        help_text=help_text,
    )


def constraint(name: str) -> models.CheckConstraint:
    """Returns the constraint that the admin's form also checks; the hot path trusts the column."""
    return models.CheckConstraint(
        condition=models.Q(calls_per_minute__isnull=True)
        | models.Q(calls_per_minute__gte=1, calls_per_minute__lte=MAX_COUNT),
        name=name,
    )


def limit(calls_per_minute: int) -> Limit:
    return Limit(calls_per_minute, SECONDS)
