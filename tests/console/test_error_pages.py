"""Where no view answers: people get a page, programs get JSON, nobody gets a stack trace."""

import json
from collections.abc import Callable

import pytest
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from console import errors
from tests.console import markup
from tests.drivers import in_process_server

Handler = Callable[[HttpRequest, Exception], HttpResponse]
HANDLERS: list[tuple[Handler, int, str, str]] = [
    (errors.bad_request, 400, "bad_request", "We couldn't read that request"),
    (errors.permission_denied, 403, "forbidden", "You don't have access to this page"),
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
    class BrokenUser:
        @property
        def is_authenticated(self) -> bool:
            raise RuntimeError

    request = rf.get("/somewhere")
    request.user = BrokenUser()  # type: ignore[assignment]  # no user at all
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


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    "path",
    [
        *("/api/nothing", "/api/mcp/nothing", "/api/mcp/a/b", "/api/mcp/oauth/nothing", "/oauth/x"),
        *("/register/x", "/prj_x/nothing", "/prj_x/a/b", "/api/mcp/prj_x/a"),
        *("/prj_x/.well-known/nothing", "/w/acme/api/nothing", "/w/acme/api/mcp/a/b"),
        *("/w/acme/api/mcp/.well-known/oauth-authorization-server", "/aap/nothing"),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_below_the_addresses_of_programs_what_does_not_exist_is_json(
    path: str, method: str, client: Client
) -> None:
    response = getattr(client, method)(path)
    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"
    assert response.json()["error"]


SENTENCE = "There is nothing at this address."


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    "path", ["/api/v1/nothing", "/w/acme/api/v1/people/x/nothing", "/w/acme/api/v1", "/api/v1/me/"]
)
def test_an_unknown_address_of_the_hr_api_is_an_error_of_the_hr_api(
    path: str, client: Client
) -> None:
    response = client.get(path)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["message"]) == (404, "not_found", SENTENCE)
    assert error["request_id"] == response["X-Request-ID"]


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("path", ["/api/sdk", "/api/sdk/users", "/api/sdk/identify/"])
def test_an_unknown_address_of_the_sdk_api_is_an_error_of_the_sdk_api(
    path: str, client: Client
) -> None:
    response = client.post(path, "{}", "application/json")
    assert response.status_code == 404
    assert response.json() == {"error": "not_found", "reason": SENTENCE}


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("path", ["/aap", "/aap/sessions/1/2/3"])
def test_an_unknown_address_of_agents_is_an_error_of_their_protocol(
    path: str, client: Client
) -> None:
    behind_wsgi = client.get(path)
    ahead_of_django = in_process_server.request("GET", path, [("Host", "127.0.0.1:8000")], b"")
    assert (behind_wsgi.status_code, behind_wsgi.json()) == (404, {"error": SENTENCE})
    status, _headers, body = ahead_of_django
    assert (status, json.loads(body)) == (404, {"error": SENTENCE})


@pytest.mark.usefixtures("db")
def test_a_document_of_an_api_refuses_another_method_in_the_form_of_its_api(
    client: Client,
) -> None:
    sdk, hr = client.put("/api/sdk/openapi.json"), client.delete("/w/acme/api/v1/openapi.json")
    assert (sdk.status_code, sdk["Allow"], hr.status_code) == (405, "GET, HEAD", 405)
    assert sdk.json()["error"] == hr.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.usefixtures("db")
def test_an_unknown_method_of_an_address_is_refused_in_the_form_of_its_api(client: Client) -> None:
    sdk = client.generic("PROPFIND", "/api/sdk/events")
    assert (sdk.status_code, sdk.json()["error"]) == (405, "method_not_allowed")
    hr = client.generic("TRACE", "/w/acme/api/v1/me")
    assert hr.json()["error"]["code"] in {"authentication_required", "method_not_allowed"}


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("method", ["TRACE", "PROPFIND", "BREW", "PUT", "get"])
@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/aap/sessions", 405, "This method is not allowed here."),
        ("/aap/meta", 405, "This method is not allowed here."),
        ("/aap/nothing", 404, SENTENCE),
    ],
)
def test_a_method_that_agents_do_not_know_is_refused_in_the_form_of_their_protocol(
    path: str, status: int, sentence: str, method: str
) -> None:
    host = [("Host", "127.0.0.1:8000")]
    answered, headers, body = in_process_server.request(method, path, host, b"")
    assert (answered, json.loads(body)) == (status, {"error": sentence})
    assert headers["content-type"] == "application/json"
    assert status == 404 or headers["allow"] == "GET, HEAD"


@pytest.mark.usefixtures("db")
def test_an_unknown_address_of_an_mcp_endpoint_is_an_error_of_json_rpc(client: Client) -> None:
    for path in ("/api/mcp/nothing", "/w/not%20a%20name/api/mcp", "/prj_short"):
        response = client.post(path, "{}", "application/json")
        error = {"code": -32600, "message": SENTENCE}
        assert response.status_code == 404
        assert response.json() == {"jsonrpc": "2.0", "id": None, "error": error}


def test_an_unexpected_failure_has_the_form_of_its_api(rf: RequestFactory) -> None:
    sdk = json.loads(errors.server_error(rf.get("/api/sdk/events")).content)
    hr = json.loads(errors.server_error(rf.get("/w/acme/api/v1/me")).content)
    assert sdk == {"error": "server_error", "reason": "Internal error."}
    assert hr["error"]["code"] == "internal_error"
