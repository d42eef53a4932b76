"""The addresses of pages of the Django admin.

The admin reads `_5F` and nineteen other escapes in a key of an address, so the key `toc_5F1` is not
its own address. Keys are quoted here and nowhere else (`tests/architecture/test_admin_urls.py`).
"""

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import reverse


def page_url(page: str, *keys: object, **filters: str) -> str:
    """Returns the address of a page of the admin, such as `workspace_ticket_change` of one key.

    `filters` become the query. Raises NoReverseMatch.
    """
    return reverse(f"admin:{page}", args=[quote(str(key)) for key in keys], query=filters or None)


def model_url(model: type[Model], page: str = "changelist", *keys: object, **filters: str) -> str:
    """Returns the address of a page of a model, such as its list. Raises NoReverseMatch."""
    return page_url(f"{model._meta.app_label}_{model._meta.model_name}_{page}", *keys, **filters)


def row_url(row: Model, page: str = "change") -> str:
    """Returns the address of a page about a row: `change`, `delete`, `history` or one of ours.

    Raises NoReverseMatch.
    """
    return model_url(type(row), page, row.pk)
