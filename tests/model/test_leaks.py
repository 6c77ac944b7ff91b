"""What a small model leaks as text is read where the user asked for it, and only where it is meant."""

from __future__ import annotations

import pytest
from fakes.server import ScriptedServer
from fakes.turns import say

from rundry.agent.model.leaks import LeakReader
from rundry.agent.protocol import CallPart, EndPart, ReasoningPart, TextPart

CALL = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'


def read(text: str, size: int) -> tuple[str, str, list[str]]:
    """Text, reasoning and the arguments of calls, fed in pieces of this size."""
    reader = LeakReader(["read_file"])
    parts = [p for i in range(0, len(text), size) for p in reader.feed(text[i : i + size])]
    rest, calls = reader.flush()
    parts += rest
    said = "".join(p.text for p in parts if isinstance(p, TextPart))
    thought = "".join(p.text for p in parts if isinstance(p, ReasoningPart))
    return said, thought, [c.arguments for c in calls]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("text", "said", "thought", "calls"),
    [
        ("plain", "plain", "", []),
        ("<think>hm\nso</think>\n\nYes.", "Yes.", "hm\nso", []),
        ("  \n<think>a < b</think>Yes <b>", "Yes <b>", "a < b", []),
        ("Yes <think>no</think>", "Yes <think>no</think>", "", []),
        ("<think>never closed", "", "never closed", []),
        (f"I read.\n{CALL}\nDone.", "I read.\nDone.", "", ['{"path":"a.py"}']),
        (f"<think>x</think>{CALL}", "", "x", ['{"path":"a.py"}']),
        (f"{CALL}\n{CALL}", "", "", ['{"path":"a.py"}'] * 2),
        (f"```xml\n{CALL}\n```\nso", f"```xml\n{CALL}\n```\nso", "", []),
        (f"  ~~~\n{CALL}\n  ~~~\n{CALL}", f"  ~~~\n{CALL}\n  ~~~\n", "", ['{"path":"a.py"}']),
        (f"as in {CALL}", f"as in {CALL}", "", []),
        ("<tool_call>not json</tool_call>!", "<tool_call>not json</tool_call>!", "", []),
        ('<tool_call>{"name": "rm"}</tool_call>', '<tool_call>{"name": "rm"}</tool_call>', "", []),
        (CALL[:-4], CALL[:-4], "", []),
        ("<table>\n``quoted``\n<", "<table>\n``quoted``\n<", "", []),
    ],
)
def test_a_leak_is_read_only_where_it_is_meant(text, said, thought, calls, size):
    assert read(text, size) == (said, thought, calls)


def test_text_is_not_held_back_while_a_line_goes_on():
    reader = LeakReader(["read_file"])
    assert reader.feed("Hello") == [TextPart("Hello")]
    assert reader.feed(" wor<") == [TextPart(" wor<")]
    assert reader.feed("\n<tool") == [TextPart("\n")]
    assert reader.feed("box>") == [TextPart("<toolbox>")]


async def test_leaks_are_read_for_a_local_model_when_the_user_opted_in(opened):
    turn = say(f"<think>let me see</think>\n{CALL}")
    with ScriptedServer([turn]) as server:
        on = await opened(server.base_url, env={"RUNDRY_READ_LEAKS": "1"})
        parts = await on.ask()
        assert on.reasoning == "let me see"
        assert [p.call.tool for p in on.of(CallPart)] == ["read_file"]
        assert parts[-1] == EndPart("tool_calls")
        off = await opened(server.base_url)
        await off.ask()
        assert off.text == turn.text
        assert off.of(CallPart) == []
