"""Erasing and exporting a customer with joined rows, other ids and earlier addresses."""

import json
from typing import Any

import pytest

from tests.drivers.grants import Grant
from tests.ingestion.app import App
from tests.workspace.privacy import erase, export_customer, rows_with
from workspace.models import Customer, Join

OLD, NEW, OTHER = "zoe@old.example", "zoe@new.example", "quill@other.example"
NAMES = (OLD, NEW, OTHER, "zoe-external-1", "zoe-external-2", "Zoe Quillon", "pomegranate")


@pytest.fixture
def server(grant: Grant) -> App:
    """The server of an organization in which one person has two ids and three addresses."""
    app = App(grant)
    server = app.server()
    visit = {"event_type": "page_view", "session_id": "s-zoe", "page_url": "https://x/pomegranate"}
    app.page().post("events", {"events": [visit]})
    for address in (OLD, NEW):
        traits = {"email": address, "name": "Zoe Quillon"}
        sent = {"user_id": "zoe-external-1", "traits": traits, "session_id": "s-zoe"}
        server.post("identify", sent)
    server.post("tickets/create", {"email": OTHER, "subject": "pomegranate", "message": "?"})
    server.post("identify", {"user_id": "zoe-external-2", "traits": {"email": OTHER}})
    pair = {"from_id": "zoe-external-2", "into_id": "zoe-external-1"}
    assert server.post("users/merge", pair).status == 200
    late = {"email": OLD, "subject": "pomegranate", "message": "Late"}
    app.page().post("tickets/create", late)
    return server


def export_json(server: App, named: str) -> Any:
    return export_customer(server.grant, named)


def test_an_export_has_joined_rows_other_ids_and_earlier_addresses(server: App) -> None:
    document = export_json(server, "zoe-external-2")
    counts = {name: len(document[name]) for name in ("events", "tickets", "aliases", "joins")}
    assert counts == {"events": 1, "tickets": 2, "aliases": 4, "joins": 3}
    assert {one["value"] for one in document["aliases"]} >= {OLD, OTHER, "zoe-external-2"}
    assert "Zoe Quillon" in json.dumps(document)


@pytest.mark.parametrize("named", ["zoe-external-2", OLD])
def test_an_erasure_by_any_name_leaves_none(server: App, named: str) -> None:
    assert rows_with(*NAMES)
    customer_id, merged_id = Customer.objects.get().pk, Join.objects.get(rule="merge").source
    erase(server.grant, named)
    assert rows_with(*NAMES) == set()
    assert rows_with(merged_id) == set()
    assert rows_with(customer_id) == {"workspace.Erasure", "audit.SecurityEvent"}


def test_an_undone_merge_keeps_nothing_of_the_other_customer(server: App) -> None:
    join = Join.objects.get(rule="merge")
    assert server.post(f"joins/{join.pk}/undo").status == 200
    erase(server.grant, "zoe-external-2")
    assert (
        rows_with("zoe-external-2", join.source)
        - {
            "workspace.Erasure",
            "audit.SecurityEvent",
        }
        == set()
    )
    assert Customer.objects.get().external_id == "zoe-external-1"


def test_an_erasure_finds_the_person_in_merged_rows_of_others(server: App) -> None:
    traits = {"name": "Yan", "manager": NEW}
    server.post("identify", {"user_id": "yan-1", "traits": traits})
    server.post("identify", {"user_id": "yan-2"})
    server.post("users/merge", {"from_id": "yan-1", "into_id": "yan-2"})
    erase(server.grant, NEW)
    assert rows_with(NEW) == set()
    join = Join.objects.get()
    assert server.post(f"joins/{join.pk}/undo").status == 200
    fields = dict(Customer.objects.values_list("external_id", "custom_fields"))
    assert fields == {"yan-1": {"manager": "[erased]"}, "yan-2": {}}
