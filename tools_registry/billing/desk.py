"""Filing: a tool's request becomes a row that waits for an admin (`filing.Billing`)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from oauth.principal import Principal
from tools_registry import arguments as tool_arguments
from tools_registry import registry
from tools_registry.billing import settling
from tools_registry.billing.models import BillingRequest, Status
from tools_registry.types import Customer, Filed, Guarded, Json, Tool, ToolFailure

# A person decides on each: what more a connection asks for would only bury the rest.
OPEN_AT_MOST: Final = 50


class TooManyWait(ToolFailure):
    """This connection has asked for enough."""

    kind = "too_many_requests"

    def __init__(self) -> None:
        super().__init__(
            f"{OPEN_AT_MOST} requests of this connection wait for an admin already.",
            reason=self.kind,
        )


@dataclass(frozen=True, slots=True)
class Desk:
    """Files the requests of one call, in the name of its principal and for its customer."""

    principal: Principal
    tool: Guarded
    customer: Customer | None

    def request(
        self, *, perform: str, arguments: Mapping[str, Json], summary: str, why: str = ""
    ) -> Filed:
        tool_arguments.validate(self._performing(perform), arguments)
        asked = self._asked(perform, arguments)
        return _told(self._open(asked).first() or self._file(asked, summary, why))

    def _performing(self, action: str) -> Tool:
        name = f"{self.tool.integration}.{action}"
        tool = registry.find(name, self.principal.organization_id)
        if tool is None or not tool.destructive or tool.integration != self.tool.integration:
            raise LookupError(f"{name} is no destructive tool of this integration")
        return tool

    def _asked(self, perform: str, arguments: Mapping[str, Json]) -> dict[str, Any]:
        facts = {
            "integration": self.tool.integration,
            "filed_as": self.tool.action,
            "perform": perform,
            "arguments": dict(arguments),
            "customer_id": self.customer.id if self.customer else "",
        }
        written = json.dumps(facts, sort_keys=True).encode()
        return {
            **facts,
            "organization_id": self.principal.organization_id,
            "authorization_id": str(self.principal.authorization_id),
            "digest": hashlib.sha256(written).hexdigest(),
        }

    def _open(self, asked: Mapping[str, Any]) -> QuerySet[BillingRequest]:
        """The same request, not decided on yet, or of an end that nobody knows."""
        now = timezone.now()
        waiting = Q(status=Status.PENDING, expires_at__gt=now) | Q(status=Status.RUNNING)
        # Under a new key it could be done twice, so it is not asked for anew.
        unknown = Q(status=Status.UNKNOWN, sent_at__gt=now - settling.KEY_LIFETIME)
        rows = _of(asked).filter(digest=asked["digest"])
        return rows.filter(waiting | unknown).order_by("-pk")

    def _file(self, asked: Mapping[str, Any], summary: str, why: str) -> BillingRequest:
        settling.settle()
        if _of(asked).filter(status=Status.PENDING).count() >= OPEN_AT_MOST:
            raise TooManyWait
        asker = {
            "user_id": str(self.principal.user_id),
            "user_email": self.principal.user_email,
            "client_id": self.principal.client_id,
            "client_name": self.principal.client_name,
            "token_id": str(self.principal.token_id),
        }
        try:
            with transaction.atomic():
                return BillingRequest.objects.create(
                    **asked, **asker, summary=summary[:300], why=why
                )
        except IntegrityError:
            # Another call of the same connection was a moment earlier; an admin may even have
            # decided on it by now.
            return _of(asked).filter(digest=asked["digest"]).latest("pk")


def _of(asked: Mapping[str, Any]) -> QuerySet[BillingRequest]:
    return BillingRequest.objects.filter(
        organization_id=asked["organization_id"], authorization_id=asked["authorization_id"]
    )


def _told(row: BillingRequest) -> Filed:
    return Filed(str(row.pk), row.status, row.summary)
