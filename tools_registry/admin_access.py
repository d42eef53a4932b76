"""Who may open and use the admin's pages about the gate."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from audit import record
from oauth import replies

P = ParamSpec("P")

VIEW_SWITCHES = ("tools_registry.view_integrationmode", "tools_registry.view_actiontoggle")


def for_staff(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A page of the admin. Who is signed in and no staff is refused with 403, on record.

    Others are asked to sign in.
    """

    @wraps(view)
    def answering(request: HttpRequest, /, *args: P.args, **given: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated and not admin.site.has_permission(request):
            raise refused(request)
        return admin.site.admin_view(view)(request, *args, **given)

    return answering


def require(request: HttpRequest, *permissions: str) -> None:
    """Raise PermissionDenied, and put it on record, for who lacks one of these."""
    if not request.user.has_perms(permissions):
        raise refused(request)


def refused(request: HttpRequest) -> PermissionDenied:
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
