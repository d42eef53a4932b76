"""Service clients: programs that get tokens with their own credentials."""

import json
import re
import time
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from django.test import Client
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from foundation.admin_urls import row_url
from oauth.clients import assertions
from oauth.grants import cleanup
from oauth.models import AccessToken, Authorization, RefreshToken, ServiceClient, UsedAssertion
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import (
    REVOKE,
    SERVER_DOCUMENT,
    TOKEN,
    Browser,
    OAuthClient,
    Response,
    encode_form,
)
from workspace import organizations
from workspace.models import Organization, User

PAGE = "/service-clients"
ISSUER = "http://127.0.0.1:8000"
SECRET = re.compile(r"halo_cs_[A-Za-z0-9_-]{43}")
KEY = ec.generate_private_key(ec.SECP256R1())


def jwks(*keys: Any, **members: Any) -> str:
    """A JWK Set of the public halves of these keys."""
    names = {
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    found = [
        algorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": str(number)} | members
        for number, key in enumerate(keys)
        for kind, algorithm in names.items()
        if isinstance(key, kind)
    ]
    return json.dumps({"keys": found})


@dataclass
class ServiceProgram:
    """A service client as its program sees it."""

    row: ServiceClient
    secret: str

    @property
    def client_id(self) -> str:
        return self.row.client.client_id

    def request(self, **changes: Any) -> Response:
        """Requests a token with the secret, in the method that is registered."""
        fields: dict[str, Any] = {"grant_type": "client_credentials"}
        headers = {}
        if self.row.client.auth_method == "client_secret_basic":
            pair = f"{self.client_id}:{self.secret}"
            headers["HTTP_AUTHORIZATION"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            fields |= {"client_id": self.client_id, "client_secret": self.secret}
        return post(fields | changes, **headers)

    def claims(self, **changes: Any) -> dict[str, Any]:
        claims = {
            "iss": self.client_id,
            "sub": self.client_id,
            "aud": ISSUER,
            "exp": int(time.time()) + 60,
            "jti": f"{time.monotonic_ns()}",
        } | changes
        return {name: value for name, value in claims.items() if value is not None}

    def assert_with(
        self, key: Any = KEY, algorithm: str = "ES256", kid: str = "0", **changes: Any
    ) -> Response:
        """Requests a token with a signed assertion."""
        signed = jwt.encode(self.claims(**changes), key, algorithm=algorithm, headers={"kid": kid})
        return present(signed)


def post(fields: dict[str, Any], address: str = TOKEN, **headers: str) -> Response:
    return Client(HTTP_HOST="127.0.0.1:8000").post(
        address, encode_form(fields), content_type="application/x-www-form-urlencoded", **headers
    )


def present(assertion: str, **changes: Any) -> Response:
    fields = {
        "grant_type": "client_credentials",
        "client_assertion_type": assertions.TYPE,
        "client_assertion": assertion,
    }
    return post(fields | changes)


@pytest.fixture
def admin(ada: User, acme: Organization) -> Client:  # noqa: ARG001  she administers it
    client = Client(HTTP_HOST="127.0.0.1:8000")
    client.force_login(ada)
    return client


def create(admin: Client, acme: Organization, **entered: Any) -> ServiceProgram:
    form = {
        "organization": acme.pk,
        "name": "Deployment pipeline",
        "scopes": ["data:read", "docs:read"],
        "method": "client_secret_basic",
        "jwks": "",
    } | entered
    shown = admin.post(PAGE, form)
    assert shown.status_code == 200, shown.content
    text = shown.content.decode()
    row = ServiceClient.objects.select_related("client", "authorization__user").latest("pk")
    assert row.client.client_id in text
    return ServiceProgram(row, "".join(SECRET.findall(text)))


@pytest.fixture
def program(admin: Client, acme: Organization) -> ServiceProgram:
    return create(admin, acme)


@pytest.fixture
def signing(admin: Client, acme: Organization) -> ServiceProgram:
    program = create(admin, acme, method="private_key_jwt", jwks=jwks(KEY))
    assert not program.secret
    return program


def is_accepted(response: Response) -> bool:
    token = response.json()["access_token"]
    return McpClient(token=token).request("ping").status == 200


def refusal(response: Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_program_gets_a_token_with_its_secret_and_calls_a_tool_as_its_own_member(
    method: str, admin: Client, acme: Organization
) -> None:
    program = create(admin, acme, method=method)
    issued = program.request()
    body = issued.json()

    assert issued.status_code == 200
    assert issued["Cache-Control"] == "no-store"
    assert set(body) == {"access_token", "token_type", "expires_in", "scope"}
    assert body["scope"] == "data:read docs:read"
    reply = McpClient(token=body["access_token"]).call("data_find_user", {"email": "a@b.example"})
    assert reply.status == 200
    call = ActionExecution.objects.get(tool="data_find_user")
    member = program.row.authorization.user
    assert (call.client_id, call.user_id) == (program.client_id, str(member.pk))
    assert call.organization_id == str(acme.pk)
    assert member.memberships.get().role == "member"
    assert not RefreshToken.objects.exists()
    listed = admin.get(PAGE).content.decode()
    assert "Deployment pipeline" in listed
    assert not SECRET.search(listed)
    for model in (ServiceClient, AccessToken, SecurityEvent):
        assert program.secret not in str(model.objects.values())
    assert SecurityEvent.objects.filter(kind="service_client_created").exists()


def test_the_metadata_announces_client_credentials_and_signed_assertions(db: None) -> None:  # noqa: ARG001  rate limits
    document = Client(HTTP_HOST="127.0.0.1:8000").get(SERVER_DOCUMENT).json()

    assert "client_credentials" in document["grant_types_supported"]
    methods = document["token_endpoint_auth_methods_supported"]
    assert {"client_secret_basic", "client_secret_post", "private_key_jwt"} <= set(methods)
    algorithms = document["token_endpoint_auth_signing_alg_values_supported"]
    assert set(algorithms) == {"ES256", "RS256", "PS256", "EdDSA"}


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256", "EdDSA"])
def test_a_program_gets_a_token_with_a_signed_assertion(
    algorithm: str, admin: Client, acme: Organization
) -> None:
    keys = [KEY, rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate()]
    number = {"ES256": 0, "EdDSA": 2}.get(algorithm, 1)
    program = create(admin, acme, method="private_key_jwt", jwks=jwks(*keys))

    issued = program.assert_with(keys[number], algorithm, str(number), aud=[ISSUER])
    assert is_accepted(issued)
    to_endpoint = program.assert_with(
        keys[number], algorithm, str(number), aud=f"{ISSUER}/api/mcp/oauth/token"
    )
    assert is_accepted(to_endpoint)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"aud": "https://elsewhere.example"}, "audience"),
        ({"aud": f"{ISSUER}/api/mcp"}, "audience"),
        ({"aud": None}, "aud"),
        ({"exp": int(time.time()) - 120}, "expired"),
        ({"exp": int(time.time()) + 90_000}, "600 seconds"),
        ({"exp": 1e300}, "600 seconds"),
        ({"exp": None}, "exp"),
        ({"exp": "soon"}, "signed"),
        ({"nbf": int(time.time()) + 90_000}, "signed"),
        ({"jti": None}, "jti"),
        ({"jti": ""}, "jti"),
        ({"jti": "x" * 201}, "jti"),
        ({"iss": "halo_client_other"}, "iss and sub"),
    ],
)
def test_an_assertion_for_another_audience_or_of_another_time_is_refused_and_recorded(
    changes: dict[str, Any], why: str, signing: ServiceProgram
) -> None:
    refused = signing.assert_with(**changes)

    assert refusal(refused) == (401, "invalid_client")
    assert why in refused.json()["error_description"]
    assert not AccessToken.objects.exists()
    event = SecurityEvent.objects.get(kind="service_client_refused")
    assert (event.subject, event.client_id) == (str(signing.row.pk), signing.client_id)
    assert event.organization_id == str(signing.row.organization_id)
    assert why in event.detail


