"""Who may open and use the admin's pages about the gate."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from audit import record
from oauth.endpoints import replies
from workspace.administration.access import reach
from workspace.models import Organization

P = ParamSpec("P")

VIEW_SWITCHES = ("tools_registry.view_integrationmode", "tools_registry.view_actiontoggle")


def for_staff(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Makes a view a page of the admin.

    Signed-in visitors who may not open the admin are refused with 403, on record. Others are sent
    to the sign-in page.
    """

    @wraps(view)
    def answering(request: HttpRequest, /, *args: P.args, **given: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated and not admin.site.has_permission(request):
            raise recorded_refusal(request)
        return admin.site.admin_view(view)(request, *args, **given)

    return answering


def require(request: HttpRequest, *permissions: str) -> None:
    """Raises PermissionDenied, on record, for a visitor without these in any organization."""
    if not reach(request.user, *permissions):
        raise recorded_refusal(request)


def organization_or_404(
    request: HttpRequest, organization_id: UUID, *permissions: str
) -> Organization:
    """Returns an organization in which the visitor has these permissions.

    Raises PermissionDenied for a visitor who has them nowhere, and Http404 where the organization
    is missing or another one's.
    """
    require(request, *permissions)
    own = reach(request.user, *permissions).limit(Organization.objects.all(), "pk")
    return get_object_or_404(own, pk=organization_id)


def recorded_refusal(request: HttpRequest) -> PermissionDenied:
    """The refusal to raise, once it is on record."""
    person = str(request.user.pk)
    record.security_event(
        "admin_refused",
        address=replies.address_of(request),
        subject=person,
        user_id=person,
        detail=f"{request.method} {request.path}",
    )
    return PermissionDenied()
