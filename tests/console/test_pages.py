"""The start page and the documentation pages over HTTP."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from pytest_django.fixtures import Settings

from documentation import index
from tests.console import markup
from tests.console.markup import Element
from workspace import organizations
from workspace.models import Organization, Role, User

FORBIDDEN_SLUGS = ["../secret", "..", ".hidden", "_draft", "Scopes", "scopes.md", "a/b", "missing"]
PUBLIC = ["/", "/docs/", "/docs/scopes", "/docs/?q=star", "/signin", "/nowhere"]
PERSONAL = ["/", "/signout", "/admin/", "/admin/audit/actionexecution/", "/admin/workspace/user/"]


@pytest.fixture
def docs(settings: Settings, tmp_path: Path, db: None) -> Path:  # noqa: ARG001  opens the database
    """A documentation of two pages, published."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "scopes.md").write_text("# Scopes\n\nA star.\n\n## Stars\n\nThe <star> & all.\n")
    (folder / "tokens.md").write_text("# Tokens\n\nThey expire.\n")
    settings.HALO_DOCS_SOURCE = folder.resolve()
    index.refresh(folder)
    return folder


@pytest.fixture
def staff(client: Client, ada: User) -> Client:
    ada.is_staff = ada.is_superuser = True
    ada.save()
    client.force_login(ada)
    return client


def page(client: Client, path: str) -> Element:
    return markup.read(client.get(path).content)


def links(element: Element) -> dict[str, str]:
    return {link.text: link.attributes["href"] for link in element.all("a")}


@pytest.mark.usefixtures("db")
def test_a_stranger_reads_the_address_and_is_invited_to_sign_in(client: Client) -> None:
    home = page(client, "/")
    assert home.one("code", class_="address-value").text == "http://127.0.0.1:8000/api/mcp"
    assert links(home.one("main"))["Sign in"] == "/signin"
    assert "Your organizations" not in home.text
    assert "Sign out" not in home.text


@pytest.mark.usefixtures("acme")
def test_a_person_sees_each_organization_with_their_role(browser: Client, ada: User) -> None:
    other = Organization.objects.create(name="Globex", slug="globex", widget_key="ab_live_2")
    organizations.join(other, ada, role=Role.MEMBER)
    home = page(browser, "/")
    rows = home.one("section", aria_labelledby="organizations").all("li")
    assert [row.text for row in rows] == ["Acme Rockets Super admin", "Globex Member"]
    assert "Sign in" not in links(home)
    assert "ada@acme.example" in home.one("header").text


def test_somebody_in_no_organization_learns_what_to_do(browser: Client) -> None:
    assert "You are not a member of an organization" in page(browser, "/").text


def test_only_staff_are_shown_the_way_to_the_admin_and_the_audit_log(
    client: Client, ada: User
) -> None:
    client.force_login(ada)
    assert "Administration" not in page(client, "/").text
    ada.is_staff = True
    ada.save()
    assert "Audit log" not in links(page(client, "/"))
    ada.user_permissions.add(Permission.objects.get(codename="view_actionexecution"))
    shown = links(page(client, "/"))
    assert shown["Audit log"] == "/admin/audit/actionexecution/"
    assert shown["Open the admin"] == shown["Admin"] == "/admin/"


@pytest.mark.usefixtures("docs")
@pytest.mark.parametrize(
    "path",
    ["/", "/docs/", "/docs/scopes", "/docs/?q=scopes", "/signout", "/signin/inactive", "/no"],
)
def test_a_page_made_for_one_person_is_kept_by_no_shared_cache(
    path: str, client: Client, ada: User
) -> None:
    client.force_login(ada)
    said = client.get(path)["Cache-Control"]
    assert "private" in said
    assert "no-cache" in said


def test_the_page_that_asks_for_the_password_again_is_kept_nowhere(
    client: Client, ada: User
) -> None:
    ada.set_password("correct horse battery staple")
    ada.save()
    client.force_login(ada)
    page = client.get("/signin/confirm")
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]


@pytest.mark.usefixtures("db")
def test_what_says_itself_who_may_keep_it_is_left_alone(client: Client) -> None:
    assert client.get("/.well-known/oauth-authorization-server")["Cache-Control"] == (
        "public, max-age=300"
    )


