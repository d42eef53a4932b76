"""Which sessions of an account hold once it has a second factor, and what they stand for.

Whoever learned the password may have signed in before the owner added a factor. Adding the first
one ends every other session; and where there is a factor, the password confirms nothing in a
session in which no factor was ever shown.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from allauth.account.internal.flows.login import (
    get_authentication_records,
    record_authentication,
)
from django.contrib.auth import HASH_SESSION_KEY, update_session_auth_hash
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from console import second_factors
from workspace.models import User


class SessionOver(Exception):
    """The session ended while its request was on the way."""


def takes_the_password(request: HttpRequest, user: AbstractBaseUser) -> bool:
    """Whether the password confirms here who it is: a factor was shown, or there is none."""
    records = get_authentication_records(request, user)
    shown = any(one.get("method") == "mfa" for one in records)
    return shown or not second_factors.has_factor(user)


@contextmanager
def adding_factor(request: HttpRequest, user: User, kind: str) -> Iterator[None]:
    """Add a factor within this; if it is the first, this session alone goes on.

    Raises SessionOver, and then nothing is added.
    """
    with transaction.atomic():
        _lock(request, user)
        is_first = not second_factors.has_factor(user)
        yield
        if is_first:
            _end_all(user)
    if is_first:
        # With another key as well: the cookie of this session may be what was stolen.
        update_session_auth_hash(request, user)
    # Who adds a factor has just shown it.
    record_authentication(request, user, "mfa", type=kind)


def _lock(request: HttpRequest, user: User) -> None:
    # Two sessions that each add a first factor: the later one was ended by the earlier.
    row = User.objects.select_for_update().filter(pk=user.pk).first()
    begun_with = request.session.get(HASH_SESSION_KEY, "")
    if row is None or not constant_time_compare(begun_with, row.get_session_auth_hash()):
        raise SessionOver


def _end_all(user: User) -> None:
    User.objects.filter(pk=user.pk).update(session_generation=F("session_generation") + 1)
    user.refresh_from_db(fields=["session_generation"])
