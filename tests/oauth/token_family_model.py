"""The model of `test_token_family_state_machine.py`, and direct access to the endpoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.test import RequestFactory
from django.urls import resolve

from oauth.models import Authorization
from oauth.scopes import ScopeSet
from tests.drivers.oauth_client import OAuthClient, Response
from workspace.models import Membership


@dataclass(eq=False)
class Family:
    """One consent as the model sees it, with its code."""

    client: OAuthClient
    membership: Membership
    root: Authorization
    scope: ScopeSet
    code: str
    runs_out: datetime
    code_spent: bool = False
    code_gone: bool = False
    ended: bool = False


@dataclass(eq=False)
class Pair:
    """What one exchange or refresh gave."""

    family: Family
    access: str
    refresh: str
    scope: ScopeSet
    runs_out: datetime
    spent: bool = False
    access_gone: bool = False
    spent_at: datetime | None = None
    successor: "Pair | None" = None


class Direct(RequestFactory):
    """The endpoints without the middleware around them, which costs more than they do."""

    def request(self, **facts: Any) -> Response:
        request = super().request(**facts)
        return resolve(request.path).func(request)


@contextmanager
def undo() -> Iterator[None]:
    """What happens inside is taken back, as a trial has to be and every example is."""
    # A savepoint under the test's own transaction: the product's blocks nest within it.
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def is_within(narrow: ScopeSet, wide: ScopeSet) -> bool:
    return bool(narrow) and all(wide.covers(scope) for scope in narrow)