@pytest.mark.usefixtures("docs")
def test_the_documentation_lists_its_pages(client: Client) -> None:
    shown = links(page(client, "/docs/").one("main"))
    assert shown == {"Scopes": "/docs/scopes", "Tokens": "/docs/tokens"}


@pytest.mark.usefixtures("docs")
def test_a_page_is_rendered_and_marked_in_the_navigation(client: Client) -> None:
    shown = page(client, "/docs/scopes")
    assert shown.one("h1").text == "Scopes"
    assert "Scopes · Halo MCP" in shown.one("title").text
    assert shown.one("nav", aria_label="Documentation").one("a", aria_current="page").text == (
        "Scopes"
    )
    assert "The <star> & all." in shown.one("article").text


@pytest.mark.parametrize("slug", FORBIDDEN_SLUGS)
def test_a_slug_that_names_no_page_is_not_found(client: Client, docs: Path, slug: str) -> None:
    for name in ("secret.md", "docs/.hidden.md", "docs/_draft.md", "docs/Scopes.md"):
        (docs.parent / name).write_text("not for readers")
    response = client.get(f"/docs/{slug}")
    assert response.status_code == 404
    assert b"not for readers" not in response.content


def test_a_link_that_leads_out_of_the_folder_is_no_page(client: Client, docs: Path) -> None:
    (docs.parent / "secret.md").write_text("not for readers")
    (docs / "link.md").symlink_to(docs.parent / "secret.md")
    assert client.get("/docs/link").status_code == 404


def test_an_image_of_a_page_is_sent_from_the_folder_of_images_only(
    client: Client, docs: Path
) -> None:
    images = docs / "images"
    images.mkdir()
    (docs.parent / "secret.png").write_bytes(b"secret")
    (docs / "near.png").write_bytes(b"secret")
    (images / "link.png").symlink_to(docs.parent / "secret.png")
    (images / "request.png").write_bytes(b"\x89PNG")
    (docs / "scopes.md").write_text("# Scopes\n\n![How it looks](images/request.png)\n")

    shown = page(client, "/docs/scopes").one("article").one("img")
    assert (shown.attributes["src"], shown.attributes["alt"]) == (
        "images/request.png",
        "How it looks",
    )
    sent = client.get("/docs/images/request.png")  # where a browser looks for it
    assert (sent["Content-Type"], sent.content) == ("image/png", b"\x89PNG")
    for name in ("link", "near", "missing", "Request", "..%2fnear", "request.png"):
        answer = client.get(f"/docs/images/{name}.png")
        assert answer.status_code == 404
        assert b"secret" not in answer.content


CONTENTS = """# Documentation

## Start

- [Tokens](tokens.md): How long they live.
- [Gone](gone.md): Not there.

## Operate

- [Deployment](operate/deployment.md): Behind a proxy.
"""


@pytest.fixture
def contents(docs: Path) -> None:
    """The same pages, grouped and described, with one for operators."""
    (docs / "README.md").write_text(CONTENTS)
    (docs / "operate").mkdir()
    (docs / "operate" / "deployment.md").write_text("# Deployment\n")


@pytest.mark.usefixtures("contents")
def test_ux15_the_documentation_is_grouped_and_described(client: Client) -> None:
    main = page(client, "/docs/").one("main")
    assert [heading.text for heading in main.all("h2")] == ["Start", "More pages"]
    assert links(main) == {
        "Tokens How long they live.": "/docs/tokens",
        "Scopes": "/docs/scopes",
    }


@pytest.mark.usefixtures("contents")
def test_ux15_staff_see_the_pages_for_operators_in_the_list_as_well(staff: Client) -> None:
    main = page(staff, "/docs/").one("main")
    assert [heading.text for heading in main.all("h2")] == ["Start", "Operate", "More pages"]
    assert links(main)["Deployment Behind a proxy."] == "/docs/operate/deployment"
    nav = page(staff, "/docs/operate/deployment").one("nav", aria_label="Documentation")
    assert nav.one("a", aria_current="page").text == "Deployment"


