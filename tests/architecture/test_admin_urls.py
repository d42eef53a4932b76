"""Addresses of the admin are made by `foundation.admin_urls`, which quotes keys."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture import sources

ONLY = "foundation/admin_urls.py"
REVERSING = {"reverse", "redirect"}
PAGES = "change|delete|history|approve|decline|erase|export|confirm|refused|rotate-secret|connect"
# Sooner known than by parsing.
MAY_HAVE_ONE = re.compile(rf"admin:|/(?:{PAGES})/")
KEY_IN_PATH = re.compile(rf"\}}/(?:{PAGES})/")
OF_THE_ADMIN = re.compile(r"/admin/|\{[A-Z_]+\}\{")
KEY_IN_TEMPLATE = re.compile(
    r"\{% url (?:['\"]admin:\w+['\"]|\w+\|admin_urlname:['\"]\w+['\"]) (?!as |%|\w+=)[^%]*%\}"
)


def problems(path: str, text: str) -> Iterator[str]:
    """The lines of a file that make the address of a row by themselves."""
    if path.endswith(".html"):
        yield from KEY_IN_TEMPLATE.findall(text)
    elif path.endswith(".py") and path != ONLY and MAY_HAVE_ONE.search(text):
        for node in ast.walk(ast.parse(text)):
            if _is_reverse_with_a_key(node) or _is_path_with_a_key(node):
                yield ast.unparse(node)


def _is_reverse_with_a_key(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in REVERSING:
        return False
    given = {keyword.arg for keyword in node.keywords}
    return "admin:" in ast.unparse(node) and not given.isdisjoint({"args", "kwargs"})


def _is_path_with_a_key(node: ast.AST) -> bool:
    if not isinstance(node, ast.JoinedStr):
        return False
    source = ast.unparse(node)
    return bool(KEY_IN_PATH.search(source) and OF_THE_ADMIN.search(source))


def test_no_address_of_a_row_in_the_admin_is_made_elsewhere() -> None:
    made = [(path, found) for path, text in sources.texts() for found in problems(path, text)]
    assert made == []


def test_keys_are_quoted_in_one_module() -> None:
    importing = [
        path
        for path, text in sources.texts()
        if path.endswith(".py")
        and re.search(r"from django\.contrib\.admin\.utils import [^\n]*\bquote\b", text)
    ]
    assert importing == [ONLY]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("audit/x.py", 'reverse("admin:oauth_client_change", args=[row.pk])'),
        ("audit/x.py", 'reverse(f"admin:{model}_change", kwargs={"object_id": key})'),
        ("tests/x.py", 'http.get(f"/admin/workspace/ticket/{row.pk}/change/")'),
        ("tests/x.py", 'http.get(f"{TICKETS}{row.pk}/delete/")'),
        ("templates/x.html", "{% url 'admin:workspace_ticket_change' row.pk %}"),
        ("templates/x.html", "{% url 'admin:workspace_ticket_change' row.pk|admin_urlquote %}"),
        ("templates/x.html", "{% url opts|admin_urlname:'change' row.pk %}"),
    ],
)
def test_an_address_with_a_key_of_its_own_is_found(path: str, text: str) -> None:
    assert len(list(problems(path, text))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("audit/x.py", 'reverse("admin:oauth_client_changelist")'),
        ("tests/x.py", 'http.get(f"/admin/workspace/{model}/add/")'),
        ("tests/x.py", 'http.get(f"{at(waiting)}/approve")'),
        ("templates/x.html", "{% url 'admin:jsi18n' %}"),
        ("templates/x.html", "{% url 'admin:app_list' app_label=opts.app_label %}"),
    ],
)
def test_an_address_without_a_key_is_not(path: str, text: str) -> None:
    assert list(problems(path, text)) == []
