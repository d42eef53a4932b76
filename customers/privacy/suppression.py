"""Ids and addresses of erased people, which are refused for a time.

Queues, nightly updates and old files would bring an erased person back. Only keyed hashes are kept,
of the organization with the name: no name can be read from them, and equal names of two
organizations have different hashes.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from customers.lookup_keys import email_key
from foundation import sealing
from workspace import access
from workspace.access import Access
from workspace.models import ErasedName
from workspace.models.privacy import ErasedNameKind

CONTEXT: Final = b"workspace.erased_name"
FEW: Final = 10

Name: TypeAlias = tuple[ErasedNameKind, str]


class ErasedNames(Exception):
    """A request names erased people; `until` has the time until which each name is refused."""

    def __init__(self, until: Mapping[Name, datetime]) -> None:
        super().__init__(f"{len(until)} names")
        self.until = until


def make_names(user_ids: Iterable[str] = (), emails: Iterable[str] = ()) -> list[Name]:
    """Returns the names that are not empty; addresses as they are compared."""
    named = [(ErasedNameKind.USER_ID, one) for one in user_ids if one]
    return [*named, *((ErasedNameKind.EMAIL, email_key(one)) for one in emails if one)]


def keep(organization_id: UUID, names: Iterable[Name]) -> None:
    """Refuses these names from now on, for the time of the settings."""
    until = timezone.now() + timedelta(days=settings.HALO_ERASED_PEOPLE_DAYS)
    if not settings.HALO_ERASED_PEOPLE_DAYS:
        return
    access.erased_names(Access(organization_id)).bulk_create(
        [
            ErasedName(
                organization_id=organization_id,
                kind=kind,
                digest=_digests(organization_id, (kind, value))[0],
                until=until,
            )
            for kind, value in names
        ],
        update_conflicts=True,
        unique_fields=["organization", "digest"],
        update_fields=["until"],
    )


def find(organization_id: UUID, names: Iterable[Name]) -> Mapping[Name, datetime]:
    """Returns the names that are refused, and until when."""
    refused = access.erased_names(Access(organization_id)).filter(until__gt=timezone.now())
    names = [*names]
    # A file has many names, and most organizations have erased nobody.
    if not names or (len(names) > FEW and not refused.exists()):
        return {}
    by_digest = {digest: name for name in names for digest in _digests(organization_id, name)}
    found = refused.filter(digest__in=by_digest).values_list("digest", "until")
    return {by_digest[digest]: until for digest, until in found}


def check(organization_id: UUID, names: Iterable[Name]) -> None:
    """Raises ErasedNames if one of the names is refused."""
    if until := find(organization_id, names):
        raise ErasedNames(until)


def lift(organization_id: UUID, names: Iterable[Name]) -> None:
    """Accepts these names again."""
    digests = [digest for name in names for digest in _digests(organization_id, name)]
    access.erased_names(Access(organization_id)).filter(digest__in=digests).delete()


def export_rows(organization_id: UUID, names: Iterable[Name] = ()) -> list[dict[str, object]]:
    """Returns what is kept: of these names, or of the organization without any."""
    rows = access.erased_names(Access(organization_id))
    if digests := [digest for name in names for digest in _digests(organization_id, name)]:
        rows = rows.filter(digest__in=digests)
    ordered = rows.order_by("until", "pk").values("kind", "digest", "until")
    return [{**row} for row in ordered]


def describe(until: datetime) -> str:
    """Returns why a name is refused, as answers and pages say it."""
    return f"This person was erased. The name is refused until {until:%Y-%m-%d}."


def _digests(organization_id: UUID, name: Name) -> list[str]:
    """Returns the hashes of a name, the one that is stored first: one for each sealing key."""
    kind, value = name
    return sealing.keyed_digests(f"{organization_id}:{kind}:{value}".encode(), context=CONTEXT)
