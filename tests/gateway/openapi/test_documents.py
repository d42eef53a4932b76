"""Which texts are OpenAPI documents (case O04): anything else gets one clear sentence."""

import json
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from gateway.openapi import documents, mapping
from gateway.openapi.documents import DocumentLimits, InvalidDocument
from tests.drivers.openapi_documents import document, validator, why_not_portable

DEEP = 10_000
LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not an object"),
        ("[]", "not an object"),
        ("{}", 'neither "openapi" nor "swagger"'),
        ('{"openapi": "4.0.0"}', "'4.0.0'"),
        ('{"swagger": "1.2"}', "'1.2'"),
        ('{"openapi": "2.0"}', "2.0, 3.0, 3.1 and 3.2 are supported"),
        ('{"openapi": ["3.0"]}', "supported"),
        ('{"openapi": "3.0.0", "openapi": "3.1.0"}', "'openapi' twice"),
        ('{"openapi": "3.0.0", "x": NaN}', "NaN"),
        ('{"openapi": "3.0.0", "x": 1e999}', "too large"),
        ('{"openapi": "3.0.0", "x": ' + "9" * 200 + "}", "digits"),
        ('{"openapi": "3.0.0", "x": "\\u0000"}', "NUL"),
        ('{"openapi": "3.0.0", "x": "\\ud800"}', "surrogate"),
        ('{"openapi": "3.0.0",', "not valid JSON"),
        ("openapi: 3.0.0\nopenapi: 3.1.0", "'openapi' twice"),
        ("openapi: !!python/object/apply:os.system [id]", "python/object"),
        ("openapi: 3.0.0\nx: !!set {a}", "JSON has none"),
        ("openapi: 3.0.0\n? [a]\n: b", "key is not text"),
        ("a: &a [*a]", "inside itself"),
        ("a: b: c", "not valid YAML"),
        ("a: 1\n---\nb: 2", "more than one"),
        (b"\xff\xff", "not text in UTF-8"),
        ("[" * DEEP + "]" * DEEP, "nested"),
        ("- " * DEEP + "x", "nested"),
        ('{"allOf":[' * DEEP + "]}" * DEEP, "nested"),
        (LAUGHS, "values"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_o04_what_is_no_document_is_refused_with_a_sentence(
    text: str | bytes, sentence: str
) -> None:
    with pytest.raises(InvalidDocument, match=sentence):
        documents.parse(text)


def test_o04_a_document_over_the_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(InvalidDocument, match="larger than 1,000 bytes"):
        documents.parse(b"[" * 1001, limits=DocumentLimits(max_bytes=1000))


def test_o04_a_chain_of_thousands_of_references_is_mapped_without_recursion() -> None:
    length = 5_100
    schemas: dict[str, Any] = {
        f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}]} for n in range(length)
    }
    schemas[f"S{length}"] = {"type": "object", "properties": {"name": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}

    found = mapping.read(
        document({"/a": {"post": {"requestBody": body}}, "/b": {"get": {}}},
                 components={"schemas": schemas})
    )  # fmt: skip

    assert [one.key for one in found.operations] == ["GET /b"]
    assert "5,000 schemas" in found.unmapped[0].reason


def test_yaml_has_the_values_of_json_and_nothing_of_yaml_1_1() -> None:
    text = """
openapi: 3.0.0
info: &shared {title: T, version: 1.10}
x-values: [on, yes, 1:30, 2019-01-01, 010, 1.5, 0x1F, null, ~, true, '1', !!str 1]
x-merged: {<<: *shared, title: Own}
"""
    found = documents.parse(text)

    assert found["x-values"] == [
        "on", "yes", "1:30", "2019-01-01", 10, 1.5, "0x1F", None, None, True, "1", "1",
    ]  # fmt: skip
    assert found["x-merged"] == {"title": "Own", "version": 1.1}


WORDS = st.sampled_from([
    "$ref", "#", "#/paths", "#/components/schemas/A", "a.json", "get", "post", "/a", "/a/{id}",
    "parameters", "in", "query", "path", "body", "formData", "name", "schema", "requestBody",
    "content", "application/json", "multipart/form-data", "type", "object", "array", "file",
    "properties", "items", "required", "allOf", "anyOf", "enum", "nullable", "readOnly", "format",
    "int64", "pattern", "(", "discriminator", "mapping", "responses", "200", "security", "flows",
    "components", "schemas", "A", "securitySchemes", "servers", "url", "variables", "default",
    "style", "encoding", "paths", "webhooks", "callbacks", "tags", "const", "additionalProperties",
    "exclusiveMinimum", "minimum", "multipleOf", "operationId", "in", "swagger", "host", "basePath",
])  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.text()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5)
)


@settings(max_examples=25, deadline=None)
@given(value=VALUES, version=st.sampled_from(["2.0", "3.0.0", "3.1.0", "3.2.0"]))
def test_any_value_is_a_document_or_refused(value: Any, version: str) -> None:
    whole = value if isinstance(value, dict) else {"paths": value}
    key = "swagger" if version == "2.0" else "openapi"
    text = json.dumps({**whole, key: version})

    try:
        mapping.read(documents.parse(text))
    except InvalidDocument:
        return


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "array", "object", "boolean", "file"])
            | st.lists(st.sampled_from(["string", "null", "integer"])),
            "enum": st.lists(LEAVES, max_size=3),
            "nullable": st.booleans(),
            "format": st.sampled_from(["int64", "binary", "date-time"]),
            "pattern": st.sampled_from(["^a$", "(?=a)", "(", "(a+)+$"]),
            "multipleOf": st.integers(-1, 2),
            "$ref": st.sampled_from(["#/components/schemas/A", "#/components/schemas/B", "#"]),
            "required": st.lists(st.sampled_from(["id", "T<", "body"]), max_size=3),
            "default": LEAVES,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(
                st.sampled_from(["id", "T<", "T>", "body", "__proto__", "a b"]), inner, max_size=3
            ),
            "items": inner | st.lists(inner, max_size=2),
            **dict.fromkeys(("allOf", "anyOf", "oneOf"), st.lists(inner, max_size=3)),
            "additionalProperties": inner | st.booleans(),
            "not": inner,
        },
    ),
    max_leaves=8,
)
PLACES = st.sampled_from(["query", "header", "cookie", "path"])


@settings(max_examples=25, deadline=None)
@given(
    version=st.sampled_from(["3.0.0", "3.1.0"]),
    named=st.fixed_dictionaries({"A": SCHEMAS, "B": SCHEMAS}),
    body=SCHEMAS,
    media_type=st.sampled_from([
        "application/json", "application/x-www-form-urlencoded", "multipart/form-data", "image/png",
    ]),
    parameters=st.lists(
        st.fixed_dictionaries({"name": st.sampled_from(["id", "body", "f[a]", "$top"]),
                               "in": PLACES, "schema": SCHEMAS}), max_size=4),
)  # fmt: skip
def test_pitfall_52_every_made_up_tool_is_portable_and_compiles(
    version: str, named: Any, body: Any, media_type: str, parameters: Any
) -> None:
    operation = {
        "requestBody": {"content": {media_type: {"schema": body}}}, "parameters": parameters,
    }  # fmt: skip
    raw = document({"/a/{id}": {"post": operation}}, version, components={"schemas": named})

    try:
        parsed = documents.parse(json.dumps(raw))
    except documents.InvalidDocument:
        reject()  # infinities, NUL and surrogates, which no document has
    found = mapping.read(parsed)

    for one in found.operations:
        assert why_not_portable(one.listed_schema) == []
        validator(one)
