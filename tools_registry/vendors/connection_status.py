"""The status of a connection to a vendor, which is written when it changes, not with each call.

It is written after the vendor has answered, so that a call does not fail with it.

A refused credential makes a connection `failing`. That is for people to see; the gate still takes
it for connected, so that the first call that succeeds can set it right again.
"""

import re
from typing import Final

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit import record
from foundation.db.optional_write import optional_write
from foundation.peer import UNKNOWN
from tools_registry import registry
from tools_registry.models import ConnectionState, IntegrationMode

MAX_MESSAGE_LENGTH: Final = 500
# What pages show instead of a state: nothing can be asked with such a credential.
UNREADABLE: Final = _("Credential cannot be decrypted")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@optional_write("connection_status_not_written")
def record_refusal(mode: IntegrationMode, message: str) -> None:
    """The vendor did not take the credential, or it cannot be opened."""
    changed = _filter_state(mode, ConnectionState.CONNECTED).update(
        connection=ConnectionState.FAILING, **_error(message)
    )
    if changed:
        record.security_event(
            "credential_refused",
            address=UNKNOWN,
            subject=str(mode.pk),
            organization_id=str(mode.organization_id),
            detail=f"{registry.title(mode.integration)}: {message}",
        )


@optional_write("connection_status_not_written")
def record_silence(mode: IntegrationMode, message: str) -> None:
    """The vendor has failed often enough that nothing is asked of it for a while."""
    IntegrationMode.objects.filter(pk=mode.pk).update(**_error(message))


@optional_write("connection_status_not_written")
def record_success(mode: IntegrationMode) -> None:
    """A request succeeded. Costs nothing while nothing was wrong as the call began."""
    if mode.connection != ConnectionState.FAILING and not mode.last_error:
        return
    # What is not connected any more is not connected by an answer that comes late.
    still = IntegrationMode.objects.filter(pk=mode.pk).exclude(
        connection=ConnectionState.NOT_CONNECTED
    )
    now = timezone.now()
    still.update(
        connection=ConnectionState.CONNECTED, last_error="", last_error_at=None, updated_at=now
    )
    mode.connection, mode.last_error = ConnectionState.CONNECTED, ""


def short(message: str) -> str:
    """A message as a row can hold it and a page can show it."""
    return CONTROL.sub(" ", message)[:MAX_MESSAGE_LENGTH]


def _filter_state(mode: IntegrationMode, state: ConnectionState) -> QuerySet[IntegrationMode]:
    return IntegrationMode.objects.filter(pk=mode.pk, connection=state)


def _error(message: str) -> dict[str, object]:
    now = timezone.now()
    return {"last_error": short(message), "last_error_at": now, "updated_at": now}
