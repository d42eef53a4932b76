"""Columns that the tables of HR records share, and the form of their ids."""

import secrets
from typing import Final

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from workspace.models import Organization

# Lower case without i, l, o and u, which are misread.
ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
PERSON_ID_LENGTH: Final = 12


def new_person_id() -> str:
    """Returns 60 random bits in 12 characters."""
    return "".join(secrets.choice(ALPHABET) for _number in range(PERSON_ID_LENGTH))


class Record(models.Model):
    """A row of an organization, with the times at which it was made and changed.

    A subclass declares `id`, whose prefix names the kind. `version` counts the changes: two rows
    with the same version are the same.
    """

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    version = models.PositiveIntegerField(_("version"), default=1, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)

    class Meta:
        abstract = True


def key(default: object, length: int = 60) -> "models.CharField[str, str]":
    """A primary key of text; `default` makes a new one."""
    return models.CharField(
        _("id"), primary_key=True, max_length=length, default=default, editable=False
    )
