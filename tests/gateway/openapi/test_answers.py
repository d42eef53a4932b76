"""What becomes of the response of an API: content blocks, or a failure with a masked excerpt."""

import json
import sys
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import FrameType
from typing import Any

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from foundation.json_text import dumps
from gateway.openapi import answers, cutting
from tests.drivers.gateway_operations import operation, parameter
from tools_registry.api import Blocks, IntegrationFailure, ToolFailure, Unauthorized

PLAIN = operation()
STRICT = operation(output_schema={"type": "object"})
PAGED = operation(parameters=[parameter("Page-Size", "query"), parameter("q", "query")])
PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
MAX = 20_000


def result(body: bytes | str, content_type: str = "application/json", **options: Any) -> Blocks:
    data = body.encode() if isinstance(body, str) else body
    headers = {"content-type": content_type} if content_type else {}
    facts = {"status": 200, "headers": headers, "operation": PLAIN} | options
    return answers.result(body=data, **facts)


def text(blocks: Blocks) -> str:
    (block,) = blocks.content
    assert block["type"] == "text"
    return str(block["text"])


def failure(
    status: int, body: bytes | str = "", content_type: str = "", **options: Any
) -> ToolFailure:
    with pytest.raises((IntegrationFailure, Unauthorized)) as caught:
        result(body, content_type, status=status, **options)
    assert caught.value.upstream_status == status
    return caught.value


def size(blocks: Blocks) -> int:
    """As the pipeline measures it."""
    return len(dumps([blocks.content, blocks.structured]))


def test_json_is_one_text_block_as_it_came() -> None:
    body = '{ "b": 1.10,\n "a": 9007199254740991, "u": "\\u00e5\\ud800" }'

    blocks = result(b"\xef\xbb\xbf" + body.encode())

    assert text(blocks) == body
    assert blocks.structured == {"b": 1.1, "a": 9007199254740991, "u": "å\\ud800"}
    assert text(result('"å"'.encode("latin-1"), "application/json; charset=latin-1")) == '"å"'


@pytest.mark.parametrize(
    ("body", "structured"),
    [
        ("[1, 2]", {"items": [1, 2]}),
        ("[]", {"items": []}),
        ('{"broken": "schema"}', {"broken": "schema"}),
        ("5", {"value": 5}),
        ("null", {"value": None}),
        ("NaN", {"text": "NaN"}),
        ('{"a": NaN}', {"text": '{"a": NaN}'}),
        ('{"total": -1E400}', {"total": "-1E400"}),
        ("{not json", {"text": "{not json"}),
        ("[" * 100_000, {"text": "[" * 100_000}),
    ],
)
def test_pitfall_47_structured_content_is_always_an_object(body: str, structured: Any) -> None:
    blocks = result(body, operation=STRICT)

    assert text(blocks) == body
    assert blocks.structured == structured


@pytest.mark.parametrize("status", [200, 201, 202, 204, 205])
def test_pitfall_45_no_content_is_a_success(status: int) -> None:
    assert text(result(b"", "", status=status)).startswith(f"The API answered {status} ")
    assert result(b" \r\n", status=status, operation=STRICT).structured == {}
    assert result(b"", status=status).structured is None


@pytest.mark.parametrize(
    ("body", "content_type", "structured"),
    [
        ('{"a": 1}', "text/html; charset=utf-8", {"a": 1}),
        ('[{"a": 1}]', "text/plain", {"items": [{"a": 1}]}),
        ('{"a": 1}', "", {"a": 1}),
        ('{"a": 1}', "application/octet-stream", {"a": 1}),
        ('{"a": 1}', "nonsense", {"a": 1}),
        ("<p>hi</p>", "application/json", None),
        ("<p>hi</p>", "text/html", None),
        ("a,b\n1,2", "text/csv", None),
        ("data: 1\n\n", "text/event-stream", None),
        ("plain", "", None),
        ("12", "text/plain", None),
    ],
)
def test_pitfall_45_a_wrong_content_type_is_no_error(
    body: str, content_type: str, structured: Any
) -> None:
    blocks = result(body, content_type)

    assert text(blocks) == body
    assert blocks.structured == structured


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("å;€".encode(), "text/csv"),
        ("å;€".encode("cp1252"), "text/csv"),
        ("å;€".encode("utf-16"), "text/csv"),
        ("å;€".encode("iso-8859-15"), "text/csv; charset=ISO-8859-15"),
        ("å;€".encode(), "text/csv; charset=x-unknown"),
        ("å;€".encode(), 'text/csv; charset="utf\x00"'),
        ("\ufeffå;€".encode(), "text/csv; header=present"),
    ],
)
def test_pitfall_46_text_is_read_in_its_charset(body: bytes, content_type: str) -> None:
    assert text(result(body, content_type)) == "å;€"


