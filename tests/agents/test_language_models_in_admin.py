"""Language models in the admin: a key is entered, checked and replaced, and never shown."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from agents import language_models
from agents.models import LanguageModel
from audit.models import SecurityEvent
from foundation import sealing
from foundation.admin_urls import row_url
from tests.agents import provider_server
from tests.agents.application import Application
from tests.agents.provider_server import Fails, Provider
from tests.drivers.shown_forms import save

pytestmark = pytest.mark.django_db
PAGE = "/admin/agents/languagemodel/"
KEY = "sk-the-key"


@pytest.fixture
def openai_provider() -> Iterator[Provider]:
    with provider_server.serving("openai") as provider:
        yield provider


def form(app: Application, **given: Any) -> dict[str, Any]:
    return {
        "organization": app.organization.pk,
        "provider": "anthropic",
        "model": "claude-test",
        "key": KEY,
        "base_url": "",
        "is_used": "on",
        "max_output_tokens": "4096",
    } | given


def add(browser: Client, app: Application, **given: Any) -> LanguageModel:
    answer = browser.post(f"{PAGE}add/", form(app, **given))
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    return LanguageModel.objects.get(model=given.get("model", "claude-test"))


def errors(answer: Any) -> Any:
    return answer.context["adminform"].form.errors


def test_a_key_is_stored_sealed_and_shown_on_no_page(browser: Client, app: Application) -> None:
    row = add(browser, app)
    assert language_models.key_of(row) == KEY
    for page in (PAGE, row_url(row), row_url(row, "history")):
        assert KEY not in browser.get(page).content.decode()
    event = SecurityEvent.objects.get(kind="language_model_changed")
    assert (event.detail, event.subject) == ("claude-test: added", str(row.pk))


def test_an_empty_field_keeps_the_key(browser: Client, app: Application) -> None:
    row = add(browser, app)
    changed = form(app, key="", max_output_tokens="100")
    assert save(browser, row_url(row), changed).status_code == 302
    row.refresh_from_db()
    assert (row.max_output_tokens, language_models.key_of(row)) == (100, KEY)


@pytest.mark.parametrize(
    "given", [{"provider": "openai"}, {"base_url": "https://llm.example.com"}], ids=str
)
def test_another_address_needs_the_key_again(
    browser: Client, app: Application, given: dict[str, str]
) -> None:
    row = add(browser, app)
    address = row_url(row)
    answer = save(browser, address, form(app, key="", **given))
    assert "another address" in str(errors(answer)["key"])
    assert save(browser, address, form(app, key="sk-another", **given)).status_code == 302
    row.refresh_from_db()
    assert language_models.key_of(row) == "sk-another"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"key": ""}, "key"),
        ({"key": "sk with spaces"}, "key"),
        ({"base_url": "http://llm.example.com"}, "base_url"),
        ({"base_url": "https://10.0.0.7/v1"}, "base_url"),
        ({"base_url": "https://llm.example.com/?key=1"}, "base_url"),
        ({"base_url": "https://[::1"}, "base_url"),
        ({"max_output_tokens": "0"}, "max_output_tokens"),
        ({"input_price": "-1"}, "input_price"),
        ({"model": ""}, "model"),
    ],
)
def test_what_cannot_work_is_an_error_of_its_field(
    browser: Client, app: Application, given: dict[str, str], field: str
) -> None:
    answer = browser.post(f"{PAGE}add/", form(app, **given))
    assert (answer.status_code, {*errors(answer)}) == (200, {field})
    assert not LanguageModel.objects.exists()


def test_agents_use_one_model(browser: Client, app: Application) -> None:
    add(browser, app)
    second = browser.post(f"{PAGE}add/", form(app, model="second"))
    assert "another model already" in str(errors(second))
    add(browser, app, model="second", is_used="")
    used = language_models.find_model(app.organization.pk, None)
    assert used is not None
    assert used.model == "claude-test"


def test_a_test_request_says_whether_the_model_answers(
    browser: Client, app: Application, openai_provider: Provider
) -> None:
    row = add(browser, app, provider="openai", base_url=openai_provider.url)
    sent = {"action": "send_test_request", "_selected_action": [str(row.pk)]}
    page = browser.post(PAGE, sent, follow=True).content.decode()
    assert "It answered with 19 tokens." in page
    openai_provider.answers = [Fails(401)]
    page = browser.post(PAGE, sent, follow=True).content.decode()
    assert "refused the key" in page
    assert KEY not in page


@pytest.mark.parametrize("many", [0, 4])
def test_a_test_request_is_of_few_models(
    browser: Client, app: Application, openai_provider: Provider, many: int
) -> None:
    rows = [
        add(
            browser,
            app,
            provider="openai",
            base_url=openai_provider.url,
            model=f"m{number}",
            is_used="",
        )
        for number in range(many)
    ]
    chosen = [str(row.pk) for row in rows] or [str(app.organization.pk)]
    sent = {"action": "send_test_request", "_selected_action": chosen}
    assert "Select one to 3 models." in browser.post(PAGE, sent, follow=True).content.decode()
    assert openai_provider.requests == []


def test_a_deletion_is_recorded(browser: Client, app: Application) -> None:
    row = add(browser, app)
    assert browser.post(row_url(row, "delete"), {"post": "yes"}).status_code == 302
    details = SecurityEvent.objects.values_list("detail", flat=True)
    assert "claude-test: deleted" in details
    assert not LanguageModel.objects.exists()


def test_a_key_that_cannot_be_decrypted_has_to_be_entered_again(
    browser: Client, app: Application, settings: Any
) -> None:
    row = add(browser, app)
    page = row_url(row)
    assert "to keep the stored key" in browser.get(page).content.decode()
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    shown = browser.get(page).content.decode()
    assert "The stored key cannot be decrypted" in shown
    assert "to keep the stored key" not in shown
    refused = save(browser, page, form(app, key=""))
    assert "Enter the key of the provider." in str(errors(refused))
