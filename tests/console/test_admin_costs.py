"""What a request to the admin may cost: words of a search, rows of a form, time of a statement."""

import uuid
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.options import ModelAdmin
from django.db.models.expressions import RawSQL
from django.test import Client

from foundation import admin_urls
from foundation.admin_urls import row_url
from tests.drivers import full_tenants
from tests.drivers.grants import make_grant
from tests.drivers.shown_forms import shown_values
from workspace.models import Membership, Organization, User

TOO_LONG = "Search for at most 8 words and 200 characters."
ENDLESS = (
    "(WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT 1 - n FROM numbers)"
    " SELECT max(n) FROM numbers)"
)
SEARCHED = sorted((one for one in admin.site._registry.values() if one.search_fields), key=str)
AUTOCOMPLETE = [
    (registered, kind, field)
    for registered in sorted(admin.site._registry.values(), key=str)
    for kind in (registered, *(kind(registered.model, admin.site) for kind in registered.inlines))
    for field in kind.autocomplete_fields
]


@pytest.fixture
def operator(db: None) -> Client:  # noqa: ARG001  opens the database
    return sign_in(User.objects.create_superuser("root@example.com", "a long password"))


def sign_in(user: Any) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


def search_list(browser: Client, registered: ModelAdmin, q: str) -> Any:
    return browser.get(admin_urls.model_url(registered.model), {"q": q}, follow=True)


@pytest.mark.parametrize("registered", SEARCHED, ids=str)
def test_a_search_of_more_than_eight_words_finds_nothing_and_says_why(
    operator: Client, registered: ModelAdmin
) -> None:
    for q in ("e " * 9, "e" * 201):
        page = search_list(operator, registered, q)
        assert page.status_code == 200
        assert TOO_LONG in page.content.decode()
        assert page.context["cl"].result_count == 0
    for q in ("e " * 8, "e" * 200):
        assert TOO_LONG not in search_list(operator, registered, q).content.decode()


def test_eight_words_are_all_searched_for(operator: Client) -> None:
    registered = admin.site._registry[User]
    User.objects.create_user("ada@example.com", name="one two three four five six seven eight")
    words = "one two three four five six seven eight"
    assert search_list(operator, registered, words).context["cl"].result_count == 1
    assert (
        search_list(operator, registered, words.replace("six", "ten")).context["cl"].result_count
        == 0
    )


def form_of(browser: Client, address: str) -> dict[str, Any]:
    """What a browser sends for a page that nobody has changed."""
    context = browser.get(address).context
    forms = [context["adminform"].form]
    for inline in context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.initial_forms]
    shown = {field.html_name: field.value() for form in forms for field in form}
    kept = {name: one for name, one in shown.items() if one is not None and one is not False}
    return shown_values(browser, address) | kept


@pytest.mark.parametrize(
    "registered", [one for one in admin.site._registry.values() if one.inlines], ids=str
)
def test_a_form_that_names_millions_of_rows_is_refused_and_has_few(
    operator: Client, registered: ModelAdmin
) -> None:
    tenant = full_tenants.tenant("Costs")
    row = tenant.organization if registered.model is Organization else tenant.rows[registered.model]
    address = row_url(row)
    sent = form_of(operator, address)
    numbers = [name for name in sent if name.endswith("-TOTAL_FORMS")]
    assert numbers
    for name in numbers:
        page = operator.post(address, sent | {name: "99999999"})
        assert page.status_code == 200
        assert "Please submit at most" in page.content.decode()
        sets = page.context["inline_admin_formsets"]
        assert max(len(one.formset.forms) for one in sets) <= 60


def test_an_organization_with_more_members_than_a_form_may_add_is_saved(operator: Client) -> None:
    place = make_grant("data:read").organization
    for index in range(60):
        user = User.objects.create_user(f"member{index}@example.com")
        Membership.objects.create(user=user, organization=place)
    address = row_url(place)
    saved = operator.post(address, form_of(operator, address) | {"name": "Renamed"})
    assert saved.status_code == 302, saved.context["errors"]
    place.refresh_from_db()
    assert place.name == "Renamed"


@pytest.mark.parametrize(
    ("registered", "kind", "field"),
    [pytest.param(*one, id=f"{one[0]}-{type(one[1]).__name__}-{one[2]}") for one in AUTOCOMPLETE],
)
def test_a_value_that_no_row_has_is_an_error_of_its_autocomplete_field(
    operator: Client, registered: ModelAdmin, kind: Any, field: str
) -> None:
    address = admin_urls.model_url(registered.model, "add")
    for value in ("x", "9" * 40, "-1", "a\0b", "\N{SNOWMAN}" * 300, str(uuid.uuid4())):
        if kind is registered:
            sent = {field: value}
        else:
            fk = inline_prefix(operator, address, kind)
            sent = {f"{fk}-TOTAL_FORMS": "1", f"{fk}-INITIAL_FORMS": "0", f"{fk}-0-{field}": value}
        page = operator.post(address, sent)
        assert page.status_code == 200, value
        forms = [page.context["adminform"].form]
        for inline in page.context["inline_admin_formsets"]:
            forms += inline.formset.forms
        assert any(field in form.errors for form in forms), value


def inline_prefix(browser: Client, address: str, kind: Any) -> str:
    for inline in browser.get(address).context["inline_admin_formsets"]:
        if isinstance(inline.opts, type(kind)):
            return str(inline.formset.prefix)
    raise AssertionError(kind)


@pytest.mark.django_db(transaction=True)
def test_a_page_whose_statement_takes_too_long_is_given_up_and_the_next_is_shown(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = sign_in(User.objects.create_superuser("root@example.com"))
    settings.HALO_PAGE_SECONDS = 0.3
    registered = admin.site._registry[User]
    rows = type(registered).get_queryset

    def endless(self: Any, request: Any) -> Any:
        return rows(self, request).annotate(n=RawSQL(ENDLESS, ())).filter(n=1)  # noqa: S611  ours

    monkeypatch.setattr(type(registered), "get_queryset", endless)
    page = browser.get(admin_urls.model_url(User))
    assert page.status_code == 503
    assert "This took too long" in page.content.decode()
    monkeypatch.undo()
    assert browser.get(admin_urls.model_url(User), follow=True).status_code == 200