def test_pitfall_46_images_and_files_keep_their_bytes() -> None:
    (image,) = result(PNG, "image/png; x=y").content
    assert image == {"type": "image", "data": "iVBORw0KGgoA/w==", "mimeType": "image/png"}

    disposition = "attachment; filename*=utf-8''..%2Fr%C3%A9sum%C3%A9.pdf"
    headers = {"Content-Type": "application/pdf", "Content-Disposition": disposition}
    blocks = result(b"%PDF-1.7 text", headers=headers, operation=STRICT)
    (file,) = blocks.content
    assert file["type"] == "resource"
    assert file["resource"]["mimeType"] == "application/pdf"
    assert file["resource"]["uri"] == "response:///list_things/r%C3%A9sum%C3%A9.pdf"
    assert b64decode(file["resource"]["blob"]) == b"%PDF-1.7 text"
    assert blocks.structured == {"mimeType": "application/pdf", "bytes": 13, "name": "résumé.pdf"}

    for content_type in ("application/zip", "application/json", "", "audio/mpeg", "image/tiff"):
        (one,) = result(b"PK\x00\x01\xff", content_type).content
        assert b64decode(one["resource"]["blob"]) == b"PK\x00\x01\xff"
    (vector,) = result("<svg/>", "image/svg+xml").content
    assert vector["text"] == "<svg/>"


def test_pitfall_46_a_file_that_is_too_large_is_described() -> None:
    for content_type in ("application/pdf", "image/png"):
        blocks = result(b"\x00" * MAX, content_type, max_bytes=MAX)

        assert f"({content_type}, 20,000 bytes)" in text(blocks)


@pytest.mark.parametrize(
    ("around", "key"),
    [("%s", ""), ('{"total": 900, "x": {"data": [1], "rows": %s}, "next": "n"}', "x.rows"),
     ('{"b": "[1,2", "rows" : %s , "c": []}', "rows")],
)  # fmt: skip
def test_pitfall_49_a_long_list_is_cut_at_whole_items(around: str, key: str) -> None:
    rows = [{"id": 2**52 + number, "text": 'å "quoted" \\' * 5} for number in range(900)]
    body = around.replace("%s", json.dumps(rows, indent=1))

    blocks = result(body, operation=PAGED, max_bytes=MAX)

    shown, note = (block["text"] for block in blocks.content)
    value: Any = json.loads(shown)
    assert blocks.structured == (value if key else {"items": value})
    for part in key.split(".") if key else []:
        value = value[part]
    assert rows[: len(value)] == value
    assert MAX - 2_000 < size(blocks) <= MAX
    assert note == (
        f"The first {len(value)} of 900 items are above; the whole answer is too large for a "
        "result. For the others, call again with other values of: Page-Size."
    )
    assert body.startswith(shown[:500])


def test_a_list_that_another_member_of_its_name_replaces_is_not_the_one_that_is_cut() -> None:
    long, short = json.dumps(["x" * 90] * 400), json.dumps(["y" * 90] * 150)
    body = f'{{"a": {{"rows": {json.dumps([0] * 1_500)}}}, "rows": {short}, "a": {{"b": {long}}}}}'
    blocks = result(body, operation=PAGED, max_bytes=60_000)
    shown, note = (block["text"] for block in blocks.content)
    value: Any = json.loads(shown)
    assert blocks.structured == value
    assert len(value["rows"]) == 150
    assert f"The first {len(value['a']['b'])} of 400 items" in note


def repeat_names(count: int) -> str:
    """An object of many arrays, in which two names are repeated as often."""
    arrays = [f'"a{number}": [1]' for number in range(count)]
    names = [f'"a": {{"b": {[2] * 9}}}, "rows": [{number}, 3]' for number in range(count)]
    return f'{{"rows": [0, 0, 0, 0], {", ".join([*arrays, *names])}, "a": 1}}'


