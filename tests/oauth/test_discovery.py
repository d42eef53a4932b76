"""Discovery: what a client reads before it knows anything (RFC 8414, RFC 9728)."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.drivers.oauth_client import ORIGIN, REGISTER, REVOKE, TOKEN

SERVER = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource"
PROJECT = "prj_" + "a" * 22
SERVER_PATHS = [
    SERVER,
    f"{SERVER}/api/mcp",
    f"/api/mcp{SERVER}",
    f"{SERVER}/{PROJECT}",
    f"/{PROJECT}{SERVER}",
    f"{SERVER}/api/mcp/{PROJECT}",
    f"/api/mcp/{PROJECT}{SERVER}",
]
RESOURCE_PATHS = [
    RESOURCE,
    f"{RESOURCE}/api/mcp",
    "/api/mcp/.well-known/oauth-protected-resource",
]
PROJECT_PATHS = [f"{RESOURCE}/{PROJECT}", f"/{PROJECT}{RESOURCE}"]
PROJECT_ALIASES = [f"{RESOURCE}/api/mcp/{PROJECT}", f"/api/mcp/{PROJECT}{RESOURCE}"]
DOCUMENTS = [*SERVER_PATHS, *RESOURCE_PATHS, *PROJECT_PATHS, *PROJECT_ALIASES]
INSPECTOR = "http://localhost:6274"


def document(path: str, host: str = "127.0.0.1:8000") -> dict[str, Any]:
    response = Client().get(path, headers={"host": host})
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "public, max-age=300"
    body: dict[str, Any] = json.loads(response.content)
    return body


@pytest.mark.parametrize("path", [pytest.param(path, id=f"G01-{path}") for path in SERVER_PATHS])
def test_the_server_says_what_it_speaks_and_nothing_more(path: str) -> None:
    metadata = document(path)
    assert metadata["issuer"] == ORIGIN
    assert metadata["response_types_supported"] == ["code"]
    assert metadata["response_modes_supported"] == ["query"]
    assert metadata["grant_types_supported"] == [
        "authorization_code",
        "refresh_token",
        "client_credentials",
    ]
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert metadata["token_endpoint_auth_methods_supported"] == [
        "none",
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt",
    ]
    assert metadata["authorization_response_iss_parameter_supported"] is True
    assert "jwks_uri" not in metadata


def test_every_endpoint_it_names_stands_under_the_issuer() -> None:
    metadata = document(SERVER)
    endpoints = {name: url for name, url in metadata.items() if name.endswith("_endpoint")}
    assert sorted(endpoints) == [
        "authorization_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
        "token_endpoint",
    ]
    assert all(url.startswith(f"{ORIGIN}/api/mcp/oauth/") for url in endpoints.values())


@pytest.mark.parametrize("path", [pytest.param(path, id=f"G02-{path}") for path in RESOURCE_PATHS])
def test_the_resource_names_itself_and_its_server(path: str) -> None:
    metadata = document(path)
    assert metadata["resource"] == f"{ORIGIN}/api/mcp"
    assert metadata["authorization_servers"] == [ORIGIN]
    assert metadata["bearer_methods_supported"] == ["header"]


@pytest.mark.parametrize("path", [*PROJECT_PATHS, *PROJECT_ALIASES])
def test_the_resource_of_a_project_names_the_address_that_its_client_has(path: str) -> None:
    address = f"/api/mcp/{PROJECT}" if path in PROJECT_ALIASES else f"/{PROJECT}"
    assert document(path)["resource"] == f"{ORIGIN}{address}"


def test_who_typed_localhost_reads_of_localhost() -> None:
    metadata = document(RESOURCE, host="localhost:8000")
    assert metadata["resource"] == "http://localhost:8000/api/mcp"
    assert metadata["authorization_servers"] == [ORIGIN]


@pytest.mark.parametrize("host", ["localhost:9000", "localhost", "localhost:99999", "localhost:0"])
def test_another_port_is_another_place(host: str) -> None:
    assert document(RESOURCE, host=host)["resource"] == f"{ORIGIN}/api/mcp"


@pytest.mark.usefixtures("db")
def test_an_unknown_host_gets_no_document() -> None:
    assert Client().get(RESOURCE, headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(f"{SERVER}/evil/../x", id="G04-dots"),
        pytest.param(f"{SERVER}/evil", id="G04-suffix"),
        pytest.param("/.well-known/openid-configuration", id="G04-openid"),
        pytest.param("/.well-known/", id="G04-empty"),
    ],
)
def test_anything_else_that_is_well_known_is_not_found_and_not_reflected(path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 404
    assert json.loads(response.content) == {"error": "not_found"}


@pytest.mark.parametrize("path", [pytest.param(path, id=f"G05-{path}") for path in DOCUMENTS])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_documents_are_for_reading(path: str, method: str) -> None:
    response = Client().generic(method, path)
    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_can_be_asked_for_its_headers_alone(path: str) -> None:
    response = Client().head(path)
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("path", [pytest.param(path, id=f"G07-{path}") for path in DOCUMENTS])
def test_a_browser_based_client_reads_documents_without_credentials(path: str) -> None:
    response = Client().get(path, headers={"origin": INSPECTOR})
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=f"G07-{path}") for path in (REGISTER, TOKEN, REVOKE, SERVER)]
)
def test_a_preflight_lets_any_origin_send_what_clients_send(path: str) -> None:
    asked = {
        "origin": INSPECTOR,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,mcp-protocol-version",
    }
    response = Client().options(path, headers=asked)
    allowed = response["Access-Control-Allow-Headers"].split(", ")
    assert response.status_code == 200
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "POST" in response["Access-Control-Allow-Methods"]
    assert {"content-type", "mcp-protocol-version", "authorization"} <= set(allowed)
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", [pytest.param(path, id=f"G07-answer-{path}") for path in (REGISTER, TOKEN, REVOKE)]
)
def test_a_browser_based_client_reads_what_it_is_answered(path: str) -> None:
    response = Client().post(path, headers={"origin": INSPECTOR})
    assert response.status_code in {200, 400}
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("path", ["/signin", "/api/mcp/oauth/authorize", "/api/mcp/oauth/consent"])
def test_pages_for_people_are_not_shared_with_other_origins(path: str) -> None:
    response = Client().get(path, headers={"origin": INSPECTOR})
    assert "Access-Control-Allow-Origin" not in response


@pytest.mark.parametrize("path", [REGISTER, TOKEN, REVOKE])
def test_an_endpoint_says_which_methods_it_has(path: str) -> None:
    response = Client().options(path)
    assert (response.status_code, response["Allow"]) == (204, "POST, OPTIONS")
