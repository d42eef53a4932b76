"""The sessions of an account with a second factor: which end, and what they permit.

A person who learned the password may have signed in before the owner added a factor. Adding the
first one ends every other session. With a factor, the password alone confirms nothing in a session
in which no factor was used.
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

from console.account import second_factors
from workspace.models import User


class SessionOver(Exception):
    """The session ended during the request."""


def takes_the_password(request: HttpRequest, user: AbstractBaseUser) -> bool:
    """Returns whether the password confirms the user in this session."""
    records = get_authentication_records(request, user)
    shown = any(one.get("method") == "mfa" for one in records)
    return shown or not second_factors.has_factor(user)


@contextmanager
def adding_factor(request: HttpRequest, user: User, kind: str) -> Iterator[None]:
    """Adds a factor in the block; if it is the first, all other sessions end.

    Raises SessionOver, and then nothing is added.
    """
    with transaction.atomic():
        _lock(request, user)
        is_first = not second_factors.has_factor(user)
        yield
        if is_first:
            end_all(user)
    if is_first:
        # With a new session key: the cookie of this session may have been stolen.
        update_session_auth_hash(request, user)
    # The user has just used the factor.
    record_authentication(request, user, "mfa", type=kind)


def _lock(request: HttpRequest, user: User) -> None:
    # Two sessions that each add a first factor: the earlier one ended the later one.
    row = User.objects.select_for_update().filter(pk=user.pk).first()
    begun_with = request.session.get(HASH_SESSION_KEY, "")
    if row is None or not constant_time_compare(begun_with, row.get_session_auth_hash()):
        raise SessionOver


def end_all(user: User) -> None:
    """Ends all sessions of a user with their next requests."""
    User.objects.filter(pk=user.pk).update(session_generation=F("session_generation") + 1)
    user.refresh_from_db(fields=["session_generation"])
