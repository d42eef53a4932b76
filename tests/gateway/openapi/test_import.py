"""The import against the cases of published documents; each test names its pitfall."""

from pathlib import Path
from typing import Any

import pytest

from gateway.openapi import documents, mapping
from gateway.openapi.names import argument_names, tool_names
from tests.drivers.openapi_documents import (
    accepts,
    import_paths,
    json_body,
    listed_arguments,
    operation,
    validator,
    why_not_portable,
)

FIXTURES = Path(__file__).parent / "fixtures"
TEXT = {"type": "string"}


def query(name: str, place: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": TEXT, **more}


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("list users", "list_users"),
        ("a/b c", "a_b_c"),
        ("x#y", "x_y"),
        ("", "get_users_by_id"),
        ("__proto__", "get_users_by_id"),
        ("1st", "op_1st"),
    ],
)
def test_o05_pitfall_1_a_name_has_what_clients_accept(operation_id: str, name: str) -> None:
    assert tool_names({"GET /users/{id}": operation_id}) == {"GET /users/{id}": name}


def test_pitfalls_2_and_3_names_are_unique_short_and_free_of_order() -> None:
    wanted = {"GET /a": "x" * 300, "GET /b": "x" * 299, "GET /c": "List", "GET /d": "list"}

    names = tool_names(wanted)

    assert tool_names(dict(reversed(wanted.items()))) == names
    assert len({name.casefold() for name in names.values()}) == 4
    assert max(map(len, names.values())) == 64


def test_pitfall_5_fragment_and_query_of_a_path_key_make_tools_of_their_own() -> None:
    get = {"get": {}}
    found = import_paths({"/f/{id}": get, "/f/{id}#copy": get, "/f?beta=true": get}).operations

    assert [(one.path, one.fixed_query) for one in found] == [
        ("/f/{id}", ()), ("/f/{id}", ()), ("/f", (("beta", "true"),)),
    ]  # fmt: skip
    assert len({one.name for one in found}) == 3


def test_pitfall_6_a_description_is_plain_text_of_1024_characters() -> None:
    one = operation({"summary": "<b>Hi</b>\u200b", "description": "<p>" + "long " * 40_000})

    assert one.title == "Hi"
    assert one.description.startswith("Hi. long long")
    assert len(one.description) <= 1024


def test_pitfall_7_what_is_no_operation_is_listed_with_its_reason() -> None:
    item = {"trace": {}, "query": {}, "x-any": {"responses": {}}, "get": {
        "callbacks": {"done": {}}, "deprecated": True}}  # fmt: skip
    found = import_paths({"/a": item, "x-b": {}}, "3.2.0", webhooks={"new": {}})

    assert [one.is_deprecated for one in found.operations] == [True]
    assert {one.key for one in found.unmapped} == {
        "TRACE /a", "QUERY /a", "x-any /a", "x-b", "webhook new", "GET /a callback done",
    }  # fmt: skip


def test_pitfall_8_colliding_arguments_get_their_place() -> None:
    body = json_body({"properties": {"id": TEXT}})
    one = operation(body | {"parameters": [query("id", "path", required=True)]}, at="PUT /a/{id}")
    assert set(listed_arguments(one)) == {"id", "id__path"}
    assert one.parameters[0].name == "id"

    whole = operation(json_body({"type": "array"}) | {"parameters": [query("body")]})
    assert set(listed_arguments(whole)) == {"body", "body__query"}


def test_pitfall_9_wire_names_become_legal_keys_and_stay_apart() -> None:
    wanted = [("query", name) for name in ("T", "T<", "T>", "filter[id]", "$top")]

    assert list(argument_names(wanted).values()) == ["T", "top", "T_lt", "T_gt", "filter_id"]


def test_pitfalls_10_and_11_path_parameters_are_merged_and_completed() -> None:
    item = {
        "parameters": [{"$ref": "#/components/parameters/P"}, query("q")],
        "get": {"parameters": [query("q", required=True)]},
    }
    components = {"parameters": {"P": query("a", "path", required=True)}}
    found = import_paths({"/x/{a}/{b}": item}, components=components).operations[0]

    assert set(found.full_schema["required"]) == {"a", "b", "q"}
    assert any("'b' is not declared" in note for note in found.notes)


