"""Documents of the gateway are read in a process that has limits and no secrets."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from foundation import limited_process
from gateway.models import ImportDraft, Project
from tests.drivers import document_reader, grants
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.gateway import shop


@pytest.fixture(autouse=True)
def _reading_process() -> Iterator[None]:
    with document_reader.read_in_a_process():
        yield


def sign_in(grant: Grant) -> Client:
    browser = Client()
    browser.force_login(grant.user)
    return browser


def upload_document(browser: Client, grant: Grant, described: Any) -> Any:
    upload = SimpleUploadedFile("api.json", json.dumps(described).encode())
    form = {"organization": grant.organization.pk, "url": "", "text": "", "upload": upload}
    return browser.post("/projects/new", form)


def problem(browser: Client, page: Any) -> str:
    """What the page of the job says about a document that was refused."""
    assert (page.status_code, page.url.partition("?")[0][:6]) == (302, "/jobs/")
    return str(browser.get(page.url).content.decode())


def test_the_reading_process_has_no_secrets_of_the_server(grant: Grant) -> None:
    with patch("subprocess.Popen", wraps=subprocess.Popen) as started:
        page = upload_document(sign_in(grant), grant, shop.document())
    assert page.status_code == 302
    assert [call.kwargs["env"] for call in started.call_args_list] == [{}]


def test_a_document_that_takes_too_much_memory_is_refused_with_a_sentence(grant: Grant) -> None:
    command = limited_process.run

    def with_little_memory(_module: str, content: bytes, *, seconds: float) -> bytes:
        return command("tests.gateway.little_memory", content, seconds=seconds)

    with patch.object(limited_process, "run", with_little_memory):
        browser = sign_in(grant)
        assert upload_document(browser, grant, shop.document()).status_code == 302
        assert ImportDraft.objects.count() == 1
        page = upload_document(browser, grant, shop.document(**{"x-more": [[]] * 1_000_000}))
    assert "Reading the document took too much time or memory." in problem(browser, page)
    assert ImportDraft.objects.count() == 1


def test_a_document_that_takes_too_long_is_refused_and_leaves_nothing(
    grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site)
    command = limited_process.run

    def run_with_short_limit(module: str, content: bytes, **_more: float) -> bytes:
        return command(module, content, seconds=0.001)

    with patch.object(limited_process, "run", run_with_short_limit):
        browser = sign_in(grant)
        page = upload_document(browser, grant, shop.document())
    assert "Reading the document took too much time or memory." in problem(browser, page)
    assert ImportDraft.objects.count() == 0
    assert Project.objects.get() == project


def test_a_document_of_much_work_is_refused_with_a_sentence(grant: Grant) -> None:
    names = [f"Node{index}" for index in range(150)]
    links = {"properties": {name: {"$ref": f"#/components/schemas/{name}"} for name in names}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node1"}}}}
    paths = {f"/{index}": {"put": {"requestBody": body, "responses": {}}} for index in range(200)}
    described = shop.document(paths=paths, components={"schemas": dict.fromkeys(names, links)})
    browser = sign_in(grant)
    page = upload_document(browser, grant, described)
    assert "The document is too large to be read" in problem(browser, page)


@pytest.mark.parametrize("is_of_project", [False, True])
def test_a_preview_of_a_document_that_cannot_be_read_again_says_so(
    grant: Grant, site: Site, *, is_of_project: bool
) -> None:
    project = shop.create_project(grant, site) if is_of_project else None
    draft = ImportDraft.objects.create(
        organization=grant.organization,
        project=project,
        user=grant.user,
        text=json.dumps(shop.document()),
        fields={"document_url": ""},
    )
    address = f"/projects/imports/{draft.pk}"
    form = {"name": "Tea", "target_url": site.url, "authentication": "none", "policy": "default"}
    browser = sign_in(grant)
    assert browser.get(address).status_code == 200
    with patch.object(limited_process, "run", return_value=b""):
        pages = [browser.get(address), browser.post(address, form)]
    for page in pages:
        assert page.status_code == 400
        assert "Reading the document took too much time or memory." in page.content.decode()
    assert ImportDraft.objects.get() == draft


def test_a_person_has_one_document_read_again_at_a_time(grant: Grant, site: Site) -> None:
    other = grants.make_grant()
    text, fields = json.dumps(shop.document()), {"document_url": ""}
    address_of = {}
    for one in (grant, other):
        project = shop.create_project(one, site)
        given = {"organization": one.organization, "project": project, "user": one.user}
        draft = ImportDraft.objects.create(text=text, fields=fields, **given)
        address_of[one.user] = f"/projects/imports/{draft.pk}"
    second, others = sign_in(grant), sign_in(other)
    command, answers = limited_process.run, []

    def while_others_ask(module: str, content: bytes, *, seconds: float) -> bytes:
        with patch.object(limited_process, "run", command):
            answers.append(second.get(address_of[grant.user]))
            answers.append(others.get(address_of[other.user]))
        return command(module, content, seconds=seconds)

    with patch.object(limited_process, "run", while_others_ask):
        first = sign_in(grant).get(address_of[grant.user])
    assert first.status_code == 200
    refused, shown = answers
    assert (refused.status_code, shown.status_code) == (429, 200)
    assert "Try again in a moment." in refused.content.decode()
    assert second.get(address_of[grant.user]).status_code == 200
