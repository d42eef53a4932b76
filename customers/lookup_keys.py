"""What rows are found by: addresses and domains in one form, and ids of an own app.

Names and words are compared by `foundation.text`.
"""

import string
from collections.abc import Iterable
from typing import Final

from django.db.models import Q

# ASCII only: full case folding maps the Kelvin sign to k, and so one user's address to another's
# (CVE-2019-19844).
CASE: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def email_key(email: str) -> str:
    """Returns the address with ASCII letters in lower case and others unchanged."""
    return email.translate(CASE)


def domain_of(address: str) -> str:
    """Returns the domain of a web or email address: ASCII lower case, without `www.`.

    `https://www.Acme.example/pricing`, `ada@acme.example` and `acme.example` have the same domain.
    """
    host = address.strip().split("://", 1)[-1].split("/", 1)[0].rpartition("@")[2]
    return host.split(":", 1)[0].translate(CASE).removeprefix("www.").rstrip(".")


def has_external_id(external_ids: Iterable[str]) -> Q:
    """Returns the condition that a row has one of these ids in the organization's own app.

    The unique index leaves out rows without an external id. SQLite uses it for a statement that
    leaves them out too, and would read all rows of the organization for any other.
    """
    return Q(external_id__in=external_ids) & ~Q(external_id="")


def is_unclaimed_ticket(email_keys: Iterable[str]) -> Q:
    """Returns the condition that a ticket of no customer is from one of these addresses.

    With the conditions of the index, which SQLite compares word by word.
    """
    return Q(customer=None) & ~Q(email_key="") & Q(email_key__in=email_keys)


def is_of_visitor(session_ids: Iterable[str]) -> Q:
    """Returns the condition that a row of these sessions belongs to no customer.

    With the conditions of the index, as in `is_unclaimed_ticket`.
    """
    return Q(customer=None) & ~Q(session_id="") & Q(session_id__in=session_ids)
