"""No two arguments of a call write the same name of its request, and none changes its method."""

import json
from typing import Any

import pytest

from gateway import credentials, projects
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.gateway import shop

FORM = "application/x-www-form-urlencoded"
ANY = {"type": "object", "additionalProperties": True}


def query(name: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, **more}


def body(media_type: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": True, **more}
    return {"required": True, "content": {media_type: {"schema": schema}}}


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
FREE = query("where", ANY, style="form", explode=True)
OPERATIONS: dict[str, dict[str, Any]] = {
    "transfer": {"requestBody": body("application/json", {"sum (CHF)": NUMBER, "note": TEXT})},
    "postForm": {"requestBody": body(FORM, {"price[eur]": NUMBER, "user": ANY, "card_no": TEXT})},
    "find": {"parameters": [FREE, query("tenant", TEXT), query("page[size]", NUMBER)]},
    "findInCookies": {
        "parameters": [
            {**FREE, "in": "cookie"},
            {"name": "zone", "in": "cookie", "schema": TEXT},
        ]
    },
    "place": {
        "parameters": [query("coupon[code]", TEXT)],
        "requestBody": body(FORM, {"id": NUMBER}),
    },
    "nested": {
        "requestBody": body(
            "application/json",
            {
                "owner": {
                    "type": "object",
                    "properties": {"role": TEXT},
                    "additionalProperties": True,
                }
            },
        )
    },
    "union": {
        "parameters": [query("kind", TEXT)],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "anyOf": [
                            {"type": "object", "properties": {"kind": TEXT, "sum": NUMBER}},
                            {"type": "object", "properties": {"name": TEXT}},
                        ]
                    }
                }
            },
        },
    },
    "upload": {"requestBody": body("multipart/form-data", {"title": TEXT})},
}


def make_document() -> dict[str, Any]:
    """One operation on a path of its own for each way to write a name."""
    found = {"200": {"description": "Found."}}
    paths: dict[str, Any] = {
        f"/{name}": {
            "post" if "requestBody" in facts else "get": {
                "operationId": name,
                "responses": found,
                **facts,
            }
        }
        for name, facts in OPERATIONS.items()
    }
    paths["/report?scope=own"] = {
        "get": {"operationId": "report", "parameters": [FREE], "responses": found}
    }
    return shop.secured_document(
        {"type": "apiKey", "in": "query", "name": "api_token"}, paths=paths
    )


def client(grant: Grant, project: Any) -> McpClient:
    """A client at the address of a project, with an MCP token of the person."""
    path = f"/{project.pk}"
    token = mcp_tokens.issue(
        grant.user, grant.organization, path, name="Laptop", days=0, address=""
    ).secret
    return project_rows.client(path, token)


@pytest.fixture
def mcp(grant: Grant, site: Site) -> McpClient:
    project = shop.create_project(grant, site, make_document())
    projects.change(project, by=None, authentication="none")
    return client(grant, project)


@pytest.mark.parametrize(
    ("tool", "arguments", "names"),
    [
        ("transfer", {"sum (CHF)": 900}, ("sum (CHF)", "sum_CHF")),
        ("transfer", {"sum_CHF": 1, "sum (CHF)": 900}, ("sum (CHF)", "sum_CHF")),
        ("transfer", {"NOTE": "x"}, ("NOTE", "note")),
        ("postForm", {"price[eur]": "900"}, ("price[eur]", "price_eur")),
        ("postForm", {"price[EUR]": "900"}, ("price[EUR]", "price_eur")),
        ("postForm", {"price": {"eur": 900}}, ("price", "price_eur")),
        ("postForm", {"price.eur": 900}, ("price.eur", "price_eur")),
        ("postForm", {"user[admin]": "1"}, ("user[admin]", "user")),
        ("postForm", {"card.no": "4"}, ("card.no", "card_no")),
        ("postForm", {" card no": "4"}, (" card no", "card_no")),
        ("upload", {"Title": "x"}, ("Title", "title")),
        ("find", {"tenant": "a", "where": {"tenant": "b"}}, ("where", "tenant")),
        ("find", {"where": {"Tenant": "b"}}, ("where", "tenant")),
        ("find", {"where": {"page[size]": 1_000}}, ("where", "page_size")),
        ("find", {"where": {"page[s\u0131ze]": 1_000}}, ("where", "page_size")),
        ("find", {"where": {"tenant\ufeff": "b"}}, ("tenant", "tenant")),
        ("nested", {"owner": {"rol\u200be": "admin"}}, ("rol", "role")),
        ("find", {"where": {"a": 1, "A": 2}}, ("'A'", "'a'")),
        ("find", {"where": {"api_token": "x"}}, ("api_token", "the credential")),
        ("findInCookies", {"where": {"zone": "b"}}, ("where", "zone")),
        ("report", {"where": {"scope": "all"}}, ("scope", "always has the same value")),
        ("place", {"id": 1, "coupon[code]": "x"}, ("coupon[code]", "coupon_code")),
        ("nested", {"owner": {"Role": "admin"}}, ("Role", "role")),
        ("union", {"body": {"KIND": "x"}}, ("KIND", "kind")),
        ("transfer", {"api_token": "x"}, ("api_token", "the credential")),
    ],
)
def test_j21_a_name_that_belongs_to_another_argument_is_refused_with_both(
    mcp: McpClient, site: Site, tool: str, arguments: dict[str, Any], names: tuple[str, str]
) -> None:
    refused = mcp.call(tool, arguments)
    assert refused.code == -32602, refused.body
    assert all(name in refused.error["data"]["reason"] + refused.error["data"]["field"]
               for name in names), refused.error  # fmt: skip
    assert site.seen == []