@pytest.mark.parametrize(
    ("raw", "style", "explode"),
    [
        ({"type": "array", "items": TEXT}, "form", False),
        ({"type": "array", "collectionFormat": "multi"}, "form", True),
        ({"type": "array", "collectionFormat": "ssv"}, "spaceDelimited", False),
        ({"type": "array", "collectionFormat": "tsv"}, "tabDelimited", False),
        ({"type": "array", "collectionFormat": "pipes"}, "pipeDelimited", False),
    ],
)
def test_pitfall_12_collection_formats_are_styles(
    raw: dict[str, Any], style: str, *, explode: bool
) -> None:
    one = operation({"parameters": [{"name": "q", "in": "query", **raw}]}, "2.0")

    assert (one.parameters[0].style, one.parameters[0].explode) == (style, explode)


def test_pitfalls_17_and_18_fixed_and_forbidden_headers_are_no_arguments() -> None:
    version = query("API-Version", "header", required=True, schema={"default": "7"})
    accept = query("Accept", "header", schema={"enum": ["application/vnd.x+json"]})
    refused = [query(name, "header") for name in ("Authorization", "Host", "X-Forwarded-For")]
    one = operation({"parameters": [
        version, accept, *refused, query("X-A", "header"), query("Idempotency-Key", "header"),
    ]})  # fmt: skip

    assert set(listed_arguments(one)) == {"X-A"}
    assert {each.name: each.fixed for each in one.parameters} == {
        "API-Version": "7", "Accept": "application/vnd.x+json", "X-A": None,
    }  # fmt: skip
    assert one.idempotency_header == "Idempotency-Key"


def test_pitfall_19_a_parameter_with_content_is_json() -> None:
    content = {"application/json": {"schema": {"type": "object"}}}
    one = operation({"parameters": [{"name": "q", "in": "query", "content": content}]})

    assert one.parameters[0].media_type == "application/json"


def test_pitfall_21_format_is_a_hint_and_unknown_arguments_need_permission() -> None:
    fields = {"properties": {"at": {"type": "string", "format": "date-time"}}}
    closed, opened = (
        operation(json_body(fields)),
        operation(json_body(fields | {"additionalProperties": True})),
    )
    assert accepts(closed, at="2009-07-06")
    assert not accepts(closed, other=1)
    assert accepts(opened, other=1)
    assert opened.body
    assert opened.body.open_fields


@pytest.mark.parametrize(
    "schema",
    [{"type": "array"}, TEXT, {"type": "object", "additionalProperties": TEXT},
     {"oneOf": [{"type": "object", "properties": {"a": TEXT}}, {"type": "array"}]}],
)  # fmt: skip
def test_pitfalls_22_and_34_a_body_that_is_no_plain_object_is_one_argument(schema: Any) -> None:
    one = operation(json_body(schema, required=True))

    assert list(listed_arguments(one)) == ["body"]
    assert one.body
    assert one.body.argument == "body"
    assert why_not_portable(one.listed_schema) == []


def test_pitfalls_23_and_24_forms_of_2_0_and_files() -> None:
    fields = [{"name": "a", "in": "formData", "type": "string"},
              {"name": "f", "in": "formData", "type": "file", "required": True}]  # fmt: skip
    form = operation({"parameters": fields[:1]}, "2.0").body
    upload = operation({"parameters": fields}, "2.0")

    assert form
    assert form.kind == "form"
    assert upload.body
    assert [(one.name, one.is_file) for one in upload.body.fields] == [("a", False), ("f", True)]
    assert accepts(upload, f={"name": "a.txt", "type": "text/plain", "base64": "YQ=="})


@pytest.mark.parametrize(
    ("types", "kind", "chosen"),
    [
        (["text/xml", "multipart/form-data", "application/json"], "json", "application/json"),
        (["application/x-www-form-urlencoded", "application/x+json"], "json", "application/x+json"),
        (["*/*"], "json", "application/json"),
        (["application/xml"], "text", "application/xml"),
        (["application/octet-stream"], "binary", "application/octet-stream"),
    ],
)
def test_pitfalls_25_and_26_one_type_is_chosen(types: list[str], kind: str, chosen: str) -> None:
    content = {one: {"schema": {"type": "object", "properties": {"a": TEXT}}} for one in types}
    body = operation({"requestBody": {"content": content}}).body

    assert body
    assert (body.kind, body.media_type) == (kind, chosen)


