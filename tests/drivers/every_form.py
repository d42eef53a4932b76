"""Every form: those of the console by the addresses, those of the admin by its registry."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, resolve, reverse

from foundation.admin_urls import page_url
from foundation.stale_forms import FIELD
from tests.drivers.shown_forms import PageForm, forms_in

OF_DJANGO = ("csrfmiddlewaretoken", "opened_by", FIELD)
# Forms in the frame of every page.
FRAME = ("/signout", "/forms/discard")


class FoundForm(NamedTuple):
    """One form on one page."""

    page: str
    form: PageForm

    @property
    def name(self) -> str:
        """What identifies the form: the view that takes it, and its fields that a person fills."""
        return f"{view_of(self.form.action)} {','.join(sorted(typed_names(self.form)))}"


def view_of(address: str) -> str:
    return resolve(urlsplit(address).path).view_name


def typed_names(form: PageForm) -> set[str]:
    """The fields that a person fills in."""
    return {
        name
        for name, kind in form.kinds.items()
        if kind != "hidden" and not name.startswith(OF_DJANGO) and "__prefix__" not in name
    }


def pages(known: Mapping[str, Any]) -> Iterator[str]:
    """The address of every page of the console whose arguments are known."""
    for pattern in _patterns(get_resolver()):
        taken = pattern.pattern.converters
        if not pattern.name or not set(taken) <= set(known):
            continue
        module = getattr(pattern.callback, "__module__", "")
        if module.startswith(("console", "allauth")) or pattern.name == "oauth_consent":
            try:
                yield reverse(pattern.name, kwargs={name: known[name] for name in taken})
            except NoReverseMatch:
                continue


def admin_pages(rows: Mapping[type[Any], Any], model: type[Any]) -> Iterator[str]:
    """The address of every page of a model in the admin: without a row, and of the known one."""
    key = rows[model].pk if model in rows else None
    for pattern in admin.site.get_model_admin(model).get_urls():
        taken = pattern.pattern.converters
        if pattern.name and (key is not None or not taken):
            yield page_url(pattern.name, *(key for _ in taken))


def forms_of_pages(client: Client, addresses: Iterable[str]) -> Iterator[FoundForm]:
    """Every form with a field that a person fills in, once for each kind of form."""
    seen = set[str]()
    for page in addresses:
        if page.startswith(FRAME):
            continue
        response = client.get(page)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if response.status_code != 200 or not is_page or response.streaming:
            continue
        for form in forms_in(response, page):
            found = FoundForm(page, form)
            if form.action.startswith(FRAME) or not typed_names(form) or found.name in seen:
                continue
            seen.add(found.name)
            yield found


def _patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            if one.namespace != "admin":
                yield from _patterns(one)
        else:
            yield one


def enter(form: PageForm, rows: Mapping[type[Any], Any], model: Any = None) -> dict[str, Any]:
    """What a browser sends after a person has changed each field of a form."""
    entered: dict[str, Any] = dict(form.fields)
    for name in typed_names(form):
        entered[name] = _entered_values(form, name) or _loaded_row(rows, model, name)
    return entered


def _entered_values(form: PageForm, name: str) -> list[str]:
    kind, now = form.kinds[name], form.fields.get(name, [])
    others = [one for one in form.options.get(name, []) if one not in now]
    match kind:
        case "checkbox" | "multiple":
            return others
        case "radio" | "select":
            return [one for one in others if one][:1] or now
        case "number":
            return [f"{''.join(now)}7"]
        case "textarea":
            return [f"{''.join(now)}entered <b> & 'text'\n  of two lines"]
        case "email" | "url" | "date" | "time" | "password":
            return [f"{''.join(now)}entered-{kind}"]
    return [f'{"".join(now)}entered <b> & "text"']


def _loaded_row(rows: Mapping[type[Any], Any], model: Any, name: str) -> list[str]:
    """The key of a row, for a select whose choices a script loads."""
    fields = {one.name: one.related_model for one in model._meta.get_fields()} if model else {}
    kind = fields.get(name)
    return [str(rows[kind].pk)] if kind in rows else []
