"""The knowledge base as an admin adds to it, reads its status and indexes it again."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

import knowledge
from foundation.admin_urls import row_url
from knowledge import sources
from tests.drivers.grants import Grant, make_grant
from tests.drivers.shown_forms import save
from tests.workspace.customer_pages import words
from workspace.models import KnowledgePage, KnowledgeSource, Role, SourceStatus, User

SOURCES = "/admin/workspace/knowledgesource/"


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def add(admin: Client, grant: Grant, **facts: Any) -> Any:
    sent = {"organization": str(grant.organization.pk), "title": "", "url": "", **facts}
    return admin.post(f"{SOURCES}add/", sent)


def file(name: str, content: bytes = b"# Refunds\n\nWithin 14 days.") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def source_of(grant: Grant) -> KnowledgeSource:
    return knowledge.add(grant.organization, kind="markdown", title="Guide", original=b"# A\n\nb")


def test_an_uploaded_file_waits_to_be_indexed(admin: Client, grant: Grant) -> None:
    assert add(admin, grant, file=file("refunds.md"), title="Paying back").status_code == 302
    source = KnowledgeSource.objects.get()
    assert (source.kind, source.title, source.status) == ("markdown", "Paying back", "pending")
    assert source.added_by is not None
    assert "Waiting" in words(admin.get(SOURCES))


def test_an_address_is_a_page_or_a_sitemap(admin: Client, grant: Grant) -> None:
    add(admin, grant, url="https://help.example.com/refunds")
    add(admin, grant, url="https://help.example.com/sitemap.xml", is_sitemap="on")
    assert list(KnowledgeSource.objects.order_by("created_at").values_list("kind", flat=True)) == [
        "url",
        "sitemap",
    ]


REFUSED = {
    "nothing": ({}, "Choose a file or enter an address."),
    "a type": ({"file": file("photo.png")}, "Only these files can be added"),
    "a size": ({"file": file("a.md", b"x" * (sources.MAX_BYTES + 1))}, "more than 10 MB"),
    "an address": ({"url": "http://help.example.com/"}, "only https"),
    "a private address": ({"url": "https://10.0.0.1/"}, "cannot be fetched"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_added_is_refused_on_the_form(
    admin: Client, grant: Grant, case: str
) -> None:
    facts, reason = REFUSED[case]
    page = add(admin, grant, **facts)
    assert (page.status_code, KnowledgeSource.objects.count()) == (200, 0)
    assert reason in words(page)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt://help.example.com/%0aalert(1)",
        "data:text/html,x",
        "//help.example.com/",
        "https:/\\help.example.com/",
        "https://",
        "help.example.com",
        "file:///etc/passwd",
    ],
)
def test_the_address_of_a_file_is_one_that_a_link_may_lead_to(
    admin: Client, grant: Grant, url: str
) -> None:
    page = add(admin, grant, file=file("refunds.md"), url=url)
    assert (page.status_code, KnowledgeSource.objects.count()) == (200, 0)
    assert "Enter an address that begins with https:// or http://." in words(page)
    assert add(admin, grant, file=file("refunds.md"), url="http://a.example/b").status_code == 302


def test_the_error_of_a_source_is_on_the_list_and_on_its_page(admin: Client, grant: Grant) -> None:
    source = source_of(grant)
    KnowledgeSource.objects.update(status=SourceStatus.FAILED, error="The page has no text.")
    assert "The page has no text." in words(admin.get(SOURCES))
    assert "The page has no text." in words(admin.get(row_url(source)))


def test_a_failed_upload_has_the_name_of_its_file(admin: Client, grant: Grant) -> None:
    add(admin, grant, file=file("price list 2026.pdf", b"%PDF nothing"))
    source = KnowledgeSource.objects.get()
    knowledge.index(source.pk)
    for page in (SOURCES, row_url(source)):
        shown = words(admin.get(page))
        assert "price list 2026.pdf" in shown
        assert "The file is not a valid PDF." in shown


def test_the_page_of_a_source_lists_its_pages_with_their_states(
    admin: Client, grant: Grant
) -> None:
    source = knowledge.add(grant.organization, kind="sitemap", url="https://a.example/sitemap.xml")
    facts = {"organization": grant.organization, "source": source}
    KnowledgePage.objects.create(
        **facts, position=1, url="https://a.example/good", state="read", passage_count=7
    )
    KnowledgePage.objects.create(
        **facts,
        position=2,
        url="https://a.example/down",
        address="javascript:alert(1)",
        title="<b>Ports</b>",
        state="kept",
        error="The page could not be fetched: the server answered 503.",
    )
    answer = admin.get(row_url(source))
    shown = words(answer)
    assert "Read: 1 · Kept after a failure: 1" in shown
    assert "The page could not be fetched: the server answered 503." in shown
    assert shown.index("Ports") < shown.index("https://a.example/good")
    assert "<b>Ports" not in answer.content.decode()
    assert 'href="javascript' not in answer.content.decode()


def test_a_source_is_indexed_again(admin: Client, grant: Grant) -> None:
    source = source_of(grant)
    KnowledgeSource.objects.update(status=SourceStatus.FAILED, error="It was down.")
    admin.post(SOURCES, {"action": "index_again", "_selected_action": [source.pk]})
    source.refresh_from_db()
    assert (source.status, source.error) == (SourceStatus.PENDING, "")


def test_a_new_title_is_on_every_passage_after_indexing(admin: Client, grant: Grant) -> None:
    source = source_of(grant)
    assert save(admin, row_url(source), {"title": "Handbook"}).status_code == 302
    knowledge.index(source.pk)
    assert source.chunks.get().title == "Handbook"


@pytest.mark.parametrize("sent", ["page", "list"])
def test_a_deleted_source_has_no_passages(admin: Client, grant: Grant, sent: str) -> None:
    source = source_of(grant)
    if sent == "page":
        admin.post(row_url(source, "delete"), {"post": "yes"})
    else:
        chosen = {"action": "delete_selected", "_selected_action": [source.pk], "post": "yes"}
        admin.post(SOURCES, chosen)
    assert not KnowledgeSource.objects.exists()


def test_an_organization_s_admin_sees_its_own_sources_only(client: Client, grant: Grant) -> None:
    grant.membership.role = Role.ADMIN
    grant.membership.save()
    source_of(grant)
    theirs = knowledge.add(
        make_grant().organization, kind="markdown", title="Theirs", original=b"# A\n\nb"
    )
    client.force_login(grant.user)
    listed = words(client.get(SOURCES))
    assert "Guide" in listed
    assert "Theirs" not in listed
    assert client.get(row_url(theirs)).status_code == 302
    client.post(SOURCES, {"action": "index_again", "_selected_action": [theirs.pk]})
    assert add(client, make_grant(), file=file("a.md")).status_code == 200
    assert KnowledgeSource.objects.count() == 2
