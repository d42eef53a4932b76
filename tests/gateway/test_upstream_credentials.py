"""Credentials for the API of a project: sealed, sent to its origin only, never shown or logged."""

import base64
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client as Http

from audit.models import ActionExecution, SecurityEvent
from gateway import credentials, projects
from gateway.models import Authentication, Project, UpstreamCredential
from gateway.openapi.shapes import Scheme
from tests.drivers import grants
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Seen, Site, serving
from tests.drivers.grants import Grant
from tests.drivers.shown_forms import forms_of, save
from tests.gateway import shop

SECRET = "s3cret-k3y;with=every&thing"
BEARER = {"type": "http", "scheme": "bearer"}
BASIC = {"type": "http", "scheme": "basic"}


def key_in(place: str) -> dict[str, str]:
    return {"type": "apiKey", "in": place, "name": "X-Key"}


def scheme_of(project: Project, name: str = "key") -> Scheme:
    return next(one for one in credentials.schemes_of(project) if one.name == name)


def read_header(seen: Seen) -> str:
    return seen.headers["x-key"]


def read_basic_password(seen: Seen) -> str:
    pair = base64.b64decode(seen.headers["authorization"].removeprefix("Basic ")).decode()
    assert pair.startswith("me:")
    return pair.removeprefix("me:")


@pytest.mark.parametrize(
    ("scheme", "sent"),
    [
        (BEARER, lambda seen: seen.headers["authorization"].removeprefix("Bearer ")),
        (BASIC, read_basic_password),
        (key_in("header"), read_header),
        (key_in("query"), lambda seen: seen.query["X-Key"][0]),
        (key_in("cookie"), lambda seen: seen.headers["cookie"].replace("%3B", ";")[6:]),
    ],
    ids=["bearer", "basic", "header", "query", "cookie"],
)
def test_a_person_s_credential_is_sent_as_the_document_says(
    grant: Grant, site: Site, scheme: Any, sent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(scheme))
    assert project.authentication == Authentication.PERSON
    with shop.endpoint(grant, project) as mcp:
        missing = mcp.call("listItems", {"q": "x"}).result
        assert missing["isError"]
        assert f"/projects/{project.pk}/credentials" in missing["content"][0]["text"]
        assert site.seen == []
        credentials.store(project, grant.user, scheme_of(project), SECRET, username="me")
        # The API repeats the secret: nobody gets it.
        site.script(sites.saying({"you_sent": SECRET}, 400))
        reply = mcp.call("listItems", {"q": "x"})
        assert mcp.call("createItem", {"title": "Ink"}).status == 200
    assert [sent(seen) for seen in site.seen] == [SECRET, SECRET]
    assert SECRET not in reply.body.decode()
    rows = [*ActionExecution.objects.values_list(), *SecurityEvent.objects.values_list()]
    assert SECRET not in caplog.text + str(rows)
    row = UpstreamCredential.objects.get()
    assert SECRET.encode() not in bytes(row.sealed)
    assert SECRET not in repr(row)
    assert row.state == "works"


def test_a_refused_credential_is_marked_and_recorded_once(grant: Grant, site: Site) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    credentials.store(project, grant.user, scheme_of(project), SECRET)
    with shop.endpoint(grant, project) as mcp:
        for _ in range(2):
            site.script(sites.saying({"error": "expired"}, 401))
            assert mcp.call("listItems", {}).result["isError"]
        assert UpstreamCredential.objects.get().state == "refused"
        site.script(sites.saying({"error": "not yours"}, 403))
        mcp.call("listItems", {})
        mcp.call("listItems", {})
    assert UpstreamCredential.objects.get().state == "works"
    (event,) = SecurityEvent.objects.filter(kind="upstream_credential_refused")
    assert event.count == 1


