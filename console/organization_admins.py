"""Who may open the pages of keys and service clients: admins of an organization."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from oauth.endpoints import replies
from workspace.administration.access import organizations_administered
from workspace.models import User

Given = ParamSpec("Given")
View: TypeAlias = Callable[Concatenate[HttpRequest, Given], HttpResponse]
Page: TypeAlias = Callable[Concatenate[HttpRequest, User, Given], HttpResponse]


def for_admins(page_of_staff: str) -> Callable[[Page[Given]], View[Given]]:
    """Requires sign-in by an admin of an organization.

    Platform staff who administer none use a page of the admin; others get 404.
    """

    def guard(page: Page[Given]) -> View[Given]:
        @wraps(page)
        def wrapper(
            request: HttpRequest, /, *args: Given.args, **kwargs: Given.kwargs
        ) -> HttpResponse:
            if not isinstance(request.user, User):
                return redirect_to_login(request.get_full_path())
            if not organizations_administered(request.user):
                if admin.site.has_permission(request):
                    return redirect(page_of_staff)
                raise Http404
            return replies.private(page(request, request.user, *args, **kwargs))

        return wrapper

    return guard
