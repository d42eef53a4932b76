"""The database's copy of the documentation follows the folder."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from documentation import index
from documentation.index import DocumentationMissing, RefreshCounts, refresh
from documentation.models import DocumentationSection
from documentation.search import pages, read
from tests.drivers.documentation import search


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tokens.md").write_text("# Tokens\n\nThey expire.\n\n## Revoking\n\nAt once.\n")
    (docs / "scopes.md").write_text("# Scopes\n\nThey narrow.\n")
    return docs


@pytest.mark.django_db
def test_the_first_refresh_adds_every_page(folder: Path) -> None:
    assert refresh(folder) == RefreshCounts(added=2, changed=0, removed=0, unchanged=0)
    assert pages() == [("scopes", "Scopes"), ("tokens", "Tokens")]


@pytest.mark.django_db
def test_sections_are_kept_in_their_order(folder: Path) -> None:
    refresh(folder)
    rows = DocumentationSection.objects.filter(page="tokens").order_by("position")
    assert list(rows.values_list("position", "anchor", "heading", "text")) == [
        (0, "", "Tokens", "They expire."),
        (1, "revoking", "Revoking", "At once."),
    ]


@pytest.mark.django_db
def test_a_second_refresh_writes_nothing(folder: Path) -> None:
    refresh(folder)
    with CaptureQueriesContext(connection) as queries:
        assert refresh(folder) == RefreshCounts(added=0, changed=0, removed=0, unchanged=2)
    assert [query["sql"].split()[0] for query in queries] == ["SELECT"]


@pytest.mark.django_db
def test_a_refresh_adds_changes_and_removes_only_what_differs(folder: Path) -> None:
    refresh(folder)
    kept = DocumentationSection.objects.get(page="scopes").pk
    (folder / "tokens.md").unlink()
    (folder / "limits.md").write_text("# Limits\n")
    assert refresh(folder) == RefreshCounts(added=1, changed=0, removed=1, unchanged=1)
    (folder / "limits.md").write_text("# Rate limits\n")
    assert refresh(folder) == RefreshCounts(added=0, changed=1, removed=0, unchanged=1)
    assert DocumentationSection.objects.get(page="scopes").pk == kept
    assert pages() == [("limits", "Rate limits"), ("scopes", "Scopes")]


@pytest.mark.django_db
def test_search_follows_a_change_at_once(folder: Path) -> None:
    refresh(folder)
    (folder / "tokens.md").write_text("# Tokens\n\nThey are rotated.\n")
    refresh(folder)
    assert search("expire", 5) == []
    assert search("rev", 5) == []
    assert [hit.page for hit in search("rotated", 5)] == ["tokens"]


@pytest.mark.django_db
def test_a_new_reader_reads_every_page_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh(folder)
    monkeypatch.setattr(index, "READER_REVISION", "next")
    assert refresh(folder).changed == 2


@pytest.mark.django_db
@pytest.mark.parametrize("place", ["nowhere", "docs/tokens.md"])
def test_a_missing_folder_is_named(folder: Path, place: str) -> None:
    with pytest.raises(DocumentationMissing, match=place):
        refresh(folder.parent / place)


@pytest.mark.django_db
def test_a_missing_folder_leaves_the_index_as_it_was(folder: Path) -> None:
    refresh(folder)
    with pytest.raises(DocumentationMissing):
        refresh(folder / "nowhere")
    assert len(pages()) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["notes.txt", "inner/page.md", "dir.md/page.md"])
def test_what_is_no_page_of_the_folder_is_not_indexed(folder: Path, name: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("# Hidden\n")
    assert refresh(folder).added == 2


@pytest.mark.django_db
def test_a_draft_is_left_out_without_a_word(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "_draft.md").write_text("# Draft\n")
    assert refresh(folder).added == 2
    assert caplog.text == ""


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["Upper.md", "with space.md", "dotted.name.md", f"{'x' * 121}.md"])
def test_a_file_whose_name_is_no_slug_is_skipped(folder: Path, name: str) -> None:
    (folder / name).write_text("# Hidden\n")
    assert refresh(folder).added == 2


@pytest.mark.django_db
@pytest.mark.parametrize("content", [b"# \xff\xfe", b"x" * (index.MAX_BYTES + 1)])
def test_a_file_that_cannot_be_a_page_is_skipped_and_logged(
    folder: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "odd.md").write_bytes(content)
    assert refresh(folder).added == 2
    assert "odd.md" in caplog.text


@pytest.mark.django_db
def test_a_link_out_of_the_folder_is_not_followed(folder: Path) -> None:
    (folder.parent / "secret.md").write_text("# Secret\n")
    (folder / "linked.md").symlink_to(folder.parent / "secret.md")
    (folder / "dangling.md").symlink_to(folder.parent / "gone.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    assert refresh(folder).added == 2


@pytest.mark.django_db
def test_a_link_within_the_folder_is_a_page(folder: Path) -> None:
    (folder / "keys.md").symlink_to(folder / "tokens.md")
    assert refresh(folder).added == 3


@pytest.mark.django_db
def test_a_folder_reached_through_a_link_is_read(folder: Path) -> None:
    (folder.parent / "current").symlink_to(folder)
    assert refresh(folder.parent / "current").added == 2


@pytest.mark.django_db
def test_text_that_a_database_would_refuse_is_stored_without_it(folder: Path) -> None:
    (folder / "odd.md").write_text("\ufeff# Odd\x00 one\n\nbell\x07 and \ue000mark &#0;\n")
    refresh(folder)
    page = read("odd")
    assert page is not None
    assert page.text.startswith("# Odd")
    assert not set(page.text) & set("\x00\x07\ue000\ufeff")


@pytest.mark.django_db
def test_names_longer_than_their_columns_are_cut(folder: Path) -> None:
    (folder / "long.md").write_text(f"# {'title ' * 60}\n\n## {'part ' * 60}\n\ntext\n")
    refresh(folder)
    row = DocumentationSection.objects.get(page="long")
    assert (len(row.page_title), len(row.heading), len(row.anchor)) == (200, 200, 190)


@pytest.mark.django_db
def test_a_refresh_that_another_process_overtook_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = index._wait_for_other_writers

    def wait_while_another_writes() -> None:
        wait()
        monkeypatch.setattr(index, "_wait_for_other_writers", wait)
        refresh(folder)

    monkeypatch.setattr(index, "_wait_for_other_writers", wait_while_another_writes)
    assert refresh(folder) == RefreshCounts(added=0, changed=0, removed=0, unchanged=2)
    assert DocumentationSection.objects.count() == 3


@pytest.fixture
def empty_index_at_end(tmp_path: Path, transactional_db: None) -> Iterator[None]:  # noqa: ARG001  its order
    """Committed rows go again, with the words and entries that no flush knows of."""
    yield
    (tmp_path / "empty").mkdir()
    refresh(tmp_path / "empty")


@pytest.mark.usefixtures("empty_index_at_end")
@pytest.mark.skipif(
    "connection.vendor == 'sqlite'", reason="the test database in memory is one connection's own"
)
def test_processes_that_start_together_index_once(folder: Path) -> None:
    together = Barrier(4)

    def start(_: int) -> RefreshCounts:
        together.wait()
        try:
            return refresh(folder)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(start, range(4)))
    assert sorted(one.added for one in done) == [0, 0, 0, 2]
    assert DocumentationSection.objects.count() == 3


@pytest.mark.django_db
def test_the_command_says_in_one_line_what_it_did(
    folder: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.HALO_DOCS_SOURCE = folder
    call_command("index_docs")
    assert capsys.readouterr().out == (
        "Documentation pages: 2 added, 0 changed, 0 removed, 0 unchanged.\n"
    )


@pytest.mark.django_db
def test_the_command_takes_another_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("index_docs", "--source", str(folder))
    assert "2 added" in capsys.readouterr().out


@pytest.mark.django_db
def test_the_command_fails_plainly_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"There is no documentation folder at .*nowhere"):
        call_command("index_docs", "--source", str(tmp_path / "nowhere"))


@pytest.mark.django_db
def test_spec9_pages_that_moved_to_a_folder_below_leave_the_index(folder: Path) -> None:
    (folder / "deployment.md").write_text("# Deployment\n\nBehind nginx.\n")
    refresh(folder)
    assert read("deployment") is not None
    (folder / "operate").mkdir()
    (folder / "deployment.md").rename(folder / "operate" / "deployment.md")
    refresh(folder)
    assert read("deployment") is None
    assert search("nginx", limit=5) == []


@pytest.mark.django_db
def test_the_list_of_pages_is_no_page_and_no_mistake(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "README.md").write_text("# Documentation\n")
    refresh(folder)
    assert "README" not in caplog.text
