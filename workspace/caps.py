"""How many calls a minute an admin allows: a column that is empty where there is no cap."""

from typing import Any, Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from foundation.limits import Limit
from foundation.limits.limit import MAX_COUNT

SECONDS: Final = 60


def field(help_text: Any) -> "models.PositiveIntegerField[int | None, int | None]":
    """A column for a cap; `constraint` keeps out of it what no limit can be."""
    return models.PositiveIntegerField(
        _("calls a minute"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_COUNT)],
        help_text=help_text,
    )


def constraint(name: str) -> models.CheckConstraint:
    """Hold every writer to what the admin's form asks for; the hot path trusts the column."""
    return models.CheckConstraint(
        condition=models.Q(calls_per_minute__isnull=True)
        | models.Q(calls_per_minute__gte=1, calls_per_minute__lte=MAX_COUNT),
        name=name,
    )


def limit(calls_per_minute: int) -> Limit:
    return Limit(calls_per_minute, SECONDS)
