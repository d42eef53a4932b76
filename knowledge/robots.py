"""Which addresses of a site its robots.txt permits to Halo (RFC 9309).

`urllib.robotparser` of the standard library is not used: it knows no wildcards (section 2.2.3) and
takes the first rule that matches instead of the longest (section 2.2.2).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from retrieval.documents.web_page import ROBOT

# Section 2.5: at least 500 KiB are read.
MAX_BYTES: Final = 512 * 1_024
MAX_RULES: Final = 5_000
MAX_PATH: Final = 2_047


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a group: what is between the wildcards of its path.

    `length` is that of the path as written: the longest one counts. `is_whole`: the address ends
    where the path does.
    """

    permits: bool
    length: int
    parts: tuple[str, ...]
    is_whole: bool

    def matches(self, path: str) -> bool:
        """Returns whether the rule is about a path, in a time that grows with its length only."""
        first, *others = self.parts
        if not path.startswith(first):
            return False
        place = len(first)
        for part in others:
            found = path.find(part, place)
            if found < 0:
                return False
            place = found + len(part)
        if not self.is_whole:
            return True
        # The last part may be found earlier too; the ends may not overlap.
        last = self.parts[-1]
        start = place - len(last)
        return (
            path == first if not others else path.endswith(last) and start <= len(path) - len(last)
        )


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of a site that are meant for Halo; without any, every address is permitted."""

    rules: tuple[Rule, ...] = ()

    def permits(self, url: str) -> bool:
        """Returns whether an address of the site may be fetched."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        path = _normalize((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        found = [rule for rule in self.rules if rule.matches(path)]
        # Section 2.2.2: of two equivalent rules, the one that permits counts.
        return max(found, key=lambda rule: (rule.length, rule.permits)).permits if found else True


def parse(content: bytes) -> RobotsRules:
    """Returns the rules for Halo by name, or those for all robots if none are."""
    named: list[Rule] = []
    others: list[Rule] = []
    is_named = False
    agents: set[str] = set()
    ends_group = False
    for key, value in _read_lines(content):
        if key == "user-agent":
            if ends_group:
                agents, ends_group = set(), False
            # A version may follow the name, as in the header.
            agents.add(value.lower().partition("/")[0].strip())
            is_named = is_named or ROBOT in agents
            continue
        ends_group = True
        rule = _read_rule(key, value)
        if rule is not None:
            named += [rule] if ROBOT in agents else []
            others += [rule] if "*" in agents else []
    return RobotsRules(tuple((named if is_named else others)[:MAX_RULES]))


def _read_lines(content: bytes) -> Iterator[tuple[str, str]]:
    for line in content[:MAX_BYTES].decode("utf-8-sig", errors="replace").splitlines():
        key, found, value = line.partition("#")[0].partition(":")
        if found and key.strip().lower() in {"user-agent", "allow", "disallow"}:
            yield key.strip().lower(), value.strip()


def _read_rule(key: str, value: str) -> Rule | None:
    # An empty path matches nothing: "Disallow:" permits everything.
    if not value or len(value) > MAX_PATH:
        return None
    path, is_whole = (value[:-1], True) if value.endswith("$") else (value, False)
    if not path.startswith(("/", "*")):
        path = f"/{path}"
    parts = tuple(_normalize(part) for part in path.split("*"))
    return Rule(key == "allow", len(value), parts, is_whole)


def _normalize(path: str) -> str:
    """Returns a path in which the same characters are written with the same escapes."""
    return quote(unquote(path), safe="/?&=;:@!$'()+,~%")