@pytest.mark.parametrize(
    ("tool", "arguments", "sent"),
    [
        ("transfer", {"sum_CHF": 5, "to": "x"}, {"sum (CHF)": 5, "to": "x"}),
        ("transfer", {"labels": {"a": 1, "A": 2}}, {"labels": {"a": 1, "A": 2}}),
        ("nested", {"owner": {"role": "a", "team": "b"}}, {"owner": {"role": "a", "team": "b"}}),
        ("union", {"kind": "q", "body": {"kind": "x"}}, {"kind": "x"}),
    ],
)
def test_names_of_their_own_are_sent(
    mcp: McpClient, site: Site, tool: str, arguments: dict[str, Any], sent: Any
) -> None:
    assert mcp.call(tool, arguments).result["isError"] is False
    assert site.seen[0].json == sent


def test_free_names_of_forms_and_queries_are_sent(mcp: McpClient, site: Site) -> None:
    mcp.call("postForm", {"price_eur": 5, "price[usd]": "6", "more": "7"})
    mcp.call("find", {"tenant": "a", "where": {"page[number]": 2, "name": "b"}})
    assert site.seen[0].body == b"price%5Beur%5D=5&price%5Busd%5D=6&more=7"
    assert site.seen[1].query == {"tenant": ["a"], "page[number]": ["2"], "name": ["b"]}


def test_j21_a_parameter_that_the_path_has_a_value_for_is_no_argument(
    grant: Grant, site: Site
) -> None:
    declared = shop.document()
    declared["paths"]["/items?q=own"] = declared["paths"].pop("/items")
    mcp = client(grant, shop.create_project(grant, site, declared))
    refused = mcp.call("listItems", {"q": "all"})
    assert (refused.code, "Unknown argument" in refused.error["data"]["reason"]) == (-32602, True)
    mcp.call("listItems", {})
    assert [seen.query for seen in site.seen] == [{"q": ["own"]}]


def test_null_for_an_optional_parameter_or_member_is_not_sent(mcp: McpClient, site: Site) -> None:
    mcp.call("find", {"tenant": "b", "where": None})
    mcp.call("postForm", {"price_eur": 5, "price[usd]": None})
    assert site.seen[0].query == {"tenant": ["b"]}
    assert site.seen[1].body == b"price%5Beur%5D=5"


def test_j21_a_key_of_one_path_parameter_is_not_another(grant: Grant, site: Site) -> None:
    declared = shop.document()
    matrix = {"in": "path", "required": True, "style": "matrix", "explode": True}
    declared["paths"]["/items{role}{more}"] = {
        "get": {
            "operationId": "itemsOf",
            "parameters": [
                {"name": "role", "schema": TEXT, **matrix},
                {"name": "more", "schema": ANY, **matrix},
            ],
            "responses": {"200": {"description": "Found."}},
        }
    }
    mcp = client(grant, shop.create_project(grant, site, declared))
    refused = mcp.call("itemsOf", {"role": "guest", "more": {"ROLE": "admin"}})
    assert (refused.code, site.seen) == (-32602, [])
    assert "the argument role" in refused.error["data"]["reason"]
    mcp.call("itemsOf", {"role": "guest", "more": {"size": 1}})
    assert site.seen[0].path == "/v1/items;role=guest;size=1"