def counted_steps(text: str) -> int:
    """How many instructions of `cutting` are run to cut a text."""
    steps = 0

    def count(frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal steps
        if frame.f_code.co_filename != cutting.__file__:
            return None
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        cut = cutting.cut(text, len(text) * 3)
    finally:
        sys.settrace(before)
    assert cut is not None
    assert (len(cut.value["rows"]), cut.kept, cut.total) == (2, 2, 2)
    return steps


def test_names_that_are_repeated_next_to_many_arrays_take_no_more_work_than_others() -> None:
    assert counted_steps(repeat_names(160)) < 2.2 * counted_steps(repeat_names(80))


def test_a_large_number_in_an_item_that_is_left_out_leaves_the_structured_content() -> None:
    large = {"id": 12345678901234567890123, "text": "x" * 12_000}
    blocks = result(json.dumps([1, 2, 3, large, large]), max_bytes=MAX)
    shown, note = (block["text"] for block in blocks.content)
    assert (json.loads(shown), blocks.structured) == ([1, 2, 3], {"items": [1, 2, 3]})
    assert note.startswith("The first 3 of 5 items")
    kept = result(json.dumps([large["id"], 2, 3, large, large]), max_bytes=MAX)
    assert kept.structured is None


@pytest.mark.parametrize(
    "end", ["", "]", "],", "] x", ",]", " 1]", ":1]", "}", "NaN]", ', {"a" 1}]', ', {"a": 1,}]']
)
def test_a_large_answer_that_is_no_json_is_text(end: str) -> None:
    body = f"{json.dumps(['line'] * MAX)[:-1]}{end}"
    blocks = result(body, operation=STRICT, max_bytes=MAX)
    *_, note = (block["text"] for block in blocks.content)
    assert ("items are above" if end == "]" else "characters are above") in note
    nested = f'{{"rows": {body}, "n": 1}}'
    *_, note = (block["text"] for block in result(nested, operation=STRICT, max_bytes=MAX).content)
    assert ("items are above" if end == "]" else "characters are above") in note


@pytest.mark.parametrize("body", [json.dumps("å\n" * MAX), json.dumps([["x" * MAX]]), "å\n" * MAX])
def test_pitfall_49_what_cannot_be_cut_at_items_is_cut_at_lines(body: str) -> None:
    blocks = result(body, operation=STRICT, max_bytes=MAX)

    shown, note = (block["text"] for block in blocks.content)
    assert body.startswith(shown)
    assert len(shown) > MAX // 8
    assert note.startswith(f"The first {len(shown):,} of {len(body):,} characters are above")
    assert blocks.structured == {"note": note}
    assert size(blocks) <= MAX


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        (
            "https://u:p@files.example/x.pdf?X-Amz-Signature=abc&X-Amz-Expires=60&sig=1#frag",
            "https://files.example/x.pdf?X-Amz-Signature=***&X-Amz-Expires=60&sig=***",
        ),
        ("/relative?page=2&access_token=t", "/relative?page=2&access_token=***"),
        ("https://a.example/known-secret/x", "https://a.example/***/x"),
        ("http://[broken?token=1", "http://[broken"),
    ],
)
def test_pitfall_41_a_redirect_is_not_followed_and_its_secrets_are_left_out(
    location: str, shown: str
) -> None:
    options: dict[str, Any] = {"headers": {"location": location}, "secrets": ["known-secret"]}

    blocks = result(b"moved", status=302, operation=STRICT, **options)

    assert text(blocks) == (
        f"The API answered 302 Found and points to {shown}, which was not followed."
    )
    assert blocks.structured == {"status": 302, "location": shown}
    assert text(result(b"", status=304)) == "The API answered 304 Not Modified."


def test_pitfall_44_an_error_has_its_status_and_an_excerpt() -> None:
    page = "<html><head><title>Oops</title><script>var x=1</script></head><p>It&nbsp;broke</p>"

    assert failure(500, page, "text/html").message == (
        "The API answered 500 Internal Server Error: Oops It broke"
    )
    assert failure(404, '{"error":\n  "no such\u202e thing"}').message == (
        'The API answered 404 Not Found: {"error": "no such thing"}'
    )
    assert failure(418).message == "The API answered 418 I'm a Teapot."
    assert failure(599, b"\x00\xff", "application/pdf").message == "The API answered 599."
    long = failure(400, "word " * 5_000, "text/plain").message
    assert len(long) < 1_100
    assert long.endswith("…")
    for content_type in ("text/html", "application/json", ""):
        assert "<![x[" in failure(502, "<![x[", content_type).message