@pytest.mark.usefixtures("docs")
def test_ux15_a_long_page_has_a_table_of_contents_above_its_text(
    client: Client, docs: Path
) -> None:
    parts = "".join(f"\n## Part {number}\n\nText.\n" for number in range(1, 5))
    (docs / "long.md").write_text(f"# Long\n{parts}")
    shown = page(client, "/docs/long")
    expected = {f"Part {number}": f"#part-{number}" for number in range(1, 5)}
    assert links(shown.one("nav", aria_label="On this page")) == expected
    order = [one.tag for one in shown.one("main") if one.tag in {"nav", "article"}]
    assert order == ["nav", "nav", "nav", "article"]
    assert page(client, "/docs/scopes").all("nav", aria_label="On this page") == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/docs", "/docs/"),
        ("/docs?q=scopes", "/docs/?q=scopes"),
        ("/admin", "/admin/"),
        ("/connections/", "/connections"),
    ],
)
def test_ux15_an_address_with_or_without_its_slash_leads_to_the_page(
    client: Client, typed: str, meant: str
) -> None:
    answer = client.get(typed)
    assert (answer.status_code, answer["Location"]) == (302, meant)


@pytest.mark.parametrize("folder", ["operate", "develop"])
def test_staff_read_pages_that_others_cannot_tell_from_missing_ones(
    client: Client, staff: Client, docs: Path, folder: str
) -> None:
    (docs / folder).mkdir()
    (docs / folder / "deployment.md").write_text("# Deployment\n\nSee [this](other.md).\n")
    shown = page(staff, f"/docs/{folder}/deployment")
    assert links(shown.one("article")) == {"this": f"/docs/{folder}/other"}
    assert staff.get(f"/docs/{folder}/missing").status_code == 404
    assert staff.get("/docs/nowhere/deployment").status_code == 404

    client.logout()
    hidden, missing = (client.get(f"/docs/{folder}/{name}") for name in ("deployment", "missing"))
    assert hidden.status_code == missing.status_code == 404
    assert client.get("/docs/?q=deployment").content.count(b"Deployment") == 0


@pytest.mark.usefixtures("docs")
def test_a_question_finds_the_passage_and_marks_the_words(client: Client) -> None:
    shown = page(client, "/docs/?q=stars")
    assert links(shown.one("ol"))["Stars"] == "/docs/scopes#stars"
    assert {mark.text.lower() for mark in shown.all("mark")} == {"star"}
    assert "<star>" in shown.one("ol").text.replace("< ", "<").replace(" >", ">")


@pytest.mark.usefixtures("docs")
def test_a_question_of_markup_is_shown_as_text(client: Client) -> None:
    shown = page(client, "/docs/?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert [one for one in shown.all("script") if "src" not in one.attributes] == []
    assert "“<script>alert(1)</script>”" in shown.one("h1").text


@pytest.mark.usefixtures("docs")
@pytest.mark.parametrize("query", ["%00", "zebra", "%00zebra%1f", "%22%27(*", "z" * 5000])
def test_a_question_without_an_answer_is_answered_all_the_same(client: Client, query: str) -> None:
    assert client.get(f"/docs/?q={query}").status_code == 200


@pytest.mark.usefixtures("docs")
@pytest.mark.parametrize("path", PUBLIC)
def test_public_pages_stand_under_the_strict_policy(client: Client, path: str) -> None:
    assert_obeys_the_policy(page(client, path))


@pytest.mark.parametrize("path", PERSONAL)
def test_personal_pages_and_the_admin_stand_under_the_strict_policy(
    staff: Client, path: str
) -> None:
    assert_obeys_the_policy(page(staff, path))


def test_the_admin_wears_the_products_look_after_every_other_style(staff: Client) -> None:
    head = page(staff, "/admin/audit/actionexecution/").one("head")
    styles = [one.attributes["href"] for one in head.all("link", rel="stylesheet")]
    assert "/static/admin/css/changelists.css" in styles
    assert styles[-1] == "/static/halo/admin.css"


def assert_obeys_the_policy(shown: Element) -> None:
    """No inline script or style, nothing from another host."""
    assert shown.all("style") == []
    assert all(script.attributes["src"].startswith("/") for script in shown.all("script"))
    for element in shown:
        assert "style" not in element.attributes
        assert not any(name.startswith("on") for name in element.attributes)
    loaded = [one.attributes["href"] for one in shown.all("link")]
    loaded += [one.attributes["src"] for one in shown.all("img")]
    assert all(address.startswith("/") and not address.startswith("//") for address in loaded)
