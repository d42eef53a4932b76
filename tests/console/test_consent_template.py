"""What the consent page shows and what its form can send."""

from types import SimpleNamespace

from tests.console.consent_context import choice, group, organization, remember, render_consent
from tests.console.markup import Element


def decisions(page: Element) -> list[str]:
    return [button.attributes["value"] for button in page.all("button", name="decision")]


def test_the_form_sends_the_request_the_organization_and_what_was_left_ticked() -> None:
    form = render_consent().one("form", action="/api/mcp/oauth/consent")
    sent = {
        (field.attributes["name"], field.attributes["value"])
        for field in form.all("input")
        if field.attributes.get("type") == "hidden" or "checked" in field.attributes
    }
    assert sent == {
        ("request", "018f-request"),
        ("organization", "id-of-Acme Rockets"),
        ("shown", "id-of-Acme Rockets"),
        ("offered", ""),
        ("held", ""),
        ("scope", "docs:read"),
    }


def test_several_organizations_are_a_choice_of_one_with_the_first_proposed() -> None:
    page = render_consent(
        organizations=[organization("Acme", selected=True), organization("Globex")]
    )
    offered = page.all("input", type="radio", name="organization")
    assert [one.attributes["value"] for one in offered] == ["id-of-Acme", "id-of-Globex"]
    assert ["checked" in one.attributes for one in offered] == [True, False]
    assert "those of Acme." in page.text
    assert page.all("input", type="hidden", name="organization") == []


def test_cancel_comes_before_approve_so_that_the_enter_key_gives_nothing_away() -> None:
    assert decisions(render_consent()) == ["cancel", "approve"]


def test_with_several_organizations_the_enter_key_only_shows_what_is_unlocked_there() -> None:
    several = render_consent(
        organizations=[organization("Acme", selected=True), organization("Globex")]
    )
    assert decisions(several) == ["switch", "cancel", "approve"]
    assert "formnovalidate" in several.all("button", value="switch")[0].attributes


def test_the_box_that_remembers_is_there_when_offered_and_as_it_was_left() -> None:
    assert render_consent().all("input", name="remember") == []
    unticked = render_consent(remember=remember()).one("input", name="remember")
    ticked = render_consent(remember=remember(checked=True)).one("input", name="remember")
    assert ["checked" in box.attributes for box in (unticked, ticked)] == [False, True]


def test_what_is_new_on_the_page_is_announced() -> None:
    notice = "The tools shown are now those of Globex."
    assert render_consent(notice=notice).one("p", role="status").text == notice
    assert render_consent().all("p", role="status") == []


def test_ux_13_cancel_is_outlined_and_both_buttons_are_in_the_bar_that_stays_in_view() -> None:
    bar = render_consent().one("div", class_="decision-bar")
    cancel, approve = bar.all("button", name="decision")
    assert "button-line" in cancel.attributes["class"].split()
    assert "button-line" not in approve.attributes["class"].split()


def test_ux_13_what_has_to_be_read_is_in_the_bar_before_its_buttons_and_has_the_focus() -> None:
    for words in ({"notice": "Approve again to confirm."}, {"problem": "Select one."}):
        bar = render_consent(**words).one("div", class_="decision-bar")
        (text,) = words.values()
        said = bar.one("p", class_="alert" if "notice" in words else "alert alert-error")
        assert said.text == text
        assert {"autofocus", "tabindex"} <= said.attributes.keys()


def test_a_name_that_anyone_can_choose_is_marked_as_such() -> None:
    warning = "Unverified: anyone can choose this name"
    assert warning in render_consent().text
    assert warning not in render_consent(client_is_verified=True).text


def test_only_a_name_that_is_verified_for_stands_without_quotes_and_in_our_colour() -> None:
    stranger, known = render_consent(), render_consent(client_is_verified=True)
    assert stranger.one("h1").text == "“ Claude ” wants to connect to your organization"
    assert stranger.all("bdi", class_="verified") == []
    assert known.one("h1").text == "Claude wants to connect to your organization"
    assert known.one("bdi", class_="verified").text == "Claude"


def test_a_name_of_markup_and_turned_writing_stays_inside_its_own_element() -> None:
    name = "<b>Claude</b>\N{RIGHT-TO-LEFT OVERRIDE}ved"
    page = render_consent(client_name=name)
    assert page.one("bdi").text == name
    assert page.all("b") == []


def test_each_scope_opens_to_exactly_the_tools_it_unlocks() -> None:
    page = render_consent(
        scope_groups=[group("Read", choice("docs:read", "search_docs", "read_doc"))]
    )
    details = page.one("details")
    assert details.one("summary").text == "Show all 2 tools"
    assert [code.text for code in details.all("code")] == ["search_docs", "read_doc"]


def test_a_scope_that_unlocks_nothing_says_so_instead_of_opening() -> None:
    page = render_consent(scope_groups=[group("Act", choice("actions:hubspot:*"))])
    assert "No tools available yet." in page.text
    assert page.all("details") == []


def test_every_box_has_its_own_label_and_sentence() -> None:
    page = render_consent()
    labels = {label.attributes["for"] for label in page.all("label")}
    ids = [element.attributes["id"] for element in page if "id" in element.attributes]
    boxes = page.all("input", type="checkbox")
    assert len(boxes) == 2
    assert {box.attributes["id"] for box in boxes} <= labels
    assert {box.attributes["aria-describedby"] for box in boxes} <= {*ids}
    assert len(ids) == len({*ids})


def test_destructive_actions_are_ruled_out_in_words() -> None:
    assert "Never allowed at this address: destructive actions" in render_consent().text


def test_where_the_person_goes_afterwards_is_named() -> None:
    assert "Redirects to claude.ai" in render_consent().text


def test_an_answer_that_goes_to_this_computer_comes_with_a_warning() -> None:
    local = SimpleNamespace(kind="loopback", display_host="a program on this computer")
    warning = "Approve only if you just started this yourself"
    assert warning in render_consent(redirect=local).text
    assert warning not in render_consent().text


def test_a_request_for_nothing_can_only_be_cancelled() -> None:
    page = render_consent(scope_groups=[])
    assert decisions(page) == ["cancel"]
    assert page.one("button", name="decision").text == "Cancel"
    assert "no permissions that exist here" in page.text


def test_somebody_without_an_organization_can_only_cancel() -> None:
    page = render_consent(organizations=[])
    assert decisions(page) == ["cancel"]
    assert "You have no active membership of an organization" in page.text


def test_what_was_wrong_with_the_last_answer_is_announced() -> None:
    page = render_consent(problem="Select at least one permission.")
    assert page.one("p", role="alert").text == "Select at least one permission."
    assert render_consent().all("p", role="alert") == []