def test_an_assertion_is_accepted_once(signing: ServiceProgram) -> None:
    signed = jwt.encode(signing.claims(), KEY, algorithm="ES256")

    assert is_accepted(present(signed))
    again = present(signed)
    assert refusal(again) == (401, "invalid_client")
    assert "used before" in again.json()["error_description"]
    assert SecurityEvent.objects.filter(kind="service_client_refused").exists()
    assert cleanup.due()["used client assertions"] == 0
    UsedAssertion.objects.update(expires_at=timezone.now())
    cleanup.prune_spent_credentials()
    assert not UsedAssertion.objects.exists()


def test_an_assertion_of_another_key_another_client_or_no_algorithm_is_refused(
    signing: ServiceProgram, admin: Client, acme: Organization
) -> None:
    other = create(
        admin, acme, method="private_key_jwt", jwks=jwks(ec.generate_private_key(ec.SECP256R1()))
    )
    claims = signing.claims()
    public = json.dumps(signing.row.jwks["keys"][0])
    for wrong in (
        jwt.encode(other.claims(), KEY, algorithm="ES256"),
        jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256"),
        jwt.encode(claims, KEY, algorithm="ES256", headers={"kid": "other"}),
        jwt.encode(claims, None, algorithm="none"),
        jwt.encode(claims, public * 2, algorithm="HS256"),
        jwt.encode(claims | {"sub": "halo_client_unknown"}, KEY, algorithm="ES256"),
        jwt.encode({"iss": "x"}, KEY, algorithm="ES256"),
        jwt.encode(claims | {"jti": "\ud800"}, KEY, algorithm="ES256"),
        jwt.encode(claims | {"sub": "\ud800"}, KEY, algorithm="ES256"),
        jwt.encode(claims | {"sub": 7, "extra": "\0"}, KEY, algorithm="ES256"),
        "not.a.jwt",
        "x",
    ):
        assert refusal(present(wrong)) == (401, "invalid_client")
    good = jwt.encode(claims, KEY, algorithm="ES256")
    assert refusal(present(good, client_id=other.client_id)) == (400, "invalid_request")
    assert refusal(present(good, client_secret="x")) == (400, "invalid_request")
    assert refusal(present(good, client_assertion_type="other")) == (400, "invalid_request")
    assert is_accepted(present(good, client_id=signing.client_id))