def test_j21_what_was_imported_before_is_refused_at_the_call(grant: Grant, site: Site) -> None:
    project = shop.create_project(grant, site)
    tool = project.tools.get(name="listItems")
    (one,) = tool.operation["parameters"]
    tool.operation["fixed_query"] = [["q", "own"]]
    override = {**one, "name": "X-HTTP-Method-Override", "place": "header", "style": "simple"}
    tool.operation["parameters"].append(override | {"argument": "how"})
    tool.operation["full_schema"]["properties"]["how"] = TEXT
    tool.save()
    projects.touch(project.pk)
    mcp = client(grant, project)
    assert "always has the same value" in json.dumps(mcp.call("listItems", {"q": "all"}).error)
    assert "changes how the request is read" in json.dumps(
        mcp.call("listItems", {"how": "DELETE"}).error
    )
    assert site.seen == []


@pytest.mark.parametrize("place", ["query", "cookie"])
def test_j21_no_argument_writes_the_credential(grant: Grant, site: Site, place: str) -> None:
    declared = shop.secured_document({"type": "apiKey", "in": place, "name": "Api_Token"})
    declared["paths"]["/items"]["get"]["parameters"] = [{**FREE, "in": place}]
    project = shop.create_project(grant, site, declared)
    scheme = credentials.schemes_of(project)[0]
    credentials.store(project, grant.user, scheme, "s3cret-of-the-person")
    mcp = client(grant, project)
    refused = mcp.call("listItems", {"where": {"API_TOKEN": "mine"}})
    mcp.call("listItems", {"where": {"size": "1"}})
    assert (refused.code, len(site.seen)) == (-32602, 1)
    assert "the credential" in refused.error["data"]["reason"]
    assert "s3cret-of-the-person" in str([site.seen[0].query, dict(site.seen[0].headers)])


OVERRIDES = [
    ("header", "X-HTTP-Method-Override"),
    ("header", "x_http_method"),
    ("header", "X-Rewrite-URL"),
    ("query", "_method"),
    ("query", "_HttpMethod"),
    ("query", "X-Method-Override"),
]


@pytest.mark.parametrize(("place", "name"), OVERRIDES)
def test_j22_a_parameter_that_changes_the_method_is_no_argument(
    grant: Grant, site: Site, place: str, name: str
) -> None:
    declared = shop.document()
    one = {"name": name, "in": place, "required": True, "schema": TEXT}
    declared["paths"]["/items"]["get"]["parameters"].append(one)
    mcp = client(grant, shop.create_project(grant, site, declared))
    assert mcp.call("listItems", {"q": "a"}).result["isError"] is False
    assert mcp.call("listItems", {name: "DELETE"}).code == -32602
    assert [seen.query for seen in site.seen] == [{"q": ["a"]}]
    assert name.lower() not in site.seen[0].headers


def test_j22_a_path_that_changes_the_method_has_no_tool(grant: Grant, site: Site) -> None:
    declared = shop.document()
    declared["paths"]["/items?_method=delete"] = declared["paths"].pop("/items")
    project = shop.create_project(grant, site, declared)
    assert [tool.name for tool in project.tools.all()] == ["getItem"]


@pytest.mark.parametrize("media_type", ["application/json", FORM, "multipart/form-data"])
def test_j22_a_member_that_changes_the_method_is_no_argument(
    grant: Grant, site: Site, media_type: str
) -> None:
    declared = shop.document()
    declared["paths"]["/items"]["post"]["requestBody"] = body(
        media_type, {"title": TEXT, "_method": TEXT}, required=["_method"]
    )
    mcp = client(grant, shop.create_project(grant, site, declared))
    assert mcp.call("createItem", {"title": "a"}).result["isError"] is False
    for name in ("_method", "_Method", "X-HTTP-Method-Override", "_charset_"):
        assert "changes how the request is read" in json.dumps(
            mcp.call("createItem", {name: "PUT"}).error
        )
    assert len(site.seen) == 1


def test_an_encoded_value_reaches_the_api_as_the_text_that_a_rule_compares(
    grant: Grant, site: Site
) -> None:
    declared = shop.document()
    declared["paths"]["/items"]["get"]["parameters"][0]["allowReserved"] = True
    mcp = client(grant, shop.create_project(grant, site, declared))
    for text in ("%75s", "a;q=b", "a&q=b"):
        mcp.call("listItems", {"q": text})
        assert site.seen[-1].query == {"q": [text]}