def test_binary_in_and_out_is_said_to_be_base64() -> None:
    scan = {"image/tiff": {"schema": {"type": "string", "format": "binary"}}}
    one = operation(
        {
            "summary": "Straightens a scan",
            "requestBody": {"description": "The scanned page", "content": scan},
            "responses": {"200": {"description": "Done.", "content": scan}},
        }
    )
    body = one.listed_schema["properties"]["body"]
    assert body["description"] == "The scanned page. The content in base64."
    assert one.description == "Straightens a scan. The result is a file, in base64."
    text = {"text/csv": {}, **scan}
    other = operation({"summary": "Exports", "responses": {"200": {"content": text}}})
    assert "base64" not in other.description


def test_descriptions_of_arguments_are_whole_up_to_their_limit() -> None:
    long = " ".join(f"word{number}" for number in range(100))
    parameter = {"name": "q", "in": "query", "description": long, "schema": TEXT}
    body = json_body({"type": "object", "properties": {"a": {**TEXT, "description": long}}})
    one = operation({**body, "parameters": [parameter]})
    for name in ("q", "a"):
        assert one.listed_schema["properties"][name]["description"] == long


def test_pitfall_28_cycles_are_cut_where_listed_and_kept_where_validated() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/N"},
            "id": TEXT}, "allOf": [{"$ref": "#/components/schemas/N"}]}  # fmt: skip
    one = operation(json_body({"$ref": "#/components/schemas/N"}),
                    components={"schemas": {"N": node}})  # fmt: skip

    assert why_not_portable(one.listed_schema) == []
    assert not accepts(one, next={"next": {"next": {"id": 1}}})


def test_pitfall_29_another_document_costs_only_its_operation() -> None:
    found = import_paths({"/a": {"post": json_body({"$ref": "a.json"}), "get": {}}})

    assert [one.key for one in found.operations] == ["GET /a"]
    assert "not fetched" in found.unmapped[0].reason


@pytest.mark.parametrize(("version", "limit"), [("3.0.3", False), ("3.1.0", True)])
def test_pitfall_30_what_is_next_to_a_reference(version: str, *, limit: bool) -> None:
    part = {"$ref": "#/components/schemas/T", "maxLength": 1}
    one = operation(json_body({"properties": {"a": part}}), version,
                    components={"schemas": {"T": TEXT}})  # fmt: skip

    assert accepts(one, a="ab") is not limit


@pytest.mark.parametrize(
    "schema",
    [{"type": "string", "nullable": True}, {"enum": ["a"], "type": "string", "nullable": True},
     {"$ref": "#/components/schemas/T", "nullable": True}, {"allOf": [TEXT], "nullable": True}],
)  # fmt: skip
def test_pitfall_31_nullable_accepts_null(schema: Any) -> None:
    one = operation(json_body({"properties": {"a": schema}}), components={"schemas": {"T": TEXT}})

    assert accepts(one, a=None)
    assert accepts(one, a="a")
    assert not accepts(one, a=1)


def test_o11_pitfalls_32_36_37_38_schemas_are_repaired_with_notes() -> None:
    one = operation(json_body({"properties": {
        "low": {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        "big": {"type": "integer", "format": "int64"},
        "look": {"type": "string", "pattern": "(?=a)b"},
        "slow": {"type": "string", "pattern": "(a+)+$"},
        "zero": {"type": "integer", "multipleOf": 0},
        "list": {"type": "array"},
        "odd": {"type": "string", "properties": {"a": TEXT}},
        "twice": {"type": "string", "enum": ["a", "a"]},
    }}))  # fmt: skip

    assert not accepts(one, low=1)
    assert accepts(one, big="9007199254740993", look="x", slow="x", zero=5, list=[1], odd="x")
    assert listed_arguments(one)["list"]["items"] == {}
    assert listed_arguments(one)["twice"]["enum"] == ["a"]
    assert len(one.notes) == 6


def test_pitfall_33_subtypes_of_a_discriminator_are_shown() -> None:
    schemas = {
        "Pet": {"type": "object", "discriminator": {"propertyName": "kind"},
                "properties": {"kind": TEXT}},
        "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"},
                          {"type": "object", "properties": {"lives": {"type": "integer"}}}]},
    }  # fmt: skip
    pet = {"$ref": "#/components/schemas/Pet"}
    root = operation(json_body(pet), components={"schemas": schemas})
    nested = operation(json_body({"properties": {"pet": pet}}), components={"schemas": schemas})

    assert set(listed_arguments(root)) == {"kind", "lives"}
    assert set(listed_arguments(nested)["pet"]["properties"]) == {"kind", "lives"}
    assert accepts(nested, pet={"kind": "cat", "lives": 9})


