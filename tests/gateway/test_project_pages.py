"""The pages of projects in the console, through Django's client."""

import json
import re
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client as Http

from audit.models import SecurityEvent
from foundation import sealing
from foundation.admin_urls import row_url
from foundation.limits import charging
from gateway import credentials, importing, projects
from gateway.models import Effect, ImportDraft, Plan, Project, ProjectTool, UpstreamCredential
from gateway.openapi import process
from tests.drivers import grants
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.drivers.shown_forms import save
from tests.gateway import shop
from tools_registry.endpoint import paging
from workspace.models import Membership, PageJob, Role, User

NEW = "/projects/new"
SECRET = "s3cret-of-a-person"
WORKS = re.compile(r"\bWorks\b")
FILTERS = re.compile(r'(?s)<nav id="changelist-filter".*?</nav>')
BEARER = {"type": "http", "scheme": "bearer"}


@pytest.fixture
def admin(grant: Grant) -> Http:
    return browser_of(grant.user)


@pytest.fixture
def member(grant: Grant) -> Http:
    user = User.objects.create_user("member@example.com")
    Membership.objects.create(user=user, organization=grant.organization)
    return browser_of(user)


def browser_of(user: User) -> Http:
    browser = Http()
    browser.force_login(user)
    return browser


def form_fields(grant: Grant, **given: Any) -> dict[str, Any]:
    return {"organization": grant.organization.pk, "url": "", "text": ""} | given


def text_of(page: Any) -> str:
    return str(page.content.decode())


def start_project(browser: Http, grant: Grant, described: Any, **given: Any) -> str:
    """The address of the preview of a pasted document."""
    page = browser.post(NEW, form_fields(grant, text=json.dumps(described), **given), follow=True)
    (_job, _found), (address, _moved) = page.redirect_chain
    return str(address)


def test_an_import_is_shown_in_full_before_it_is_saved(
    admin: Http, grant: Grant, site: Site
) -> None:
    described = shop.document(servers=[{"url": "/v1"}, {"url": f"{site.url}/v1"}])
    described["paths"]["/bad"] = {"trace": {"operationId": "bad", "responses": {}}}
    described["paths"]["/items"]["get"]["deprecated"] = True
    address = start_project(admin, grant, described)
    shown = text_of(admin.get(address))
    for part in ("createItem", "POST /items", "Adds an item.", "3 tools", "tokens", "Deprecated"):
        assert part in shown
    assert Project.objects.count() == 0
    form = {"name": "Shop", "target_url": "ftp://x", "authentication": "none"}
    form |= {"policy": "default", "reads": "create*"}
    refused = admin.post(address, form)
    assert refused.status_code == 400
    assert "Calls cannot go to this URL" in text_of(refused)
    saved = admin.post(address, form | {"target_url": f"{site.url}/v1/"}, follow=True)
    assert "Project created." in text_of(saved)
    project = Project.objects.get()
    assert (project.owner, project.target_url) == (grant.user, f"{site.url}/v1")
    assert (project.reads, project.writes) == (Effect.ALLOW, Effect.REQUIRE_APPROVAL)
    tools = {row.name: (row.is_read, row.is_enabled) for row in project.tools.all()}
    assert tools == {
        "createItem": (True, True),
        "getItem": (True, True),
        "listItems": (True, False),
    }
    assert f"/{project.pk}" in text_of(saved)
    assert (ImportDraft.objects.count(), PageJob.objects.count()) == (0, 0)
    assert SecurityEvent.objects.filter(kind="project_created", subject=project.pk).exists()
    again = start_project(admin, grant, described)
    twice = admin.post(again, form | {"target_url": site.url})
    assert "has a project of this name" in text_of(twice)


def test_who_imports_alone_may_let_requesters_approve_their_own_requests(
    admin: Http, grant: Grant, site: Site
) -> None:
    form = {"target_url": site.url, "authentication": "none", "policy": "default"}
    addresses = [start_project(admin, grant, shop.document()) for _ in range(2)]
    box = re.search(
        r'(?s)<input type="checkbox"\s+name="self_approval".*?>', text_of(admin.get(addresses[0]))
    )
    assert box is not None
    assert "checked" not in box[0]
    assert "You are the only person who can approve" in text_of(admin.get(addresses[0]))
    refused = admin.post(addresses[0], form | {"name": "", "self_approval": "on"})
    assert re.search(r'(?s)name="self_approval"[^>]*checked', text_of(refused))
    admin.post(addresses[0], form | {"name": "Mine", "self_approval": "on"})
    admin.post(addresses[1], form | {"name": "Usual"})
    assert Project.objects.get(name="Mine").self_approval
    assert not Project.objects.get(name="Usual").self_approval
    assert "self_approval" in SecurityEvent.objects.get(detail__startswith="Mine").detail


