"""The scope algebra, checked against a model: a scope set is the set of things it permits."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from oauth import scopes
from oauth.errors import InvalidScope
from oauth.scopes import ScopeSet

READS = ("docs:read", "setup:read", "data:read")
INTEGRATIONS = ("hubspot", "hubspot_eu", "linear", "mcp.crm")
ACTIONS = ("create_deal", "create_deals", "find")
SINGLE = tuple(f"actions:{i}:{a}" for i in INTEGRATIONS for a in ACTIONS)
EVERY = (*READS, *SINGLE, *(f"actions:{i}:*" for i in INTEGRATIONS), "actions:*")

sets_of_scopes = st.lists(st.sampled_from(EVERY), max_size=8).map(" ".join).map(scopes.parse)
noise = st.text(st.characters(exclude_characters=" "), max_size=20).filter(
    lambda token: not scopes.parse(token)
)
at_any_pace = settings(deadline=None)


def permitted_scopes(held: ScopeSet) -> frozenset[str]:
    """Spell out what a set permits, by rules written without regard to the code under test."""
    texts = str(held).split()
    if "actions:*" in texts:
        return frozenset(EVERY)
    whole = tuple(text[:-1] for text in texts if text.endswith(":*"))
    return frozenset(texts) | {text for text in SINGLE if text.startswith(whole)}


@at_any_pace
@given(sets_of_scopes)
def test_covers_agrees_with_what_is_permitted(held: ScopeSet) -> None:
    assert {text for text in EVERY if held.covers(text)} == permitted_scopes(held)


@at_any_pace
@given(sets_of_scopes, sets_of_scopes)
def test_an_intersection_permits_exactly_what_both_sides_permit(
    one: ScopeSet, other: ScopeSet
) -> None:
    assert permitted_scopes(one.intersect(other)) == permitted_scopes(one) & permitted_scopes(other)
    assert permitted_scopes(other.intersect(one)) == permitted_scopes(one.intersect(other))


@at_any_pace
@given(sets_of_scopes)
def test_a_set_intersected_with_itself_is_itself(held: ScopeSet) -> None:
    assert held.intersect(held) == held


@at_any_pace
@given(sets_of_scopes, sets_of_scopes, sets_of_scopes)
def test_the_grouping_of_intersections_does_not_matter(
    first: ScopeSet, second: ScopeSet, third: ScopeSet
) -> None:
    left = first.intersect(second).intersect(third)
    right = first.intersect(second.intersect(third))
    assert permitted_scopes(left) == permitted_scopes(right)


@at_any_pace
@given(sets_of_scopes, sets_of_scopes)
def test_more_scopes_never_cover_less(held: ScopeSet, more: ScopeSet) -> None:
    joined = scopes.parse(f"{held} {more}")
    assert permitted_scopes(joined) >= permitted_scopes(held)
    assert all(joined.covers(scope) for scope in held)


@at_any_pace
@given(sets_of_scopes, sets_of_scopes)
def test_narrowing_never_widens_and_refuses_only_what_goes_beyond(
    held: ScopeSet, elicitation_client: ScopeSet
) -> None:
    within = bool(elicitation_client) and permitted_scopes(elicitation_client) <= permitted_scopes(
        held
    )
    try:
        narrowed = held.narrow(elicitation_client)
    except InvalidScope:
        assert not within
    else:
        assert within
        assert narrowed == elicitation_client


@at_any_pace
@given(sets_of_scopes)
def test_canonical_text_reads_back_as_the_same_set(held: ScopeSet) -> None:
    assert scopes.parse(str(held)) == held


@at_any_pace
@given(st.text(max_size=200))
def test_whatever_is_read_can_be_written_and_read_again(text: str) -> None:
    read = scopes.parse(text)
    assert scopes.parse(str(read)) == read


@at_any_pace
@given(sets_of_scopes, st.lists(noise, max_size=5), st.randoms())
def test_unknown_words_never_matter(held: ScopeSet, words: list[str], order: Random) -> None:
    known = str(held).split()
    mixed = known + words
    order.shuffle(mixed)
    assert permitted_scopes(scopes.parse(" ".join(mixed))) == permitted_scopes(held)


@at_any_pace
@given(sets_of_scopes)
def test_no_set_of_scopes_allows_a_destructive_action(held: ScopeSet) -> None:
    assert scopes.scope_allows_destructive(held) is False
