"""What ends or pauses with a membership, in sentences, for those who decide about it."""

from collections.abc import Callable, Iterator

from django.utils.translation import ngettext

from approvals import requests
from gateway import policies
from oauth import mcp_tokens
from oauth.grants import connections
from workspace.models import Membership

Sentence = Callable[[int], str]


def list_effects(row: Membership) -> list[str]:
    """Returns what a member has in the organization, as sentences; empty if there is nothing."""
    return [sentence(count) % {"n": count} for count, sentence in _count_each(row) if count]


def _count_each(row: Membership) -> Iterator[tuple[int, Sentence]]:
    yield (
        connections.count_of_member(row),
        lambda n: ngettext("%(n)d connection of a client", "%(n)d connections of clients", n),
    )
    yield (
        mcp_tokens.count_of_member(row),
        lambda n: ngettext(
            "%(n)d personal or project token", "%(n)d personal or project tokens", n
        ),
    )
    yield (
        policies.count_owned(row),
        lambda n: ngettext(
            "%(n)d project whose requests this person, as its owner, may approve",
            "%(n)d projects whose requests this person, as their owner, may approve",
            n,
        ),
    )
    yield (
        policies.count_rules_of_approver(row),
        lambda n: ngettext(
            "%(n)d rule of a policy that names this person as an approver",
            "%(n)d rules of policies that name this person as an approver",
            n,
        ),
    )
    yield (
        requests.count_waiting(row),
        lambda n: ngettext(
            "%(n)d request of this person that waits for an approval",
            "%(n)d requests of this person that wait for an approval",
            n,
        ),
    )
