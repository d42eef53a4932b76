"""The page of clients names each that is run here, at the version that is run."""

from tests.clients import compatibility
from tests.clients.matrix import MATRIX
from tests.docs.doc_pages import page


def test_the_page_has_a_row_for_every_client_and_setting_and_no_other() -> None:
    rows = [compatibility.line(client, client.revision, compatibility.PASSED) for client in MATRIX]

    assert page("compatibility") == compatibility.written(page("compatibility"), rows)


def test_the_rows_of_an_older_run_are_replaced() -> None:
    old = f"# Page\n\n| a |\n{compatibility.RULE}\n| old |\n| older |\n\nText.\n"

    assert compatibility.written(old, ["| new |"]) == (
        f"# Page\n\n| a |\n{compatibility.RULE}\n| new |\n\nText.\n"
    )
