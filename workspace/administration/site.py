"""The admin site: open to platform staff and to the admins of organizations."""

from collections.abc import Iterator
from typing import Any, Final, cast

from allauth.account.decorators import secure_admin_login
from django.contrib.admin import AdminSite
from django.contrib.contenttypes.views import shortcut
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import get_script_prefix, path, reverse
from django.utils.translation import get_language

from workspace.administration import access as admin_access
from workspace.models import User

MAX_APP_LISTS: Final = 100


class HaloAdminSite(AdminSite):
    """Django's admin site with the rights of `workspace.administration.access`."""

    site_header = site_title = "Halo MCP"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._app_lists: dict[tuple[Any, ...], list[Any]] = {}

    def has_permission(self, request: HttpRequest) -> bool:
        return admin_access.may_enter(request.user)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Replaces `perms`, which does not know the roles."""
        perms = admin_access.AdminPermissions(request.user)
        return {**super().each_context(request), "perms": perms}

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Returns the apps and models that a visitor may open, as Django does.

        Each page shows them, and asks four permissions of each model: the list is made once for
        each combination of rights.
        """
        if app_label is not None:
            return super().get_app_list(request, app_label)
        rights = admin_access.build_rights_key(request.user)
        key = (rights, get_script_prefix(), get_language())
        if key not in self._app_lists:
            if len(self._app_lists) >= MAX_APP_LISTS:
                self._app_lists.clear()
            self._app_lists[key] = super().get_app_list(request)
        return self._app_lists[key]

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Sends visitors to the sign-in page: Django's own form has no limit on guesses."""
        if not request.user.is_authenticated:
            answer: HttpResponse = secure_admin_login(super().login)(request, extra_context)
            return answer
        if not self.has_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:index"))

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        """Serves the declared autocomplete fields only; Django serves any relation."""
        names = ("app_label", "model_name", "field_name")
        wanted = tuple(request.GET.get(name, "") for name in names)
        if wanted not in set(self._autocomplete_fields()):
            raise PermissionDenied
        return super().autocomplete_view(request)

    def _autocomplete_fields(self) -> Iterator[tuple[str, ...]]:
        for page in self._registry.values():
            inlines = [kind(page.model, self) for kind in page.inlines]
            for one in (page, *inlines):
                for field in one.autocomplete_fields:
                    yield (one.opts.app_label, str(one.opts.model_name), field)

    def get_urls(self) -> list[Any]:
        """Puts `view_on_site` below in place of Django's own view."""
        route = "r/<path:content_type_id>/<path:object_id>/"
        own = path(route, self.admin_view(self.view_on_site), name="view_on_site")
        return [own, *super().get_urls()]

    def view_on_site(
        self, request: HttpRequest, content_type_id: str, object_id: str
    ) -> HttpResponse:
        """Redirects platform staff to a row's page; others could try ids of any model with it."""
        if not cast("User", request.user).is_staff:
            raise Http404
        answer: HttpResponse = shortcut(request, content_type_id, object_id)
        return answer