@pytest.mark.parametrize(
    ("role", "is_active", "is_alone"),
    [
        (Role.ADMIN, True, False),
        (Role.ADMIN, False, True),
        (Role.MEMBER, True, True),
    ],
)
def test_requesters_approving_their_own_is_offered_where_no_other_person_could_approve(
    admin: Http, grant: Grant, role: Role, *, is_active: bool, is_alone: bool
) -> None:
    user = User.objects.create_user("other@example.com", is_active=is_active)
    Membership.objects.create(user=user, organization=grant.organization, role=role)
    shown = text_of(admin.get(start_project(admin, grant, shop.document())))
    assert ('name="self_approval"' in shown) == is_alone


@pytest.mark.parametrize(("limit", "fits"), [("PAGE_SIZE", 2), ("PAGE_BYTES", 600)])
def test_an_import_of_more_than_a_page_says_how_many_tools_some_clients_show(
    admin: Http, grant: Grant, monkeypatch: pytest.MonkeyPatch, limit: str, fits: int
) -> None:
    address = start_project(admin, grant, shop.document())
    assert "of these tools" not in text_of(admin.get(address))
    monkeypatch.setattr(paging, limit, fits)
    assert "show about 2 of these tools" in text_of(admin.get(address))


@pytest.mark.parametrize("limit", [1, 4_000, 12_000])
def test_an_import_says_how_many_tools_with_described_results_are_on_the_first_page(
    admin: Http, grant: Grant, site: Site, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    members = {f"member_{number}": {"type": "string"} for number in range(20)}
    content = {"application/json": {"schema": {"type": "object", "properties": members}}}
    found = {"200": {"description": "Found.", "content": content}}
    paths = {
        f"/{number}": {"get": {"operationId": f"op{number:02}{'x' * 50}", "responses": found}}
        for number in range(40)
    }
    described = shop.document(paths=paths)
    address = start_project(admin, grant, described)
    monkeypatch.setattr(paging, "PAGE_BYTES", limit)
    with shop.endpoint(grant, shop.create_project(grant, site, described)) as mcp:
        listed = len(mcp.tool_names())
    assert listed < 40
    assert f"show about {listed} of these tools" in text_of(admin.get(address))


def with_operations(count: int, **more: Any) -> dict[str, Any]:
    get = {"get": {"responses": {}}}
    return shop.document(paths={f"/p{number}": get for number in range(count)}, **more)


def test_a_preview_lists_as_much_of_a_large_document_as_a_page_can_show(
    admin: Http, grant: Grant, site: Site
) -> None:
    servers = [{"url": f"https://s{number}.example"} for number in range(2_000)]
    hooks = {f"h{number}": {} for number in range(2_000)}
    described = with_operations(600, servers=servers, webhooks=hooks)
    shown = text_of(admin.get(start_project(admin, grant, described)))
    assert "600 tools" in shown
    assert (shown.count("<code>GET /p"), shown.count("webhook h")) == (500, 500)
    assert shown.count("https://s") < 510
    assert "100 more are not listed here." in shown
    assert "1500 more are not listed here." in shown
    project = shop.create_project(grant, site, with_operations(1))
    changed = start_project(admin, grant, described, project=project.pk)
    difference = text_of(admin.get(changed))
    assert difference.count("<code>GET /p") == 500
    assert "99 more are not listed here." in difference
    save(admin, changed, {})
    assert project.tools.count() == 600


def test_an_organization_has_one_document_read_on_a_page_at_a_time(
    admin: Http, grant: Grant
) -> None:
    colleague = User.objects.create_user("colleague@example.com")
    Membership.objects.create(user=colleague, organization=grant.organization, role=Role.ADMIN)
    other = grants.make_grant()
    own, of_colleague, of_other = (
        (browser, start_project(browser, whose, with_operations(1)))
        for browser, whose in (
            (admin, grant), (browser_of(colleague), grant), (browser_of(other.user), other),
        )
    )  # fmt: skip
    form = {
        "organization": grant.organization.pk.hex,
        "name": "Shop",
        "target_url": "https://x.example",
    }
    form |= {"authentication": "none", "document": json.dumps(with_operations(1))}
    # As a version of this server leaves them that maps documents in another way.
    ImportDraft.objects.update(fields={"document_url": ""})
    meanwhile: list[Any] = []
    read = importing.read

    def read_slowly(text: str, organization_id: UUID) -> importing.Read:
        if not meanwhile:
            meanwhile.append(None)
            meanwhile[:] = [browser.get(page) for browser, page in (of_colleague, of_other)]
            meanwhile.append(of_colleague[0].post("/admin/gateway/project/add/", form, follow=True))
        return read(text, organization_id)

    with patch.object(importing, "read", read_slowly):
        assert own[0].get(own[1]).status_code == 200
    page, page_of_other, in_the_admin = meanwhile
    assert (page.status_code, page_of_other.status_code) == (429, 200)
    for refused in (page, in_the_admin):
        assert "Another document of your organization is being read." in text_of(refused)
    assert not Project.objects.exists()
    assert of_colleague[0].get(of_colleague[1]).status_code == 200


def test_an_organization_reads_documents_within_its_time_of_a_day(
    admin: Http, grant: Grant, settings: Any
) -> None:
    settings.HALO_KNOWLEDGE_DAILY_SECONDS = 60
    other, clock = grants.make_grant(), count(step=15)
    with patch("workspace.reading_budget.time", SimpleNamespace(monotonic=lambda: next(clock))):
        for _ in range(3):
            start_project(admin, grant, shop.document())
        refused = text_of(admin.post(NEW, form_fields(grant, text=shop.text()), follow=True))
        assert "used up the time to read documents for today" in refused
        of_other = browser_of(other.user)
        assert of_other.get(start_project(of_other, other, shop.document())).status_code == 200


@pytest.mark.parametrize("is_new", [True, False])
def test_an_import_reads_its_document_once(
    admin: Http, grant: Grant, site: Site, *, is_new: bool
) -> None:
    project = None if is_new else shop.create_project(grant, site)
    given = {} if project is None else {"project": project.pk}
    with patch.object(process, "read", wraps=process.read) as read:
        address = start_project(admin, grant, with_operations(2), **given)
        assert admin.get(address).status_code == 200
        form = {"name": "Two", "target_url": "https://x.example", "authentication": "none"}
        saved = save(admin, address, form | {"policy": "default"} if is_new else {})
    assert saved.status_code == 302
    assert read.call_count == 1
    assert Project.objects.latest("created_at").tools.filter(is_present=True).count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_project_that_is_made_in_the_admin_is_charged_before_its_transaction(
    admin: Http, grant: Grant, settings: Any
) -> None:
    settings.HALO_KNOWLEDGE_DAILY_SECONDS = 36
    charging.reset_store()
    form = {"organization": grant.organization.pk, "target_url": "https://x.example"}
    form |= {"authentication": "none", "document": shop.text(), "owner": grant.user.pk}
    charge, locked, clock = charging.charge_or_share, list[bool](), count(step=15)

    def charge_and_look(buckets: Any, on_outage: Any) -> Any:
        if buckets[0].key.startswith("reading:"):
            locked.append(connection.in_atomic_block)
        return charge(buckets, on_outage)

    def add(name: str) -> str:
        page = admin.post("/admin/gateway/project/add/", form | {"name": name}, follow=True)
        assert page.status_code == 200
        return text_of(page)

    with (
        patch("workspace.reading_budget.time", SimpleNamespace(monotonic=lambda: next(clock))),
        patch.object(charging, "charge_or_share", charge_and_look),
    ):
        assert "was added successfully" in add("First")
        assert "was added successfully" not in add("First")
        assert "used up the time to read documents for today" in add("Third")
    assert locked == [False] * 3
    assert [(row.name, row.tools.count()) for row in Project.objects.all()] == [("First", 3)]


def test_a_document_of_too_many_operations_is_refused_before_they_are_read(
    admin: Http, grant: Grant
) -> None:
    text = json.dumps(with_operations(5_001))
    page = admin.post(NEW, form_fields(grant, text=text), follow=True)
    assert "The document has more than 5,000 operations. Split it." in text_of(page)
    assert not ImportDraft.objects.exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"openapi": "9.9"}', b"a: &a [*a]"]
)
def test_what_is_no_document_is_refused_with_a_sentence(
    admin: Http, grant: Grant, content: bytes
) -> None:
    upload = SimpleUploadedFile("api.json", content)
    page = admin.post(NEW, form_fields(grant, upload=upload), follow=True)
    assert 'role="alert"' in text_of(page)
    assert "document" in text_of(page)
    assert not ImportDraft.objects.exists()


