"""Numbers of an API's answer that clients, which hold doubles, would round or cannot hold."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from foundation import json_text
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.gateway import shop
from tests.gateway.shop import Shop

ROUNDED = [
    "12345678901234567890123",
    "-12345678901234567890123",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "1152921504606846976",
    "18446744073709551616",
    "9" * 5_000,
    "12345678901234567.89",
    "0.1234567890123456789",
    "9007199254740993.0",
    "1e400",
    "-1E+400",
    "1e-400",
    "1e99999999999999999999",
    "1e-99999999999999999999",
    "0." + "0" * 200 + "1",
]
KEPT = [
    "9007199254740991",
    "-9007199254740991",
    "0",
    "-0.0",
    "1.10",
    "1e3",
    "1E300",
    "1e22",
    "0.30000000000000004",
    "0.10000000000000001",
    "1.7976931348623157e308",
    "5e-324",
    "100.00000000000000000000",
]


@pytest.fixture
def declared_shop(grant: shop.Grant, site: Site) -> Iterator[Shop]:
    """A shop whose document declares what reads answer: the tool has an output schema."""
    described = shop.document()
    item = {"type": "object", "properties": {"v": {"type": "integer"}}}
    found = {"description": "Found.", "content": {"application/json": {"schema": item}}}
    described["paths"]["/items/{id}"]["get"]["responses"] = {"200": found}
    project = shop.create_project(grant, site, described)
    with shop.endpoint(grant, project) as mcp:
        yield Shop(grant, site, project, mcp)


def read(opened: Shop, body: str) -> Any:
    opened.site.script(sites.sending(body.encode()))
    result = opened.mcp.call("getItem", {"id": "1"}).result
    assert result["isError"] is False
    assert result["content"][0]["text"] == body
    return result


@pytest.mark.parametrize("number", ROUNDED)
@pytest.mark.parametrize("around", ["{}", "[{}]", "[1,{}]", '{{"a":{}}}', '{{"a": {}}}', "[\n{}]"])
def test_a_number_that_clients_would_round_is_found_wherever_it_is(
    number: str, around: str
) -> None:
    assert json_text.may_be_rounded(around.format(number))


@pytest.mark.parametrize("text", ["c0ffe123-e456", "acct_1234567890123456789", "1e400x"])
def test_digits_within_an_id_are_no_number(text: str) -> None:
    assert not json_text.may_be_rounded(f'{{"id":"{text}"}}')


def test_a_number_that_clients_would_round_is_in_the_text_alone(open_shop: Shop) -> None:
    for number in ROUNDED:
        for body in (f'{{"v": {number}, "w": 1}}', f"[[{number}]]"):
            assert "structuredContent" not in read(open_shop, body), number


def test_a_number_that_clients_would_round_is_text_where_a_schema_demands_an_object(
    declared_shop: Shop,
) -> None:
    for number in ROUNDED:
        result = read(declared_shop, f'{{"v": {number}, "w": [1.5, {number}]}}')
        assert result["structuredContent"] == {"v": number, "w": [1.5, number]}


def test_a_number_that_clients_keep_is_a_number(open_shop: Shop) -> None:
    for number in KEPT:
        result = read(open_shop, f'{{"v": {number}}}')
        assert result["structuredContent"] == {"v": json.loads(number)}


def test_numbers_that_no_client_can_hold_are_no_internal_error(open_shop: Shop) -> None:
    body = '{"id": 12345678901234567890123, "f": 1.10, "e": 1e400}'
    assert "structuredContent" not in read(open_shop, body)
    assert "structuredContent" not in read(open_shop, '{"v":1e400}')


def test_a_long_list_of_such_numbers_is_cut_at_whole_items(declared_shop: Shop) -> None:
    item = f'{{"id": 12345678901234567890123, "e": 1e400, "n": {"9" * 5_000}}}'
    declared_shop.site.script(sites.sending(f"[{','.join([item] * 600)}]".encode()))
    result = declared_shop.mcp.call("getItem", {"id": "1"}).result
    assert result["isError"] is False
    shown, note = result["content"]
    assert shown["text"].startswith(f"[{item},")
    assert "of 600 items are above" in note["text"]
    assert result["structuredContent"]["items"][0]["e"] == "1e400"


def test_only_what_fits_in_a_result_is_read_digit_by_digit(
    declared_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_numbers = []
    is_kept = json_text._is_kept

    def note(digits: str, number: float) -> bool:
        read_numbers.append(digits)
        return is_kept(digits, number)

    monkeypatch.setattr(json_text, "_is_kept", note)
    rows = ",".join(f"[{number}.25]" for number in range(200_000))
    body = f'{{"v": 1, "rows": [{rows}], "checksum": 1234567890.12345678901}}'
    declared_shop.site.script(sites.sending(body.encode()))
    result = declared_shop.mcp.call("getItem", {"id": "1"}).result
    shown, note_of_cut = result["content"]
    kept = json.loads(shown["text"])["rows"]
    assert body.startswith(shown["text"].partition("]]")[0])
    assert f"The first {len(kept):,} of 200,000 items" in note_of_cut["text"]
    assert result["structuredContent"]["rows"] == kept
    assert result["structuredContent"]["checksum"] == "1234567890.12345678901"
    assert len(kept) > 10_000
    assert len(read_numbers) < len(kept) + 10