def test_pitfall_35_read_only_is_no_input_and_write_only_no_output() -> None:
    schema = {"type": "object", "required": ["id", "secret"], "properties": {
        "id": {"type": "string", "readOnly": True}, "secret": {"type": "string",
        "writeOnly": True}}}  # fmt: skip
    responses = {"200": {"content": {"application/json": {"schema": schema}}}}
    one = operation(json_body(schema, required=True) | {"responses": responses})

    assert one.full_schema["required"] == ["secret"]
    assert one.output_schema == {"type": "object", "properties": {"id": {}}}


def test_pitfalls_39_and_40_security_is_kept_and_credentials_are_hidden() -> None:
    schemes = {
        "key": {"type": "apiKey", "in": "header", "name": "Authorization",
                "description": "Bot <token>"},
        "oauth": {"type": "oauth2", "flows": {"authorizationCode": {"tokenUrl": "/t"}}},
        "basic": {"type": "http", "scheme": "basic"},
    }  # fmt: skip
    one = operation(
        {"security": [{"key": [], "basic": []}, {"oauth": ["a"]}, {}],
         "parameters": [query("token")]},
        components={"securitySchemes": schemes}, security=[{"basic": []}],
    )  # fmt: skip

    assert listed_arguments(one) == {}
    assert [[each.kind for each in some] for some in one.security] == [
        ["api_key", "basic"], ["oauth2"], [],
    ]  # fmt: skip
    assert one.security[0][0].prefix == "Bot "
    assert (one.security[1][0].place, one.security[1][0].argument_name) == ("query", "token")
    assert operation({"security": []}, security=[{"basic": []}]).security == ()


def test_pitfalls_42_and_43_servers_are_collected() -> None:
    servers = [{"url": "https://{h}/v1", "variables": {"h": {"default": "a.example"}}},
               {"url": "/v2"}]  # fmt: skip
    other, shared = [{"url": "https://b.example/"}], [{"url": "https://c.example"}, {"url": "/v2/"}]
    paths = {"/a": {"get": {"servers": other}}, "/b": {"get": {}, "servers": shared}}
    found = import_paths(paths, servers=servers)

    assert found.servers == ("https://a.example/v1", "/v2")
    # A server of the document is what the target URL stands for.
    assert [one.server for one in found.operations] == ["https://b.example", ""]
    assert import_paths({}, "2.0", host="h", basePath="/b").servers == ("https://h/b",)


def test_a_fingerprint_is_of_the_meaning_and_of_the_texts() -> None:
    fields = {"a": TEXT, "b": TEXT}
    one = operation(json_body({"properties": fields}))
    described = operation(json_body({"properties": fields}) | {"summary": "Other"})
    required = operation(json_body({"properties": fields}, required=True))
    named = operation(json_body({"properties": fields}) | {"operationId": "other"})

    assert named.fingerprint == one.fingerprint
    assert len({one.fingerprint, described.fingerprint, required.fingerprint}) == 3


@pytest.mark.parametrize(
    ("name", "operations", "unmapped"),
    [
        ("petstore.yaml", 19, 0), ("cafe.yaml", 12, 1), ("parameters-style.json", 25, 0),
        ("schema-types.json", 23, 0), ("alertmanager.yaml", 9, 0), ("netlify.yaml", 174, 0),
        ("digitalocean.yaml", 0, 659), ("petstore-separate.json", 0, 4),
        ("webhook-example.json", 0, 1), ("callback-example.json", 1, 1),
    ],
)  # fmt: skip
def test_published_documents_map_or_say_why(name: str, operations: int, unmapped: int) -> None:
    found = mapping.read(documents.parse((FIXTURES / name).read_bytes()))

    assert (len(found.operations), len(found.unmapped)) == (operations, unmapped)
    for one in found.operations:
        assert why_not_portable(one.listed_schema) == []
        validator(one)