def test_a_wrong_secret_another_method_and_an_unknown_client_are_refused(
    program: ServiceProgram, oauth_client: OAuthClient
) -> None:
    in_form = {"client_id": program.client_id, "client_secret": program.secret}
    assert refusal(ServiceProgram(program.row, "halo_cs_" + "A" * 43).request()) == (
        401,
        "invalid_client",
    )
    event = SecurityEvent.objects.get(kind="service_client_refused")
    assert (event.subject, event.detail) == (str(program.row.pk), "wrong secret")
    fields = {"grant_type": "client_credentials"}
    assert refusal(post(fields | in_form)) == (401, "invalid_client")
    assert refusal(post(fields | {"client_id": "halo_client_guess"})) == (401, "invalid_client")
    # A client that registered itself, for people, has no access of its own.
    of_people = post(fields | {"client_id": oauth_client.client_id})
    assert refusal(of_people) == (400, "unauthorized_client")


def test_a_token_has_the_requested_scopes_and_is_for_the_workspace_only(
    program: ServiceProgram,
) -> None:
    narrow = program.request(scope="docs:read", resource=f"{ISSUER}/api/mcp").json()
    assert narrow["scope"] == "docs:read"
    assert "data_find_user" not in McpClient(token=narrow["access_token"]).tool_names()
    # What a challenge names is more than it has.
    assert program.request(scope="docs:read setup:read").json()["scope"] == "docs:read"
    for lacking in ("setup:read", "actions:hubspot:*", "openid", "nosuch"):
        assert refusal(program.request(scope=lacking)) == (400, "invalid_scope")
    for other in (f"{ISSUER}/prj_{'A' * 22}", "https://elsewhere.example/api/mcp"):
        assert refusal(program.request(resource=other)) == (400, "invalid_target")
    assert SecurityEvent.objects.filter(kind="token_rejected", detail="invalid_target").exists()


def test_a_disabled_service_client_is_refused_until_it_is_enabled_and_a_deleted_one_for_good(
    program: ServiceProgram, admin: Client
) -> None:
    issued = program.request()
    address = f"{PAGE}/{program.row.pk}"
    admin.post(f"{address}/switch")
    assert not is_accepted(issued)
    assert refusal(program.request()) == (400, "invalid_grant")
    assert "Disabled" in admin.get(PAGE).content.decode()
    admin.post(f"{address}/switch", {"on": "1"})
    assert is_accepted(issued)

    assert "Delete Deployment pipeline?" in admin.get(f"{address}/delete").content.decode()
    assert admin.post(f"{address}/delete").status_code == 302
    assert not is_accepted(issued)
    assert refusal(program.request()) == (400, "invalid_grant")
    assert admin.post(f"{address}/delete").status_code == 302
    admin.post(f"{address}/switch", {"on": "1"})
    assert not is_accepted(issued)
    member = User.objects.get(pk=program.row.authorization.user_id)
    assert not member.is_active
    assert not member.memberships.exists()
    kinds = set(SecurityEvent.objects.values_list("kind", flat=True))
    assert {"client_disabled", "client_enabled", "service_client_ended"} <= kinds


