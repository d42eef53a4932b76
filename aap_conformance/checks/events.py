"""The events of streams: their order and their data. Every stream of the examination is read."""

from collections.abc import Iterator
from typing import Final

from aap_conformance.observations import Observations
from aap_conformance.registry import CheckPage
from aap_conformance.shapes import EVENTS, STOP_REASONS
from aap_conformance.turns import ObservedTurn
from aap_conformance.verdicts import NotShown, require

PAGE: Final = CheckPage("Response")


@PAGE.check("11.1", "Each event is a JSON object on the data: field.")
def data_are_objects(observed: Observations) -> None:
    for turn in _streams(observed):
        for event in turn.events:
            is_object = isinstance(event.data, dict)
            require(is_object, f"The data of {event.name} is {event.data!r}.")


@PAGE.check("11.2", "The events are those of the page, with the members that it shows.")
def events_are_known(observed: Observations) -> None:
    for turn in _streams(observed):
        unknown = sorted(set(turn.names) - EVENTS.keys())
        require(not unknown, f"There are other events: {', '.join(unknown)}.")


@PAGE.check(
    "11.3",
    "session_start: The first event in a PUT /session stream, always preceding turn_start. "
    "Contains the sessionId the client must store for subsequent turns.",
)
def put_starts_the_session(observed: Observations) -> None:
    for mode in observed.streaming_modes():
        created, continued = observed.first_turn(mode), observed.second_turn(mode)
        started = created.names.count("session_start")
        is_first = created.names[:1] == ["session_start"] and started == 1
        require(is_first, f"PUT sent {created.names[:3]} and session_start {started} times.")
        again = "session_start" in continued.names
        require(not again, "POST sent session_start.")


@PAGE.check(
    "11.4",
    "turn_start: Marks the beginning of the agent's response. For PUT /session, emitted "
    "immediately after session_start. For POST /session/:id, this is the first event in the "
    "stream.",
)
def turns_start_at_once(observed: Observations) -> None:
    for mode in observed.streaming_modes():
        for turn, place in ((observed.first_turn(mode), 1), (observed.second_turn(mode), 0)):
            sent = turn.names[: place + 1]
            is_there = sent[place:] == ["turn_start"] and turn.names.count("turn_start") == 1
            require(is_there, f"{turn.answer.request} in the mode {mode} sent {turn.names[:3]}.")


@PAGE.check(
    "11.5",
    "text_delta, thinking_delta, text, thinking, tool_call, tool_result: Only emitted between "
    "turn_start and turn_stop.",
)
def everything_is_within_the_turn(observed: Observations) -> None:
    for turn in _streams(observed):
        start, stop = turn.names.index("turn_start"), turn.names.index("turn_stop")
        outside = [*turn.names[:start], *turn.names[stop + 1 :]]
        wrong = [name for name in outside if name != "session_start"]
        require(not wrong, f"Outside of the turn there are: {', '.join(wrong)}.")


@PAGE.check(
    "11.6",
    "turn_stop: Always the final event in the stream. Marks the end of the agent's response.",
)
def turn_stop_is_last_and_once(observed: Observations) -> None:
    for turn in _streams(observed):
        stops = turn.names.count("turn_stop")
        is_last = turn.names[-1] == "turn_stop" and stops == 1
        require(is_last, f"turn_stop came {stops} times, and {turn.names[-1]} was last.")


@PAGE.check(
    "12.1",
    "Stop reasons: end_turn, tool_use, max_tokens, refusal, error.",
)
def stop_reasons_are_known(observed: Observations) -> None:
    for mode in observed.modes():
        reason = observed.first_turn(mode).stop_reason
        require(reason in STOP_REASONS, f"The stop reason is {reason!r}.")


@PAGE.check("12.2", "end_turn: Agent finished normally")
def a_plain_answer_ends_the_turn(observed: Observations) -> None:
    for mode in observed.modes():
        turn = observed.first_turn(mode)
        require(turn.stop_reason == "end_turn", f"A plain question ended with {turn.stop_reason}.")
        require(turn.text.strip(), "A plain question got no text.")


@PAGE.check(
    "12.3",
    "tool_use: Agent emitted one or more tool_call events requiring client action "
    "(application-side tool or untrusted server-side tool)",
)
def tool_use_has_calls_that_wait(observed: Observations) -> None:
    for mode in observed.modes():
        turn = observed.client_tool_flow(mode).first
        is_right = turn.stop_reason == "tool_use" and turn.waiting
        require(is_right, f"Calls wait: {len(turn.waiting)}; stop reason: {turn.stop_reason}.")


PAGE.note(
    "12.4",
    "max_tokens: Hit token limit — agents should implement their own history compaction strategy "
    "to avoid this; if no compaction is in place and the context window overflows, this stop "
    "reason is returned",
)
PAGE.note("12.5", "refusal: LLM refused to respond (e.g. safety policy)")
PAGE.note("12.6", "error: Server encountered an error mid-stream")


def _streams(observed: Observations) -> Iterator[ObservedTurn]:
    """The streams that need no call of a tool, and those with calls that the agent made."""
    for mode in observed.streaming_modes():
        yield observed.first_turn(mode)
        yield observed.second_turn(mode)
        for flow in (
            observed.client_tool_flow,
            observed.trusted_tool_flow,
            observed.permission_flow,
        ):
            try:
                found = flow(mode)
            except NotShown:
                continue
            yield from filter(None, (found.first, found.second))