def test_a_document_is_fetched_by_the_guarded_client(
    admin: Http, grant: Grant, site: Site, settings: Any
) -> None:
    site.script(sites.saying(shop.document()), sites.saying({}, 404))
    page = admin.post(NEW, form_fields(grant, url=f"{site.url}/openapi.json"))
    assert page.status_code == 302
    assert ImportDraft.objects.get().fields["document_url"] == f"{site.url}/openapi.json"
    assert "answered 404" in text_of(admin.post(NEW, form_fields(grant, url=site.url), follow=True))
    settings.HALO_GATEWAY_PRIVATE_HOSTS = frozenset()
    for url in (site.url, "http://169.254.169.254/", "file:///etc/passwd", "http://[x"):
        page = admin.post(NEW, form_fields(grant, url=url), follow=True)
        assert "could not be fetched" in text_of(page)
    assert len(site.seen) == 2


def test_a_secret_in_the_url_of_a_document_is_used_once_and_kept_nowhere(
    admin: Http, grant: Grant, site: Site
) -> None:
    host = site.url.partition("://")[2]
    refused = admin.post(NEW, form_fields(grant, url=f"http://me:s3cret@{host}/api"), follow=True)
    assert "the URL holds a user name" in text_of(refused)
    assert "s3cret" not in text_of(refused)
    project = shop.create_project(grant, site)
    site.script(sites.saying(shop.document()))
    url = f"{site.url}/openapi.json?token=s3cret"
    shown = admin.post(NEW, {"project": project.pk, "url": url}, follow=True)
    draft = ImportDraft.objects.get()
    assert "s3cret" not in text_of(shown) + str(draft.fields)
    save(admin, str(shown.redirect_chain[-1][0]), {})
    assert not ImportDraft.objects.filter(pk=draft.pk).exists()
    # One of an earlier version of this server.
    Project.objects.update(document_url=url)
    assert "s3cret" not in text_of(admin.get(NEW, {"project": project.pk}))
    projects.change(project, None, document_url=f"{site.url}/openapi.json?token=other")
    project.refresh_from_db()
    assert (site.seen[-1].query, project.document_url) == ({"token": ["s3cret"]}, "")
    assert "other" not in str([*SecurityEvent.objects.values_list("detail", flat=True)])


