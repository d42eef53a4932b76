"""A key may hold whatever the admin reads as an escape in an address, such as `_5F`."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib import admin
from django.contrib.admin.utils import UNQUOTE_MAP
from django.db import models
from django.test import Client as Http

from foundation.admin_urls import model_url, row_url
from tests.drivers import full_tenants
from workspace.models import Customer, DataImport, User

ESCAPES = list(UNQUOTE_MAP)
PAGES_OF_ITS_OWN = {Customer: ("export", "erase"), DataImport: ("refused",)}
TEXT_KEYS = [
    model for model in admin.site._registry if isinstance(model._meta.pk, models.CharField)
]


def keys_with_escapes(model: type[models.Model]) -> Iterator[str]:
    """Keys that hold all escapes together, each as long as the column allows."""
    size = (model._meta.pk.max_length or 0) // len(ESCAPES[0])
    for first in range(0, len(ESCAPES), size):
        yield "".join(ESCAPES[first : first + size])


@contextmanager
def replace_key(row: models.Model, key: str) -> Iterator[None]:
    """The row has another key; those that refer to it are not changed."""
    rows, before = type(row)._base_manager, row.pk
    rows.filter(pk=before).update(id=key)
    row.pk = key
    yield
    rows.filter(pk=key).update(id=before)
    row.pk = before


@pytest.fixture
def root(client: Http, db: None) -> Http:  # noqa: ARG001  opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def test_the_admin_reads_twenty_escapes() -> None:
    assert len(ESCAPES) == 20
    assert {len(escape) for escape in ESCAPES} == {3}


@pytest.mark.parametrize("model", TEXT_KEYS)
def test_every_page_of_a_row_with_such_a_key_is_found(
    model: type[models.Model], root: Http
) -> None:
    row = full_tenants.tenant("acme").rows[model]
    for key in keys_with_escapes(model):
        with replace_key(row, key):
            linked = re.findall(r'href="([^"?]+)', root.get(model_url(model)).content.decode())
            assert row_url(row) in linked, key
            for page in ("change", "history", *PAGES_OF_ITS_OWN.get(model, ())):
                assert root.get(row_url(row, page)).status_code == 200, (key, page)
            answer = root.get(row_url(row, "delete"))
            assert answer.status_code == 200 or not may_delete(model, row, answer), key


def may_delete(model: type[models.Model], row: models.Model, answer: object) -> bool:
    request = answer.wsgi_request  # type: ignore[attr-defined]  of the test client
    return admin.site.get_model_admin(model).has_delete_permission(request, row)
