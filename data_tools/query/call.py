"""One call of a data tool: its arguments, whose rows it reads, and when."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import Self
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils import timezone

from data_tools.query import texts
from data_tools.query.arguments import Detail
from tools_registry.api import Arguments, Json, ToolContext, ValidationFailure
from workspace import access
from workspace.access import Access
from workspace.models import Organization


@dataclass(frozen=True)
class DataToolCall:
    """A call of a data tool.

    `arguments`, which results repeat, are those given and the defaults of the others, `given` the
    names of the former. `user_id` is the person who signed in.
    """

    tool: str
    arguments: Mapping[str, Json]
    given: frozenset[str]
    access: Access
    organization: Organization
    now: datetime
    user_id: str = ""
    is_detailed: bool = False

    def with_detail(self, response_format: Detail) -> Self:
        """This call with texts and rows as long as its caller wants them."""
        return replace(self, is_detailed=response_format == "detailed")

    @cached_property
    def zone(self) -> ZoneInfo:
        """The time zone of the organization's days."""
        return ZoneInfo(self.organization.time_zone)

    @cached_property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def when(self, time: datetime | None) -> str | None:
        """A time with the offset of the organization's zone."""
        if time is None:
            return None
        return time.astimezone(self.zone).isoformat(timespec="seconds")

    def text(self, words: str) -> str:
        """Text that a person wrote, cut unless the caller wants details."""
        return texts.clean(words) if self.is_detailed else texts.cut(texts.clean(words))


def build_call(
    tool: str, context: ToolContext, given: Arguments, defaults: Arguments
) -> DataToolCall:
    """The call of a tool in its context. The binding has been resolved for this call."""
    bound = context.customer
    reads = Access(
        UUID(context.organization_id),
        customer_id=bound.id if bound else "",
        company_id=bound.company_id if bound else "",
    )
    organization = access.organization(reads)
    arguments, names = {**defaults, **given}, frozenset(given)
    return DataToolCall(
        tool, arguments, names, reads, organization, timezone.now(), context.user_id
    )


def invalid_argument(field: str, reason: str) -> ValidationFailure:
    """An argument that cannot be used: which one, why, and what to send instead."""
    return ValidationFailure(f"{field}: {reason}", field=field, reason=reason)