def test_a_removed_member_and_a_suspended_organization_end_the_tokens(
    program: ServiceProgram,
) -> None:
    issued = program.request()
    Organization.objects.update(suspended_at=timezone.now())
    assert not is_accepted(issued)
    Organization.objects.update(suspended_at=None)
    assert is_accepted(issued)
    program.row.authorization.user.memberships.all().delete()
    assert not is_accepted(issued)
    assert refusal(program.request()) == (400, "invalid_grant")


def test_replaced_credentials_are_refused(
    program: ServiceProgram, signing: ServiceProgram, admin: Client
) -> None:
    shown = admin.post(f"{PAGE}/{program.row.pk}/credentials").content.decode()
    (secret,) = SECRET.findall(shown)
    assert refusal(program.request()) == (401, "invalid_client")
    assert is_accepted(ServiceProgram(program.row, secret).request())

    new = ec.generate_private_key(ec.SECP256R1())
    address = f"{PAGE}/{signing.row.pk}/credentials"
    assert admin.post(address, {"jwks": "{}"}).status_code == 400
    assert is_accepted(signing.assert_with())
    assert admin.post(address, {"jwks": jwks(new)}).status_code == 302
    assert refusal(signing.assert_with()) == (401, "invalid_client")
    assert is_accepted(signing.assert_with(new))


def test_a_program_that_revokes_its_token_keeps_its_access(program: ServiceProgram) -> None:
    issued, other = program.request(), program.request()
    pair = f"{program.client_id}:{program.secret}"
    basic = f"Basic {b64encode(pair.encode()).decode()}"
    post({"token": issued.json()["access_token"]}, REVOKE, HTTP_AUTHORIZATION=basic)
    assert not is_accepted(issued)
    assert is_accepted(other)
    assert is_accepted(program.request())


def test_a_service_client_does_not_expire_and_the_clean_up_keeps_it(
    program: ServiceProgram, settings: Any
) -> None:
    long_ago = timezone.now() - timezone.timedelta(days=settings.HALO_REFRESH_MAX_DAYS + 400)
    Authorization.objects.update(created_at=long_ago)
    cleanup.prune_spent_credentials()
    cleanup.prune_unused_clients()
    assert is_accepted(program.request())


def test_the_member_of_a_service_client_cannot_sign_in_administer_or_approve(
    program: ServiceProgram, acme: Organization
) -> None:
    member = program.row.authorization.user
    member.memberships.update(role="admin")
    member.set_password("correct horse battery staple")
    member.save()
    browser = Browser()
    page = browser.open("/signin")
    browser.submit(page, "login", login=member.email, password="correct horse battery staple")
    assert browser.open("/connections").status_code == 302
    visitor = Client(HTTP_HOST="127.0.0.1:8000")
    visitor.force_login(member)
    assert visitor.get(PAGE).status_code == 404
    assert acme.memberships.filter(user=member).exists()


def test_a_service_client_is_created_by_an_admin_of_its_organization_with_public_keys(
    acme: Organization, program: ServiceProgram
) -> None:
    bo = User.objects.create_user("bo@elsewhere.example", "correct horse battery staple")
    elsewhere = organizations.create("Elsewhere", owner=bo)
    stranger = Client(HTTP_HOST="127.0.0.1:8000")
    assert stranger.get(PAGE).status_code == 302
    stranger.force_login(bo)
    assert program.client_id not in stranger.get(PAGE).content.decode()
    for page in ("credentials", "delete", "switch"):
        assert stranger.post(f"{PAGE}/{program.row.pk}/{page}").status_code == 404
    member = User.objects.create_user("cy@elsewhere.example", "correct horse battery staple")
    organizations.join(elsewhere, member)
    visitor = Client(HTTP_HOST="127.0.0.1:8000")
    visitor.force_login(member)
    assert visitor.get(PAGE).status_code == 404

    private = jwt.algorithms.ECAlgorithm.to_jwk(KEY, as_dict=True)
    small = rsa.generate_private_key(65537, 1024)  # noqa: S505  too small on purpose
    right = {
        "organization": elsewhere.pk,
        "name": "x",
        "scopes": ["docs:read"],
        "method": "private_key_jwt",
        "jwks": jwks(KEY),
    }
    for wrong in (
        {"organization": acme.pk},
        {"name": "a\0b"},
        {"scopes": []},
        {"scopes": [f"projects:prj_{'A' * 22}:*"]},
        {"method": "none"},
        {"jwks": ""},
        {"jwks": "{"},
        {"jwks": "[" * 3000},
        {"jwks": "[1]"},
        {"jwks": '{"keys": []}'},
        {"jwks": '{"keys": [1]}'},
        {"jwks": json.dumps({"keys": [private]})},
        {"jwks": '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'},
        {"jwks": '{"keys": [{"kty": "EC", "crv": "P-256", "x": 1, "y": "\\u0000"}]}'},
        {"jwks": '{"keys": [{"kty": ["EC"]}]}'},
        {"jwks": jwks(KEY, use="enc")},
        {"jwks": jwks(KEY, alg="HS256")},
        {"jwks": jwks(KEY, alg=["ES256"])},
        {"jwks": jwks(KEY, KEY, kid="same")},
        {"jwks": jwks(KEY, kid="\0")},
        {"jwks": jwks(KEY, note="\ud800")},
        {"jwks": jwks(small)},
    ):
        assert stranger.post(PAGE, right | wrong).status_code == 400, wrong
    accepted = right | {"jwks": jwks(KEY, note=float("nan"))}
    assert stranger.post(PAGE, accepted).status_code == 200
    (key,) = ServiceClient.objects.latest("pk").jwks["keys"]
    assert set(key) == {"kty", "crv", "x", "y", "kid"}


