"""Many at once with the same code, key or guess: one of them is right, and nothing breaks."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from console.account import guesses, second_factors
from foundation.limits import Limit
from tests.console.second_factors import SECURITY, FactorVisitor, Response, alerts, code, page
from workspace.models import User

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 12


@pytest.fixture(autouse=True)
def _limits_far_away(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.HALO_RATE_SIGNIN = settings.HALO_RATE_AUTHORIZE = Limit.parse("100000/m")
    for name in ("CODES_HERE", "CODES_OF_ACCOUNT", "CODES_OF_BROWSER"):
        monkeypatch.setattr(guesses, name, Limit.parse("1000/m"))


def run_at_once(acts: Sequence[Callable[[], Response]]) -> list[Response]:
    start = Barrier(len(acts))

    def run(act: Callable[[], Response]) -> Response:
        start.wait(60)
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def half_way() -> FactorVisitor:
    visitor = FactorVisitor()
    assert visitor.sign_in()["Location"] == "/signin/code"
    return visitor


@pytest.fixture
def _slow_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading what was used and writing it there is time for all others to read."""
    judge = second_factors.step_of

    def slow(*given: Any, **named: Any) -> int | None:
        time.sleep(0.02)  # no event: the others may read now, and need not
        return judge(*given, **named)

    monkeypatch.setattr(second_factors, "step_of", slow)


@pytest.mark.usefixtures("_slow_judge")
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_a_code_sent_many_times_at_once_signs_in_once(visitor: FactorVisitor, kind: str) -> None:
    visitor.sign_in()
    secret, codes = visitor.add_app()
    visitors = [half_way() for _ in range(MANY)]
    typed = {"app": code(secret, steps=1), "recovery": codes[0]}[kind]

    answers = run_at_once([lambda one=one: one.enter(typed) for one in visitors])

    assert sorted(answer.status_code for answer in answers) == [200] * (MANY - 1) + [302]
    assert sum(one.is_signed_in for one in visitors) == 1


def test_an_app_turned_on_many_times_at_once_is_one_app(visitor: FactorVisitor, ada: User) -> None:
    visitor.sign_in()
    visitor.confirm()
    secret = page(visitor.browser.get(f"{SECURITY}/app")).one("code").text
    typed = code(secret)
    browsers = []
    for _ in range(MANY):
        browsers.append(Client())
        browsers[-1].cookies = visitor.browser.cookies

    path = f"{SECURITY}/app"
    answers = run_at_once([lambda one=one: one.post(path, {"code": typed}) for one in browsers])

    assert {answer.status_code for answer in answers} <= {200, 302}
    assert sorted(row.type for row in ada.authenticator_set.all()) == ["recovery_codes", "totp"]


def test_guesses_at_once_are_no_more_than_guesses_one_by_one(
    visitor: FactorVisitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.sign_in()
    visitor.add_app()
    monkeypatch.setattr(guesses, "CODES_HERE", Limit.parse("5/h"))
    visitors = [half_way() for _ in range(MANY)]

    answers = run_at_once([lambda one=one: one.enter("000000") for one in visitors])

    judged = [answer for answer in answers if "Incorrect or used code" in alerts(page(answer))]
    assert len(judged) == 5