@pytest.mark.parametrize(("status", "kind"), [(401, Unauthorized), (403, Unauthorized),
                                              (400, IntegrationFailure)])  # fmt: skip
def test_pitfall_44_a_refused_credential_differs_from_a_refused_request(
    status: int, kind: type[ToolFailure]
) -> None:
    failed = failure(status, "no")

    assert type(failed) is kind
    assert failed.kind == ("integration" if status == 400 else "unauthorized")


@pytest.mark.parametrize(
    "body",
    [
        '{"message": "bad key SECRETSECRET"}',
        "Authorization: Bearer SECRETSECRET",
        "got Basic SECRETSECRET== instead",
        '{"password": "SECRET\\"SECRET", "ok": 1}',
        '{"inner": "{\\"client_secret\\":\\"SECRETSECRET\\"}"}',
        "api_key=SECRETSECRET&x=1",
        "https://user:SECRETSECRET@host/x",
        "key sk_live_SECRETSECRET is invalid",
        "ghp_SECRETSECRET0000",
        "eyJhbGciOiJIUzI1NiJ9.SECRETSECRET.SECRET",
        "X-Api-Key: 'SECRETSECRET'",
        "SECRET%2FSECRET",
        "<p>session_id=SECRETSECRET</p>",
    ],
)
def test_secrets_in_an_error_are_masked(body: str) -> None:
    shown = failure(400, body, secrets=["SECRET/SECRET", "bad key SECRETSECRET"]).message

    assert "SECRET" not in shown
    assert "***" in shown


def test_a_secret_is_masked_as_json_and_where_another_one_is_a_part_of_it() -> None:
    secrets = ["mango", 'mango"7/é']
    for echoed in ('mango"7/é', json.dumps('mango"7/é'), "mango%227%2F%C3%A9", "mango"):
        shown = failure(400, f"Not known: {echoed}.", secrets=secrets).message
        assert "mango" not in shown
        assert "7" not in shown.partition("Not known")[2]


def test_a_busy_api_says_when_to_try_again() -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    later = format_datetime(now + timedelta(days=2), usegmt=True)

    assert failure(429, headers={"Retry-After": "30"}).message == (
        "The API answered 429 Too Many Requests. Try again in 30 seconds."
    )
    with time_machine.travel(now, tick=False):
        assert "Try again in 172,800 sec" in failure(503, headers={"retry-after": later}).message
    assert "Try again" not in failure(429, headers={"retry-after": "soon"}).message


JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
BODIES = (
    st.binary() | st.text().map(str.encode) | JSON.map(lambda value: json.dumps(value).encode())
)
HEADERS = st.text(st.characters(max_codepoint=255))
NAMES = HEADERS | HEADERS.map(lambda name: f"attachment; filename*={name}")
TYPES = HEADERS | st.sampled_from(
    [
        "application/json",
        "text/html",
        "image/png",
        "application/zip",
        "text/csv; charset=utf-7",
        "text/plain; charset=idna",
        "text/plain; charset=undefined",
    ]
)


@given(
    body=BODIES,
    content_type=TYPES,
    named=NAMES,
    status=st.integers(200, 599),
    max_bytes=st.integers(1_500, 3_000),
)
def test_o13_any_response_is_a_result_of_bounded_size_or_a_failure(
    body: bytes, content_type: str, named: str, status: int, max_bytes: int
) -> None:
    headers = {
        "content-type": content_type,
        "content-disposition": named,
        "location": named,
        "link": f'<{named}>; rel="next"',
        "etag": named,
        "retry-after": content_type,
    }

    outcome = _outcome(status, headers, body * 20, max_bytes)

    assert isinstance(outcome, Blocks) == (status < 400)
    if isinstance(outcome, Blocks):
        assert outcome.structured is not None
        assert size(outcome) <= max_bytes or status >= 300
    else:
        assert outcome.upstream_status == status
        assert len(outcome.message) < 1_200


def _outcome(
    status: int, headers: dict[str, str], body: bytes, max_bytes: int
) -> Blocks | ToolFailure:
    try:
        return answers.result(
            status, headers, body, STRICT, max_bytes=max_bytes, url="https://api.example/things"
        )
    except (IntegrationFailure, Unauthorized) as failed:
        return failed
