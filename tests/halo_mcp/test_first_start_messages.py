"""What the first start prints about the admin's password is true (SPEC-15)."""

from io import StringIO

import pytest
from django.core.management import call_command

from halo_mcp.bootstrap import FirstAdmin
from halo_mcp.management.commands import bootstrap, up

DRAWN = FirstAdmin("ada@example.com", "drawn-at-random")
GIVEN = FirstAdmin("ada@example.com", None)


def _printed_by_up(admin: FirstAdmin | None) -> str:
    printed = StringIO()
    up.Command(stdout=printed)._welcome(admin)
    return printed.getvalue()


def test_spec15_up_prints_a_drawn_password_and_that_it_is_not_shown_again() -> None:
    printed = _printed_by_up(DRAWN)
    assert "drawn-at-random" in printed
    assert "Copy the password now" in printed


def test_spec15_up_with_a_given_password_says_where_it_is_and_promises_nothing_else() -> None:
    printed = _printed_by_up(GIVEN)
    assert "the value of HALO_ADMIN_PASSWORD" in printed
    assert "shown" not in printed
    assert "Copy" not in printed


def test_spec15_a_second_start_says_nothing_about_a_password() -> None:
    assert "assword" not in _printed_by_up(None)


@pytest.mark.parametrize(("admin", "expected"), [(DRAWN, "drawn-at-random"), (GIVEN, "ADMIN_PASS")])
def test_spec15_bootstrap_says_the_same(
    monkeypatch: pytest.MonkeyPatch, admin: FirstAdmin, expected: str
) -> None:
    monkeypatch.setattr(bootstrap, "bootstrap", lambda: admin)
    printed = StringIO()
    call_command("bootstrap", stdout=printed)
    assert expected in printed.getvalue()
    assert ("not shown again" in printed.getvalue()) == (admin is DRAWN)
