"""How requests are decided, read and delivered, by the family of their surface."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from django.db.models import Q

from approvals.models import ApprovalRequest
from foundation import admin_urls
from tools_registry.pipeline import surfaces
from tools_registry.pipeline.surfaces import SurfaceFamily
from workspace.administration.access import ADMINS, reach
from workspace.models import Membership, User

DECIDE: Final = "approvals.decide_approvalrequest"


class Deciders(Protocol):
    """Who may decide requests, read again with each decision.

    `may_repeat` says whether a request that failed, or has an unknown outcome, may be executed
    again with the same idempotency key: only where the other side is known to honor it.
    """

    may_repeat: bool

    def may_decide(self, user: User, request: ApprovalRequest) -> bool: ...

    def list_deciders(self, request: ApprovalRequest) -> Iterable[User]:
        """Returns the members of the organization who may decide, in a few statements."""
        ...

    def may_approve_own(self, request: ApprovalRequest) -> bool: ...


class AdminDeciders:
    """Users with the permission to decide, as in Django admin."""

    may_repeat = True

    def may_decide(self, user: User, request: ApprovalRequest) -> bool:
        return reach(user, DECIDE).includes(request.organization_id)

    def list_deciders(self, request: ApprovalRequest) -> Iterable[User]:
        rows = Membership.objects.filter(organization=request.organization_id)
        candidates = rows.filter(Q(role__in=ADMINS) | Q(user__is_staff=True))
        for row in candidates.select_related("user"):
            if self.may_decide(row.user, request):
                yield row.user

    def may_approve_own(self, request: ApprovalRequest) -> bool:  # noqa: ARG002  the port's
        return False


def find_schema_of_tool(request: ApprovalRequest) -> Mapping[str, Any] | None:
    """Returns the schema of the arguments of a request, None if its tool is gone."""
    surface = surfaces.find(request.surface)
    tool = surface and surface.catalogue.find(request.tool, request.organization_id)
    return (tool.argument_schema or tool.input_schema) if tool else None


ADMIN_DECIDERS: Final = AdminDeciders()


def _find_nothing(_request: ApprovalRequest) -> str:
    return ""


def _deliver_nothing(_request: ApprovalRequest) -> None:
    """Requesters call the tool again, which returns what has become of their request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRules:
    """The rules of one family of surfaces.

    `find_schema` returns what names the secret arguments of a request, None if its tool is gone.
    `find_obstacle` returns what somebody else has to do before a request can be executed, such as
    to enter a credential, empty for nothing; the request waits until then.
    `find_refusal` returns why the call of a request would be refused if it was approved now, empty
    if it would not; pages offer no approval then.
    `page_url` returns the path of the page on which a request is decided.
    `deliver` tells the requester of a request that has ended, if it can, as over an open WebSocket
    (`approvals.delivery`). It runs in the background worker too, so that it has to reach the
    connections of other processes itself.
    """

    deciders: Deciders = ADMIN_DECIDERS
    find_schema: Callable[[ApprovalRequest], Mapping[str, Any] | None] = find_schema_of_tool
    find_obstacle: Callable[[ApprovalRequest], str] = _find_nothing
    find_refusal: Callable[[ApprovalRequest], str] = _find_nothing
    page_url: Callable[[ApprovalRequest], str] = admin_urls.row_url
    deliver: Callable[[ApprovalRequest], None] = _deliver_nothing


DEFAULT: Final = SurfaceRules()
_rules: Final[dict[SurfaceFamily, SurfaceRules]] = {}


def bind(family: SurfaceFamily, rules: SurfaceRules) -> None:
    """Registers the rules of a family; called once at start-up."""
    _rules[family] = rules


def find_rules(request: ApprovalRequest) -> SurfaceRules:
    """Returns the rules of the surface that a request was made through."""
    return _rules.get(surfaces.family_of(request.surface), DEFAULT)
