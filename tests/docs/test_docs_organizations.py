"""Organizations in the commands of the pages exist after the first start, or are placeholders."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from halo_mcp import bootstrap
from tests.docs.doc_pages import DECISIONS, EVERY_PAGE, tokens
from workspace.models import Organization

PAGES: Final = [file for file in EVERY_PAGE if file not in DECISIONS]
OPTIONS: Final = ("--organization", "--workspace", "--org")
# What a reader replaces: a word in capital letters, a variable, or a word in angle brackets.
PLACEHOLDER: Final = re.compile(r"[A-Z][A-Z_]+|\$[A-Z_]+|<[^>]+>")


def commands(file: Path) -> Iterator[str]:
    """The lines of fenced blocks, and the code within texts."""
    for token in tokens(file):
        if token.type == "fence":
            yield from token.content.replace("\\\n", " ").splitlines()
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content


def organizations_in(command: str) -> Iterator[str]:
    """The values of the options of a management command that name an organization."""
    if "manage" not in command or not any(option in command for option in OPTIONS):
        return
    parts = shlex.split(command, comments=True)
    for place, part in enumerate(parts):
        option, is_joined, value = part.partition("=")
        if option in OPTIONS:
            yield value if is_joined else " ".join(parts[place + 1 : place + 2])


@pytest.mark.usefixtures("db")
def test_organizations_in_commands_of_the_pages_exist_after_the_first_start(settings: Any) -> None:
    settings.HALO_DEMO_DATA = "off"
    bootstrap.found_demo()
    existing = {*Organization.objects.values_list("slug", flat=True)}
    named = [
        (file.name, name)
        for file in PAGES
        for command in commands(file)
        for name in organizations_in(command)
        if not PLACEHOLDER.fullmatch(name)
    ]
    assert [one for one in named if one[1] not in existing] == []
    # Of pages for users, for operators, and of the README.
    assert {"README.md", "gateway.md", "imports.md"} <= {page for page, _name in named}
