"""A session under requests in any order: each is refused as documented, or moves it on."""

from itertools import count
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from agents.protocol.resolution import pending
from tests.agents import application, scripted
from tests.agents.application import AgentAnswer, Application, permission, result, says, tool_rows
from tests.agents.scripted import Script
from tests.agents.test_turns import MIXED

pytestmark = [pytest.mark.django_db]

TOOLS = (
    ("search_docs", {"query": "scopes"}),
    ("setup_get_jwt_sample", {"language": "python"}),
    ("get_weather", {"place": "Tokyo"}),
    ("get_weather", {"place": 7}),
    ("no_such_tool", {}),
)
OF_CLIENT = "get_weather"
JUNK: tuple[Any, ...] = (
    {"role": "robot", "content": "Hi"},
    {"role": "user"},
    {"role": "user", "content": [{"type": "spoon"}]},
    {"role": "tool", "content": "no id"},
    {"role": "tool_permission", "toolCallId": "c1", "granted": "yes"},
    {"role": "assistant", "content": "I am you"},
    {"role": "system", "content": "Obey"},
    7,
    None,
)
# The index of the waiting call that a message resolves. An index without a call: an unknown id.
PLACES = st.integers(min_value=0, max_value=4)


class SessionMachine(RuleBasedStateMachine):
    app: ClassVar[Application]
    script: ClassVar[Script]
    numbers: ClassVar[Any] = count(1)

    @initialize()
    def begin(self) -> None:
        type(self).app = application.with_key(self.app.organization)
        self.script.responses = [scripted.text("Hello.")]
        self.session_id = self.app.create("Hello", agent="scripted", **MIXED).session_id

    def history(self) -> list[Any]:
        found: list[Any] = self.app.history(self.session_id)
        return found

    @rule(made=st.lists(st.sampled_from(TOOLS), max_size=4), fails=st.booleans())
    def the_model_will_answer(self, made: list[Any], *, fails: bool) -> None:
        last = scripted.FAILED if fails else scripted.text("Done.")
        called = [(f"c{next(self.numbers)}", name, given) for name, given in made]
        self.script.responses = [*([scripted.calls(*called)] if called else []), last]

    @rule(
        texts=st.integers(min_value=0, max_value=2),
        resolved=st.lists(st.tuples(PLACES, st.booleans(), st.booleans()), max_size=5),
        junk=st.one_of(st.none(), st.none(), st.none(), st.sampled_from(JUNK)),
        stream=st.sampled_from(["delta", "message", "none"]),
    )
    def post(self, texts: int, resolved: list[Any], junk: Any, stream: str) -> None:
        waiting = pending(self.history())
        sent: list[Any] = [says("And now?") for _number in range(texts)]
        for place, right, granted in resolved:
            call = waiting[place] if place < len(waiting) else None
            sent.append(self.answer_to(call, right=right, granted=granted))
        if junk is not None:
            sent.append(junk)
        self.send(sent, stream)

    @rule(granted=st.booleans(), stream=st.sampled_from(["delta", "none"]))
    def resolve_everything(self, *, granted: bool, stream: str) -> None:
        waiting = pending(self.history())
        right = [self.answer_to(call, right=True, granted=granted) for call in waiting]
        self.send(right or [says("Go on")], stream)

    def answer_to(self, call: Any, *, right: bool, granted: bool) -> Any:
        if call is None:
            return result("no-such-call")
        is_result = (call.name == OF_CLIENT) == right
        return result(call.id) if is_result else permission(call.id, granted=granted)

    def send(self, sent: list[Any], stream: str) -> None:
        before = self.history()
        allowed = self.is_allowed(sent, pending(before))
        answer = self.app.turn(self.session_id, *sent, stream=stream)
        assert answer.status == (200 if allowed else 400), (sent, answer.text)
        if allowed:
            self.check_progress(answer, before)
        else:
            assert answer.error
            assert self.history() == before

    def is_allowed(self, sent: list[Any], waiting: list[Any]) -> bool:
        if not sent or any(one in JUNK for one in sent):
            return False
        if not waiting:
            return all(one["role"] == "user" for one in sent)
        roles = {
            call.id: "tool" if call.name == OF_CLIENT else "tool_permission" for call in waiting
        }
        given = [(one.get("toolCallId"), one["role"]) for one in sent]
        return sorted(map(str, given)) == sorted(map(str, roles.items()))

    def check_progress(self, answer: AgentAnswer, before: list[Any]) -> None:
        after = self.history()
        assert after[: len(before)] == before
        waits = bool(pending(after))
        assert (answer.stop_reason == "tool_use") == waits
        if stream := answer.headers["content-type"] == "text/event-stream":
            assert answer.names.count("turn_stop") == 1, stream

    @rule()
    def another_key_sees_nothing(self) -> None:
        other = application.with_key(self.app.organization)
        assert other.turn(self.session_id, says("Hi")).status == 404

    @invariant()
    def every_call_has_one_result_at_most(self) -> None:
        if not hasattr(self, "session_id"):
            return
        ids = [one["toolCallId"] for one in self.history() if one["role"] == "tool"]
        assert len(set(ids)) == len(ids)
        assert all(one["role"] != "tool_permission" for one in self.history())


def test_any_order_of_requests_is_refused_or_moves_the_session_on(
    app: Application, script: Script, settings: Any
) -> None:
    settings.HALO_RATE_AGENTS = settings.HALO_RATE_IP = scripted.UNLIMITED

    class Machine(SessionMachine):
        pass

    Machine.app, Machine.script = app, script
    run_state_machine_as_test(Machine, settings=MACHINE)
    assert tool_rows().exclude(actor_kind="agent").count() == 0


MACHINE = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
