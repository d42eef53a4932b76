"""Form bodies, query strings and Basic credentials, read strictly."""

from base64 import b64encode
from urllib.parse import quote_plus, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oauth.endpoints.forms import FormParameters, parse_basic, parse_form, parse_query
from oauth.errors import InvalidClient, InvalidRequest

FORM = "application/x-www-form-urlencoded"
at_any_pace = settings(deadline=None)
storable = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def read(body: bytes, content_type: str = FORM) -> FormParameters:
    return parse_form(body, content_type)


def basic(client_id: str, secret: str) -> str:
    return "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()


def test_a_token_request_is_read_with_its_escapes_undone() -> None:
    form = read(b"grant_type=authorization_code&code=halo_ac_x&redirect_uri=http%3A%2F%2Fa%2F+b")
    assert form.require("grant_type") == "authorization_code"
    assert form.get("redirect_uri") == "http://a/ b"
    assert form.get("scope") is None


@pytest.mark.parametrize(
    "content_type",
    [FORM, f"{FORM};charset=UTF-8", f'{FORM.upper()} ; charset="utf-8"', f"{FORM}; x=y"],
)
def test_the_media_type_may_carry_its_charset(content_type: str) -> None:
    assert read("a=é".encode(), content_type).get("a") == "é"


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/json",
        "text/plain",
        "multipart/form-data; boundary=x",
        f"{FORM}x",
        f"{FORM}; charset=utf-16",
        f"{FORM}; charset=utf-8; charset=latin-1",
    ],
)
def test_another_media_type_is_an_invalid_request(content_type: str) -> None:
    with pytest.raises(InvalidRequest):
        read(b"a=1", content_type)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"code=bad&code=good", "code must not be sent more than once"),
        (b"code=&code=good", "code must not be sent more than once"),
        (b"c%6Fde=bad&code=good", "code must not be sent more than once"),
        (b"code", "name=value"),
        (b"a=1&code", "name=value"),
        (b"a=%zz", "percent sign"),
        (b"a=%", "percent sign"),
        (b"a=%f", "percent sign"),
        (b"%zz=a", "percent sign"),
        (b"a=%ff%fe", "UTF-8"),
        (b"a=\xff\xfe", "UTF-8"),
        (b"a=%ed%a0%80", "UTF-8"),
        (b"a=%c0%80", "UTF-8"),
        (b"a=x%00y", "NUL"),
        (b"a=x\0y", "NUL"),
        (b"x%00=y", "NUL"),
    ],
)
def test_a_malformed_body_is_refused_with_its_reason(body: bytes, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read(body)
    assert message in refused.value.hint


def test_thirty_parameters_and_sixteen_kilobytes_are_the_most_a_body_holds() -> None:
    fields = [f"f{number}=x" for number in range(31)]
    assert read("&".join(fields[:30]).encode()).get("f29") == "x"
    with pytest.raises(InvalidRequest, match="more than 30"):
        read("&".join(fields).encode())
    assert read(b"a=".ljust(16_384, b"x")).get("a") == "x" * 16_382
    with pytest.raises(InvalidRequest, match="longer than 16384"):
        read(b"a=".ljust(16_385, b"x"))


def test_an_endpoint_may_set_tighter_bounds() -> None:
    with pytest.raises(InvalidRequest):
        parse_form(b"a=1&b=2", FORM, max_fields=1)
    with pytest.raises(InvalidRequest):
        parse_form(b"a=1&b=2", FORM, max_bytes=6)


def test_a_parameter_without_a_value_counts_as_omitted() -> None:
    form = read(b"scope=&&client_id=x&")
    assert form.get("scope") is None
    with pytest.raises(InvalidRequest, match="scope is required"):
        form.require("scope")


def test_what_a_request_carries_stays_out_of_its_representation() -> None:
    assert "hush" not in repr(read(b"client_secret=hush"))
    assert "hush" not in repr(parse_query("state=hush"))


@at_any_pace
@given(st.dictionaries(storable, storable, max_size=10))
def test_whatever_a_client_encodes_is_read_back(sent: dict[str, str]) -> None:
    encoded = urlencode(sent)
    assert parse_form(encoded.encode(), FORM, max_bytes=100_000).values == sent
    assert parse_query(encoded).values == sent


@at_any_pace
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        form = read(body)
    except InvalidRequest:
        return
    assert all("\0" not in value for value in form.values.values())
    assert all(form.values.values())


def test_a_query_knows_which_parameters_were_repeated() -> None:
    query = parse_query("client_id=a&state=x&state=y&code_challenge=a&code_challenge=a&prompt")
    assert query.once("client_id") == "a"
    assert query.once("prompt") is None
    assert query.once("absent") is None
    assert query.duplicated == {"state", "code_challenge"}
    for name in query.duplicated:
        with pytest.raises(InvalidRequest, match=f"{name} must not be sent more than once"):
            query.once(name)


def test_a_repeated_parameter_counts_even_where_one_of_them_is_empty() -> None:
    assert parse_query("state=&state=x").duplicated == {"state"}


@pytest.mark.parametrize("query", ["client_id=%zz", "a=%", "a=%ff", "%g0=1", "a=\ud800"])
def test_a_query_that_cannot_be_decoded_is_an_invalid_request(query: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_query(query)


def test_a_nul_is_refused_except_where_a_grammar_of_its_own_reads_the_value() -> None:
    query = parse_query("client_id=a%00&scope=docs:read%00data:read&state=x&state=y")
    with pytest.raises(InvalidRequest, match="client_id must not contain a NUL"):
        query.once("client_id")
    assert query.verbatim("scope") == "docs:read\0data:read"
    with pytest.raises(InvalidRequest, match="more than once"):
        query.verbatim("state")


@at_any_pace
@given(storable, storable)
def test_basic_credentials_are_form_encoded_before_they_are_joined(
    client_id: str, secret: str
) -> None:
    header = basic(quote_plus(client_id), quote_plus(secret))
    assert parse_basic(header) == (client_id, secret)


def test_the_scheme_is_read_in_any_case_and_an_empty_secret_stays_empty() -> None:
    assert parse_basic("bAsIc " + b64encode(b"id:").decode()) == ("id", "")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic ",
        "Bearer aWQ6c2VjcmV0",
        "Basic !!!!",
        "Basic aWQ6c2VjcmV",
        "Basic aWQ6c2Vj cmV0",
        "Basic é",
        "Basic \ud800",
        "aWQ6c2VjcmV0",
        basic("", "secret"),
        basic("id", "%zz"),
        basic("%ff", "secret"),
        basic("id", "a%00"),
        basic("i\0d", "secret"),
        "Basic " + b64encode(b"no colon").decode(),
        "Basic " + b64encode(b"\xff\xfe:x").decode(),
    ],
)
def test_garbage_in_the_authorization_header_is_an_invalid_client(header: str) -> None:
    with pytest.raises(InvalidClient) as refused:
        parse_basic(header)
    assert refused.value.status == 401
    names_the_scheme = "Basic scheme" in refused.value.hint
    assert names_the_scheme or refused.value.hint == "The Authorization header is malformed."


@pytest.mark.parametrize("header", ["Bearer halo_at_stale", "DPoP a", "Digest x=1"])
def test_p9_another_scheme_is_answered_with_what_the_endpoint_takes(header: str) -> None:
    with pytest.raises(InvalidClient) as refused:
        parse_basic(header)
    assert "takes client credentials with the Basic scheme or in the body" in refused.value.hint
