"""URI templates as this server uses them: literals with `{name}` between (RFC 6570, level 1).

A variable stands for what expansion can write: unreserved characters and percent-encoded ones, up
to the literal that follows. So matching is linear in the URI, and what matches is a URI.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote

VARIABLE: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")
# RFC 3986, sections 2.1 and 2.3.
UNIT: Final = r"(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})"


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A compiled template and the names of its variables in order."""

    pattern: re.Pattern[str]
    variables: tuple[str, ...]

    def match(self, uri: str) -> Mapping[str, str] | None:
        """The variables' values, percent-decoded, or None for a URI of another form."""
        found = self.pattern.fullmatch(uri)
        if found is None:
            return None
        try:
            values = (unquote(value, errors="strict") for value in found.groups())
            return dict(zip(self.variables, values, strict=True))
        except UnicodeDecodeError:
            return None


@lru_cache(maxsize=4096)
def compile_template(template: str) -> UriTemplate:
    """Compile a template. Raises ValueError for one that this server cannot match."""
    variables = tuple(VARIABLE.findall(template))
    if not variables or len(set(variables)) != len(variables):
        raise ValueError("a template needs variables, each of them once")
    literals = VARIABLE.sub("", template)
    if "{" in literals or "}" in literals or "}{" in template:
        raise ValueError("only {name} with text between is understood")
    return UriTemplate(re.compile("".join(_pieces(template))), variables)


def expand_template(template: str, values: Mapping[str, str]) -> str:
    """The URI that a template gives for these values."""
    return VARIABLE.sub(lambda found: quote(values[found[1]], safe=""), template)


def _pieces(template: str) -> Iterator[str]:
    at = 0
    for found in VARIABLE.finditer(template):
        yield re.escape(template[at : found.start()])
        at = found.end()
        following = template[at : at + 1]
        yield f"((?:{f'(?!{re.escape(following)})' if following else ''}{UNIT})+)"
    yield re.escape(template[at:])
