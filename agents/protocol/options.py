"""The options of an agent: what a client may set, and how it is shown. Values are texts.

The value of a secret is never shown: it comes back as `***`, and `***` sent leaves it unchanged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from agents.protocol.requests import InvalidAgentRequest

OptionType: TypeAlias = Literal["text", "select", "secret"]
MASK: Final = "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredOption:
    """What a client may set. `is_for_model` says that the model reads its value."""

    name: str
    title: str
    description: str
    type: OptionType = "text"
    options: Sequence[str] = ()
    default: str = ""
    is_for_model: bool = True

    @property
    def meta_entry(self) -> dict[str, Any]:
        listed = {"options": list(self.options)} if self.type == "select" else {}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "type": self.type,
            **listed,
            "default": self.default,
        }


@dataclass(frozen=True, slots=True)
class ChosenOptions:
    """What a client has set: values as they are shown, and those of secrets, to be sealed."""

    shown: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)


def defaults(declared: Sequence[DeclaredOption]) -> dict[str, str]:
    return {option.name: option.default for option in declared}


def parse_values(declared: Sequence[DeclaredOption], given: Mapping[str, str]) -> ChosenOptions:
    """Returns the options that a client sets.

    Raises InvalidAgentRequest, without a secret's value.
    """
    by_name = {option.name: option for option in declared}
    shown, secrets = dict[str, str](), dict[str, str]()
    for name, value in given.items():
        option = by_name.get(name)
        if option is None:
            raise InvalidAgentRequest(f"The agent has no option {name!r}.")
        if option.type == "select" and value not in option.options:
            known = ", ".join(option.options)
            raise InvalidAgentRequest(f"agent.options.{name} must be one of: {known}.")
        if option.type != "secret":
            shown[name] = value
        elif value != MASK:
            shown[name], secrets[name] = MASK if value else "", value
    return ChosenOptions(shown, secrets)


def mask_secrets(declared: Sequence[DeclaredOption], stored: Mapping[str, str]) -> dict[str, str]:
    """Returns stored options with secrets masked: an admin may have made one of what was a text."""
    secret = {option.name for option in declared if option.type == "secret"}
    return {name: MASK if value and name in secret else value for name, value in stored.items()}