ADMIN = "/admin/oauth/serviceclient/"


@pytest.fixture
def root(db: None) -> Client:  # noqa: ARG001  opens the database
    client = Client(HTTP_HOST="127.0.0.1:8000")
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def act(who: Client, action: str, *rows: ServiceClient) -> Response:
    form = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    return who.post(ADMIN, form, follow=True)


def test_the_admin_lists_service_clients_and_shows_no_secret_and_no_key(
    admin: Client, program: ServiceProgram, signing: ServiceProgram
) -> None:
    program.request()
    pages = [ADMIN, *(row_url(one.row) for one in (program, signing))]
    texts = [admin.get(page).content.decode() for page in pages]
    assert program.client_id in texts[0]
    assert "client_secret_basic" in texts[1]
    assert "private_key_jwt" in texts[2]
    stored = program.row.client.secret_sha256
    coordinate = signing.row.jwks["keys"][0]["x"]
    for text in texts:
        assert "active" in text
        assert not SECRET.search(text)
        assert stored not in text
        assert coordinate not in text
        assert 'name="_save"' not in text
    assert admin.get(f"{ADMIN}add/").status_code == 403


def test_an_admin_of_another_organization_does_not_find_a_service_client(
    program: ServiceProgram,
) -> None:
    stranger = User.objects.create_user("eve@other.example", "x")
    organizations.create("Other", owner=stranger)
    other = Client(HTTP_HOST="127.0.0.1:8000")
    other.force_login(stranger)
    assert program.client_id not in other.get(ADMIN).content.decode()
    assert other.get(row_url(program.row)).status_code == 302
    for action in ("disable", "end"):
        act(other, action, program.row)
    assert is_accepted(program.request())


def test_the_admin_disables_enables_and_deletes_a_service_client(
    admin: Client, program: ServiceProgram
) -> None:
    token = program.request().json()["access_token"]
    assert "1 service client disabled." in act(admin, "disable", program.row).content.decode()
    assert McpClient(token=token).request("ping").status == 401
    assert "disabled" in admin.get(row_url(program.row)).content.decode()
    assert "0 service clients disabled." in act(admin, "disable", program.row).content.decode()
    act(admin, "enable", program.row)
    assert McpClient(token=token).request("ping").status == 200
    assert "1 service client deleted." in act(admin, "end", program.row).content.decode()
    assert refusal(program.request()) == (400, "invalid_grant")
    assert "0 service clients disabled." in act(admin, "disable", program.row).content.decode()
    assert "deleted" in admin.get(row_url(program.row)).content.decode()
    kinds = SecurityEvent.objects.values_list("kind", flat=True)
    assert {"client_disabled", "client_enabled", "service_client_ended"} <= set(kinds)


def test_platform_staff_without_an_organization_are_led_to_the_admin(
    root: Client, program: ServiceProgram
) -> None:
    response = root.get(PAGE)
    assert response["Location"] == ADMIN
    assert program.client_id in root.get(ADMIN).content.decode()


def test_a_list_of_service_clients_takes_as_many_statements_for_many_rows(
    admin: Client, acme: Organization, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        create(admin, acme, name=f"Program {number}")
    with django_assert_max_num_queries(16):
        assert admin.get(ADMIN).content.decode().count("Program ") >= 12
