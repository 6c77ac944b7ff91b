"""Where the calls that a model writes into its text are read, and what becomes of them in the answer."""

from __future__ import annotations

import pytest
from fakes.server import ScriptedServer
from fakes.turns import Call, calls, say

from rundry.agent.models.answer import MOST_CALLS
from rundry.agent.models.open_model import reads_written_calls
from rundry.agent.protocol import CallPart, EndPart

CALL = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'


async def test_written_calls_are_read_for_a_local_server_unless_the_user_says_no(opened):
    turn = say(f"<think>let me see</think>\n{CALL}")
    with ScriptedServer([turn]) as server:
        for env in ({}, {"RUNDRY_READ_LEAKS": "1"}, {"RUNDRY_READ_LEAKS": ""}):
            on = await opened(server.base_url, env=env)
            parts = await on.ask()
            assert (on.reasoning, on.text) == ("let me see", "")
            assert [p.call.arguments for p in on.of(CallPart)] == ['{"path":"a.py"}']
            assert parts[-1] == EndPart("tool_calls")
        off = await opened(server.base_url, env={"RUNDRY_READ_LEAKS": "0"})
        await off.ask()
        assert (off.text, off.of(CallPart)) == (turn.text, [])


@pytest.mark.parametrize(("env", "local", "remote"), [({}, True, False), ("1", True, True), ("0", False, False)])
def test_written_calls_of_a_remote_server_are_read_only_where_the_user_says_so(env, local, remote):
    env = {"RUNDRY_READ_LEAKS": env} if env else {}
    assert (reads_written_calls(env, local=True), reads_written_calls(env, local=False)) == (local, remote)


async def test_a_text_with_too_many_calls_gives_as_many_as_a_native_answer_may_have(opened):
    with ScriptedServer([say(f"{CALL}\n" * (MOST_CALLS + 1))]) as server:
        model = await opened(server.base_url)
        await model.ask(max_tokens=100_000)
        assert len(model.of(CallPart)) == MOST_CALLS


async def test_a_native_call_wins_over_one_in_the_text(opened):
    native = Call("read_file", {"path": "native.py"})
    with ScriptedServer([calls(native, text=CALL)]) as server:
        model = await opened(server.base_url)
        await model.ask()
        assert [p.call.arguments for p in model.of(CallPart)] == [native.json]