def test_a_changed_document_is_shown_as_a_difference_and_changed_tools_wait(
    admin: Http, grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site)
    described = shop.document()
    items = described["paths"]["/items"]
    items["get"]["parameters"][0]["required"] = True
    items["delete"] = {"operationId": "deleteItems", "responses": {}}
    # Another path under its operationId is the same tool; another operationId is, too.
    described["paths"]["/things/{id}"] = described["paths"].pop("/items/{id}")
    items["post"]["operationId"] = "addItem"
    address = start_project(admin, grant, described, project=project.pk)
    shown = text_of(admin.get(address))
    assert "The argument q became required." in shown
    assert "The request is GET /things/{id}. It was GET /items/{id}." in shown
    assert "deleteItems" in shown
    assert "1 tool stays as it is." in shown
    done = text_of(save(admin, address, {}, follow=True))
    assert "2 tools changed and cannot be called" in done
    rows = {row.name: row for row in project.tools.all()}
    assert {name for name, row in rows.items() if row.needs_review} == {"listItems", "getItem"}
    assert sorted(rows) == ["createItem", "deleteItems", "getItem", "listItems"]
    seen = f"{rows['listItems'].pk}:{rows['listItems'].fingerprint}"
    form = {"shown": [row.pk for row in rows.values()], "reviewed": [seen]}
    assert f'value="{seen}"' in admin.get(f"/projects/{project.pk}").content.decode()
    form |= {"enabled": form["shown"], "reads": [rows["listItems"].pk]}
    save(admin, f"/projects/{project.pk}", form, to=f"/projects/{project.pk}/tools")
    waiting = ProjectTool.objects.filter(needs_review=True)
    assert [row.name for row in waiting] == ["getItem"]
    # A tool that leaves the document is kept for the day it returns.
    difference = projects.reimport(project, shop.text(shop.document(paths={})), grant.user)
    assert {one.change for one in difference.changes} == {"removed"}
    assert project.tools.filter(is_present=True).count() == 0
    back = projects.reimport(project, shop.text(described), grant.user)
    assert {one.change for one in back.changes} == {"returned"}
    assert project.tools.get(name="getItem").needs_review


