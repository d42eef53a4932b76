"""JSON for clients: compact, indented, and with parts that are serialized already."""

import json
import math

import pytest
from hypothesis import given, settings

from foundation.db.storable import has_unstorable_text
from foundation.json_text import SerializedJson, dumps, dumps_indented
from mcp_protocol.strict_json import parse
from tests.drivers.json_values import JSON_VALUES


def test_output_is_compact_utf_8() -> None:
    assert dumps({"a": ["é", 1.5, None]}) == '{"a":["é",1.5,null]}'.encode()


def test_what_the_fast_writer_cannot_write_is_written_all_the_same() -> None:
    assert dumps({"id": 10**30}) == b'{"id":1000000000000000000000000000000}'
    assert dumps(["\ud800", "\x00"]) == b'["\\\\ud800","\\u0000"]'
    assert dumps({"\udfff": ("é",)}) == '{"\\\\udfff":["é"]}'.encode()


@settings(deadline=None)
@given(JSON_VALUES)
def test_whatever_was_read_can_be_written_and_read_again(value: object) -> None:
    assert has_unstorable_text(value) or parse(dumps(value)) == value
    json.loads(dumps(value))


@pytest.mark.parametrize("other", [1, 10**30], ids=["fast-writer", "slow-writer"])
@settings(deadline=None)
@given(value=JSON_VALUES)
def test_what_is_written_already_goes_in_as_it_would_have_been_written(
    value: object, other: int
) -> None:
    assert dumps([SerializedJson(value), other]) == dumps([json.loads(dumps(value)), other])


def test_what_the_fast_writer_cannot_write_can_be_written_already() -> None:
    assert dumps([SerializedJson({"id": 10**30}), "é"]) == '[{"id":%d},"é"]'.encode() % 10**30
    assert dumps([SerializedJson({"id": 10**30}), 10**30]) == b'[{"id":%d},%d]' % (10**30, 10**30)


@pytest.mark.parametrize("other", [1, 10**30], ids=["fast-writer", "slow-writer"])
def test_what_is_not_json_at_all_is_not_written(other: int) -> None:
    with pytest.raises(TypeError):
        dumps({"a": {1, 2}, "b": other})


def test_indented_text_has_two_spaces_and_keeps_letters() -> None:
    assert (
        dumps_indented({"name": "Zoë", "n": [1]}) == '{\n  "name": "Zoë",\n  "n": [\n    1\n  ]\n}'
    )
    assert dumps_indented({"n": 10**30}) == '{\n  "n": 1000000000000000000000000000000\n}'
    assert dumps_indented({"a": None}) == '{\n  "a": null\n}'


@pytest.mark.parametrize("figure", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("other", [1, 10**30], ids=["fast-writer", "slow-writer"])
def test_j14_a_tools_nan_is_an_error_and_not_a_null(figure: float, other: int) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps_indented({"rows": [other, (figure,)]})
