"""The history as the model reads it: the whole, or so much of it as fits into a budget of tokens.

The oldest goes first. Results of tools in earlier turns become a notice; then whole turns
are left out, from a question up to the next. The turn that is under way stays as it is, and so do
instructions of the application at the beginning.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.protocol.requests import Message

# About so many characters are a token of English text or of JSON.
CHARACTERS_PER_TOKEN: Final = 4
# Providers count an image by its size on their side, not by its bytes: at most about so many.
IMAGE_TOKENS: Final = 1_600
RESULT_LEFT_OUT: Final = "[This result was left out, because the session is long.]"
TURNS_LEFT_OUT: Final = "[Earlier parts of this session were left out, because it is long.]"


def compact_history(history: Sequence[Message], budget: int) -> list[Message]:
    """Returns the messages that fit into so many tokens; the last turn is always whole."""
    return [message for message, _place in compacted_places(history, budget)]


def compacted_places(history: Sequence[Message], budget: int) -> list[tuple[Message, int | None]]:
    """Returns the same with the place of each message in the history; None if it was changed."""
    found: list[tuple[Message, int | None]] = [(one, place) for place, one in enumerate(history)]
    left = budget - sum(tokens(one) for one in history)
    if left >= 0:
        return found
    last = _last_question(history)
    for place, message in enumerate(history[:last]):
        if left >= 0:
            return found
        if message["role"] == "tool":
            notice = {**message, "content": RESULT_LEFT_OUT}
            saved = tokens(message) - tokens(notice)
            if saved > 0:
                found[place], left = (notice, None), left + saved
    return _drop_oldest_turns(found, left, last)


def tokens(message: Message) -> int:
    """Returns about how many tokens a message has."""
    content = message["content"]
    if isinstance(content, str):
        return count_tokens(content)
    blocks = [block for block in content if block["type"] != "image"]
    images = len(content) - len(blocks)
    return count_tokens(json.dumps(blocks, ensure_ascii=False)) + images * IMAGE_TOKENS


def count_tokens(text: str) -> int:
    return len(text) // CHARACTERS_PER_TOKEN + 1


def _drop_oldest_turns(
    found: list[tuple[Message, int | None]], left: int, last: int
) -> list[tuple[Message, int | None]]:
    """Leaves out the oldest turns; the first question that stays says that something is missing."""
    first = next((place for place, (one, _) in enumerate(found) if one["role"] != "system"), 0)
    end = first
    while left < 0 and end < last:
        left += tokens(found[end][0])
        end += 1
        while end < last and found[end][0]["role"] != "user":
            left += tokens(found[end][0])
            end += 1
    if end == first:
        return found
    notice: Mapping[str, Any] = {"role": "user", "content": TURNS_LEFT_OUT}
    return [*found[:first], (notice, None), *found[end:]]


def _last_question(history: Sequence[Message]) -> int:
    """The place of the question that the last turn answers."""
    for place in range(len(history) - 1, -1, -1):
        if history[place]["role"] == "user":
            return place
    return 0