def test_a_review_is_of_the_change_that_was_shown(admin: Http, grant: Grant, site: Site) -> None:
    project = shop.create_project(grant, site)
    seen = {}
    for path in ("/first", "/second"):
        described = shop.document()
        described["paths"][path] = described["paths"].pop("/items/{id}")
        projects.reimport(project, shop.text(described), grant.user)
        row = project.tools.get(name="getItem")
        seen[path] = f"{row.pk}:{row.fingerprint}"
    home = f"/projects/{project.pk}"
    for path, waits in {"/first": True, "/second": False}.items():
        shown = [tool.pk for tool in project.tools.filter(is_present=True)]
        form = {"shown": shown, "enabled": shown, "reviewed": [seen[path]]}
        page = text_of(save(admin, home, form, to=f"{home}/tools", follow=True))
        assert ("getItem has changed again since this page was shown" in page) is waits
        row.refresh_from_db()
        assert row.needs_review is waits
    for text in ("", ":", "x:y", f"{row.pk}", f"{row.pk}:\x00"):
        nonsense = {"shown": shown, "reviewed": [text]}
        assert save(admin, home, nonsense, to=f"{home}/tools").status_code == 302


def test_credentials_are_entered_tested_and_removed_and_never_shown(
    admin: Http, grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    page = f"/projects/{project.pk}/credentials"
    assert "Missing" in text_of(admin.get(page))
    missing = text_of(admin.post(f"{page}/test", follow=True))
    assert "needs a credential" in missing
    wrong = save(admin, page, {"scheme": "key", "secret": "a\nb"})
    assert wrong.status_code == 400
    shown = text_of(save(admin, page, {"scheme": "key", "secret": SECRET}, follow=True))
    assert "Credential saved." in shown
    site.script(sites.saying({"you": SECRET}, 401), sites.saying([]))
    shown += text_of(admin.post(f"{page}/test", follow=True))
    shown += text_of(admin.get(page))
    assert "Refused by the API" in shown
    shown += text_of(admin.post(f"{page}/test", follow=True))
    assert "accepted a call of listItems" in shown
    assert SECRET not in shown + repr([*SecurityEvent.objects.values_list()])
    assert [seen.headers["authorization"] for seen in site.seen] == [f"Bearer {SECRET}"] * 2
    assert admin.post(page, {"scheme": "other", "secret": SECRET}).status_code == 404
    save(admin, page, {"scheme": "key", "act": "remove"})
    assert UpstreamCredential.objects.count() == 0
    events = SecurityEvent.objects.filter(kind="upstream_credential_changed")
    assert sorted(events.values_list("detail", flat=True)) == [
        "removed: of a person",
        "stored: of a person",
    ]


def test_no_page_says_that_a_credential_works_which_cannot_be_decrypted(
    admin: Http, grant: Grant, site: Site, settings: Any
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    scheme = credentials.schemes_of(project)[0]
    row = credentials.store(project, grant.user, scheme, SECRET)
    UpstreamCredential.objects.update(state=UpstreamCredential.State.WORKS)
    pages = [
        f"/projects/{project.pk}/credentials",
        "/admin/gateway/upstreamcredential/",
        row_url(row),
    ]
    for page in pages:
        assert WORKS.search(text_of(admin.get(page))), page
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    for page in pages:
        # A list can be filtered by the state that is stored.
        shown = FILTERS.sub("", text_of(admin.get(page)))
        assert "Cannot be decrypted" in shown, page
        assert not WORKS.search(shown), page


def test_members_use_projects_and_only_admins_change_them(
    admin: Http, member: Http, grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    place = f"/projects/{project.pk}"
    assert "Shop" in text_of(member.get("/projects"))
    assert "New project" not in text_of(member.get("/projects"))
    assert "Save tools" in text_of(admin.get(place))
    shown = text_of(member.get(place))
    assert "listItems" in shown
    assert "Save tools" not in shown
    assert member.get(f"{place}/credentials").status_code == 200
    for address in (NEW, f"{place}/settings", f"{place}/delete"):
        assert member.get(address).status_code == 404, address
        assert member.post(address).status_code == 404, address
    assert member.post(f"{place}/tools").status_code == 404
    projects.change(project, grant.user, authentication="project")
    assert member.post(f"{place}/credentials", {"scheme": "key", "secret": "x"}).status_code == 404
    assert member.post(f"{place}/credentials/test").status_code == 404
    page = member.get(f"{place}/credentials")
    assert page.status_code == 200
    assert "with one credential, which admins enter" in text_of(page)
    assert "Save credential" not in text_of(page)
    assert "Test the connection" not in text_of(page)


def test_strangers_get_the_same_answer_for_a_project_as_for_none(
    admin: Http, grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site)
    draft = start_project(admin, grant, shop.document(), project=project.pk)
    stranger = browser_of(grants.make_grant().user)
    for path in ("", "/settings", "/tools", "/delete", "/credentials", "/credentials/test"):
        for key in (project.pk, "prj_" + "a" * 22, "prj_x%00", "..%2f"):
            for send in (stranger.get, stranger.post):
                assert send(f"/projects/{key}{path}").status_code in {404, 405}, path
    assert stranger.get(f"{NEW}?project={project.pk}").status_code == 404
    assert stranger.post(NEW, form_fields(grant, project=project.pk, text="{}")).status_code in {
        400,
        404,
    }
    assert stranger.get(draft).status_code == 404
    assert stranger.post(draft).status_code == 404
    foreign = stranger.post(NEW, form_fields(grant, text=shop.text()))
    assert foreign.status_code == 400
    assert "Shop" not in text_of(stranger.get("/projects"))
    assert Http().get(f"/projects/{project.pk}")["Location"].startswith("/signin")


def test_an_import_is_no_longer_open_to_who_is_no_admin_any_more(
    admin: Http, grant: Grant, site: Site
) -> None:
    draft = start_project(admin, grant, shop.document(servers=[{"url": f"{site.url}/v1"}]))
    form = {"name": "Shop", "target_url": f"{site.url}/v1", "authentication": "none"}
    form |= {"policy": "default"}
    rows = Membership.objects.filter(pk=grant.membership.pk)
    rows.update(role=Role.MEMBER)
    assert (admin.get(draft).status_code, admin.post(draft, form).status_code) == (404, 404)
    rows.update(role=Role.ADMIN)
    assert "createItem" in text_of(admin.get(draft))
    assert admin.post(draft, form, follow=True).status_code == 200
    assert Project.objects.count() == 1


def test_settings_change_and_a_project_is_deleted(admin: Http, grant: Grant, site: Site) -> None:
    project = shop.create_project(grant, site, shop.secured_document(BEARER))
    scheme = credentials.schemes_of(project)[0]
    credentials.store(project, grant.user, scheme, SECRET)
    page = f"/projects/{project.pk}/settings"
    assert f'value="{site.url}/v1"' in text_of(admin.get(page))
    form = {"name": "Store", "target_url": "http://10.0.0.1", "authentication": "person"}
    form["owner"] = str(grant.user.pk)
    assert save(admin, page, form).status_code == 400
    assert save(admin, page, form | {"target_url": "https://api.example"}).status_code == 302
    project.refresh_from_db()
    assert (project.name, project.target_url) == ("Store", "https://api.example")
    event = SecurityEvent.objects.get(kind="project_changed")
    target = f"target_url: {site.url}/v1 -> https://api.example"
    assert event.detail == f"name: Shop -> Store, {target}"
    assert LogEntry.objects.latest("pk").change_message == f"project_changed: {event.detail}"
    assert "Delete Store?" in text_of(admin.get(f"/projects/{project.pk}/delete"))
    admin.post(f"/projects/{project.pk}/delete")
    assert not Project.objects.exists()
    assert SecurityEvent.objects.filter(kind="project_deleted").exists()


def test_the_usage_page_shows_what_is_left(member: Http, grant: Grant) -> None:
    assert "No limit" in text_of(member.get("/usage"))
    Plan.objects.create(organization=grant.organization, monthly_calls=40)
    shown = text_of(member.get("/usage"))
    assert "<dd>40</dd>" in shown.replace(" ", "").replace("\n", "")