def test_everybody_calls_with_their_own_credential_or_with_the_project_s(
    grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    colleague = grants.make_grant()
    credentials.store(project, colleague.user, scheme_of(project), "colleague")
    credentials.store(project, None, scheme_of(project), "shared")
    with shop.endpoint(grant, project) as mcp:
        assert mcp.call("listItems", {}).result["isError"]
        projects.change(project, None, authentication=Authentication.PROJECT)
        mcp.call("listItems", {})
        projects.change(project, None, authentication=Authentication.NONE)
        mcp.call("listItems", {})
    assert [seen.headers.get("authorization") for seen in site.seen] == ["Bearer shared", None]


def test_the_first_alternative_that_is_complete_is_used(grant: Grant, site: Site) -> None:
    schemes = {"a": key_in("header"), "b": BEARER, "c": key_in("query")}
    described = shop.document(
        components={"securitySchemes": schemes}, security=[{"a": [], "b": []}, {"c": []}]
    )
    project = shop.create_project(grant, site, described)
    with shop.endpoint(grant, project) as mcp:
        for name in ("a", "c", "b"):
            credentials.store(project, grant.user, scheme_of(project, name), f"of-{name}")
            mcp.call("listItems", {})
    assert [
        (seen.headers.get("x-key"), seen.headers.get("authorization"), seen.query.get("X-Key"))
        for seen in site.seen
    ] == [(None, None, ["of-c"]), ("of-a", "Bearer of-b", None)]


def test_a_credential_never_reaches_another_host(grant: Grant, site: Site) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    credentials.store(project, grant.user, scheme_of(project), SECRET)
    with serving(Site()) as other, shop.endpoint(grant, project) as mcp:
        site.script(sites.sending(b"", 302, {"Location": f"{other.url}/items"}))
        mcp.call("listItems", {})
        # Not even where an admin moves the project: it was entered for the first host.
        projects.change(project, None, target_url=other.url)
        assert "needs a credential" in mcp.call("listItems", {}).result["content"][0]["text"]
        assert other.seen == []
        projects.change(project, None, target_url=f"{site.url}/v2")
        mcp.call("listItems", {})
    assert [seen.path for seen in site.seen] == ["/v1/items", "/v2/items"]


@pytest.mark.parametrize("secret", ["", "a\r\nX-Evil: 1", "schlüssel", "a\x00b", "x" * 8_193, " a"])
def test_a_secret_that_cannot_be_sent_is_refused(grant: Grant, site: Site, secret: str) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    with pytest.raises(credentials.InvalidSecret):
        credentials.store(project, grant.user, scheme_of(project), secret)


def test_an_unsupported_scheme_is_never_sent(grant: Grant, site: Site) -> None:
    project = shop.create_project(
        grant, site, shop.secured_document({"type": "http", "scheme": "digest"})
    )
    with shop.endpoint(grant, project) as mcp:
        assert mcp.call("listItems", {}).result["isError"]
    assert site.seen == []


IMPLICIT = {"type": "oauth2", "flow": "implicit", "authorizationUrl": "https://login.example/go"}


@pytest.mark.parametrize("pasted", [SECRET, f"Bearer {SECRET}", f"bearer  {SECRET}"])
def test_a_pasted_access_token_is_sent_to_an_api_with_oauth_2_alone(
    grant: Grant, site: Site, pasted: str
) -> None:
    described = shop.document(securityDefinitions={"login": IMPLICIT}, security=[{"login": ["rw"]}])
    described["swagger"] = "2.0"
    del described["openapi"]
    project = shop.create_project(grant, site, described)
    browser = Http()
    browser.force_login(grant.user)
    page = f"/projects/{project.pk}/credentials"
    shown = browser.get(page).content.decode()
    assert "Access token" in shown
    assert "It is not refreshed" in shown
    assert save(browser, page, {"scheme": "login", "secret": pasted}).status_code == 302
    with shop.endpoint(grant, project) as mcp:
        assert not mcp.call("listItems", {}).result.get("isError")
    assert [seen.headers["authorization"] for seen in site.seen] == [f"Bearer {SECRET}"]


def test_a_redirect_that_loses_the_key_of_the_query_marks_no_credential(
    grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(key_in("query")))
    credentials.store(project, grant.user, scheme_of(project), SECRET)
    with shop.endpoint(grant, project) as mcp:
        for query, state in (("", "untested"), (f"?X-Key={quote(SECRET, safe='')}", "refused")):
            moved = sites.sending(b"", 302, {"Location": f"/v1/other{query}"})
            site.script(moved, sites.saying({"error": "no key"}, 401))
            assert mcp.call("listItems", {}).result["isError"]
            assert UpstreamCredential.objects.get().state == state


@pytest.mark.parametrize(
    ("scheme", "is_sent"),
    [(BASIC, True), (key_in("header"), True), (key_in("cookie"), True), (key_in("query"), False)],
    ids=["basic", "header", "cookie", "query"],
)
def test_a_redirect_takes_along_what_headers_and_cookies_have(
    grant: Grant, site: Site, scheme: dict[str, str], *, is_sent: bool
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(scheme))
    credentials.store(project, grant.user, scheme_of(project), "plain-k3y", username="me")
    with shop.endpoint(grant, project) as mcp:
        site.script(sites.sending(b"", 307, {"Location": "/v1/moved?q=x"}), sites.saying([]))
        assert not mcp.call("listItems", {"q": "x"}).result["isError"]
    first, second = site.seen
    names = ("authorization", "x-key", "cookie")
    sent = [{name: seen.headers.get(name) for name in names} for seen in (first, second)]
    assert sent[0] == sent[1]
    assert any(sent[1].values()) is is_sent
    assert ("X-Key" in first.query, "X-Key" in second.query) == (not is_sent, False)


@pytest.mark.parametrize(
    "changed",
    [
        {"servers": {"https://files.example": "https://files.example/v3"}},
        {"target_url": "https://elsewhere.example/v1"},
        {"authentication": Authentication.PROJECT},
    ],
    ids=["a server is confirmed", "the target is moved", "it becomes everybody's"],
)
@pytest.mark.parametrize("act", [{"secret": SECRET}, {"act": "remove"}], ids=["save", "remove"])
def test_a_secret_is_stored_only_for_what_its_page_said(
    grant: Grant, site: Site, changed: dict[str, Any], act: dict[str, str]
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(key_in("header")))
    for owner in (grant.user, None):
        credentials.store(project, owner, scheme_of(project), "the-one-before")
    browser = Http()
    browser.force_login(grant.user)
    page = f"/projects/{project.pk}/credentials"
    opened = [form.fields for form in forms_of(browser, page) if "scheme" in form.fields]
    before = [*UpstreamCredential.objects.order_by("pk").values()]
    projects.change(project, grant.user, **changed)
    for fields in opened:
        refused = browser.post(page, {**fields, **act})
        assert refused.status_code == 409
        assert "Nothing was saved" in refused.content.decode()
        assert SECRET not in refused.content.decode()
    assert [*UpstreamCredential.objects.order_by("pk").values()] == before
    assert save(browser, page, {"scheme": "key", **act}).status_code == 302
