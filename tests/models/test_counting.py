"""Counting is offline, and the same text costs the same whatever stands in it."""

from __future__ import annotations

import subprocess
import sys
import time

from rundry.agent.models.counting import Counter
from rundry.agent.protocol import Message, ToolCall, ToolSpec


def test_a_known_text_has_its_known_count():
    assert Counter("gpt-4o").text("hello world") == 2
    assert Counter("qwen3:8b").text("hello world") == 2
    assert Counter("gpt-4o").text("") == 0


def test_special_tokens_in_a_text_are_text():
    assert Counter("gpt-4o").text("<|endoftext|>") > 3


def test_claude_is_counted_dearer_than_its_text():
    text = "def add(a, b):\n    return a + b\n" * 50
    assert Counter("claude-sonnet-4-5").text(text) > 1.2 * Counter("qwen3").text(text)


def test_each_message_call_and_tool_adds_to_a_prompt():
    counter = Counter("qwen3")
    call = ToolCall("call_1", "read_file", '{"path": "a.py"}')
    tool = ToolSpec("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
    user = [Message(role="user", text="go")]
    called = [*user, Message(role="assistant", calls=[call])]
    answered = [*called, Message(role="tool", call_id="call_1", text="text")]
    counts = [counter.prompt(m, t) for m, t in ((user, ()), (called, ()), (answered, ()), (answered, [tool]))]
    assert counts == sorted(set(counts))


def test_a_history_that_was_counted_before_costs_almost_nothing():
    counter = Counter("qwen3")
    history = [Message(role="user", text=f"{i} " + "some words and more " * 2000) for i in range(30)]
    counter.prompt(history, ())
    began = time.perf_counter()
    counter.prompt([*history, Message(role="user", text="new")], ())
    assert time.perf_counter() - began < 0.02


def test_a_lone_surrogate_is_counted():
    assert Counter("qwen3").text("a \udcff b") > 0


def test_counting_needs_neither_network_nor_litellm():
    program = (
        "import socket, sys\n"
        "def deny(*a, **k): raise OSError('network')\n"
        "socket.socket.connect = socket.getaddrinfo = deny\n"
        "from rundry.agent.models.counting import Counter\n"
        "print(Counter('gpt-4o').text('hello world'), Counter('x').text('hello world'), 'litellm' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["2", "2", "False"]
    assert ran.stderr == ""
