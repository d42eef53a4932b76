"""Where no view answers: people get a page, programs get JSON, nobody gets a stack trace."""

import json
from collections.abc import Callable

import pytest
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from console import errors
from tests.console import markup

Handler = Callable[[HttpRequest, Exception], HttpResponse]
HANDLERS: list[tuple[Handler, int, str, str]] = [
    (errors.bad_request, 400, "bad_request", "We couldn't read that request"),
    (errors.forbidden, 403, "forbidden", "You don't have access to this page"),
    (errors.not_found, 404, "not_found", "Page not found"),
    (lambda request, _: errors.server_error(request), 500, "server_error", "Something went wrong"),
]
EVERY_HANDLER = pytest.mark.parametrize(("handler", "status", "error", "words"), HANDLERS)
PROGRAM_PATHS = ["/api/nothing", "/.well-known/nothing"]


@EVERY_HANDLER
def test_a_person_reads_what_happened(
    rf: RequestFactory, handler: Handler, status: int, error: str, words: str
) -> None:
    response = handler(rf.get("/somewhere"), Exception(error))
    page = markup.read(response.content)
    assert response.status_code == status
    assert words in page.one("h1").text
    assert page.one("a", class_="button button-line").attributes["href"] == "/"


@EVERY_HANDLER
def test_a_program_reads_json(
    rf: RequestFactory, handler: Handler, status: int, error: str, words: str
) -> None:
    for path in PROGRAM_PATHS:
        response = handler(rf.get(path), Exception(words))
        assert response.status_code == status
        assert response["Content-Type"] == "application/json"
        assert json.loads(response.content) == {"error": error}


def test_a_path_that_only_resembles_a_programs_is_a_persons(rf: RequestFactory) -> None:
    response = errors.not_found(rf.get("/apiary"), Http404())
    assert response["Content-Type"].startswith("text/html")


def test_the_exceptions_words_stay_inside(rf: RequestFactory) -> None:
    response = errors.not_found(rf.get("/somewhere"), Http404("halo_at_secret"))
    assert b"halo_at_secret" not in response.content


def test_a_broken_server_answers_without_asking_who_is_there(rf: RequestFactory) -> None:
    class Broken:
        @property
        def is_authenticated(self) -> bool:
            raise RuntimeError

    request = rf.get("/somewhere")
    request.user = Broken()  # type: ignore[assignment]  # no user at all
    assert errors.server_error(request).status_code == 500


@pytest.mark.usefixtures("db")
def test_the_front_door_uses_these_pages(client: Client) -> None:
    page, program = client.get("/nowhere"), client.get("/api/nowhere")
    assert (page.status_code, program.status_code) == (404, 404)
    assert "Page not found" in markup.read(page.content).text
    assert program.json() == {"error": "not_found"}


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("path", ["/", "/connections", "/docs/", "/account/security"])
def test_a_form_sent_to_a_page_that_takes_none_is_answered_by_a_page(
    path: str, client: Client
) -> None:
    response = client.put(path)
    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
    assert markup.read(response.content).one("h1").text == "This page can't be opened this way"


@pytest.mark.usefixtures("db")
def test_a_form_without_its_token_says_to_go_back_and_try_again() -> None:
    stranger = Client(enforce_csrf_checks=True)
    response = stranger.post("/signin", {"login": "ada@acme.example", "password": "guess"})
    assert response.status_code == 403
    assert "Go back, reload the page and try again" in markup.read(response.content).text
