"""Small windows and long project instructions through the real command (docs/requirements.md 7.4, 8.4)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fakes.project import CHECK, FIX_ADD, FIX_MEAN, changed_files, read
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say
from fakes.wire import Recorded
from sampling import sampled

from rundry.agent.models.counting import Counter
from rundry.agent.protocol import Message, ToolCall, ToolSpec

WINDOWS = (1_024, 1_536, 2_048, 4_096)
LINES = "\n".join(
    f"{i}. Keep rule {i}: name things plainly, write a test first, ask before a big change." for i in range(240)
)


@pytest.fixture
def instructed(project: Path) -> Path:
    """The red project with instructions of 240 lines."""
    (project / "AGENTS.md").write_text(f"# How to work here\n{LINES}\n")
    return project


def edit(find: str, replace: str) -> Turn:
    return say(json.dumps({"cause": "wrong", "old_text": find, "new_text": replace}))


BY_TOOLS = [read("calc/core.py"), read("tests/test_core.py"), FIX_ADD, read("calc/core.py"), FIX_MEAN]
BY_JSON = [edit("return a - b", "return a + b"), edit("(len(values) + 1)", "len(values)")]


def run(home: Home, project: Path, server: ScriptedServer, window: int, *more: str) -> Ran:
    return home.run(
        "run", "fix the failing suite", "--headless", "--until", CHECK, "--gate", "edits", "--model", "fake",
        "--api-base", server.base_url, "--context", str(window), *more, cwd=project,
    )  # fmt: skip


def counted(request: Recorded) -> int:
    """Tokens of what the server got."""
    messages: list[Message] = []
    for m in request.messages:
        calls = [
            ToolCall(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in m.get("tool_calls") or []
        ]
        messages.append(
            Message(role=m["role"], text=m.get("content") or "", calls=calls, call_id=m.get("tool_call_id"))
        )
    tools = [ToolSpec(**tool["function"]) for tool in request.body.get("tools") or []]
    return Counter("fake").prompt(messages, tools)


def assert_fits(requests: list[Recorded], window: int) -> None:
    for request in requests:
        answer = request.body.get("max_tokens") or request.body["max_completion_tokens"]
        assert counted(request) + answer <= window, (counted(request), answer)
        asked = [c["id"] for m in request.messages for c in m.get("tool_calls") or []]
        assert asked == [m["tool_call_id"] for m in request.messages if m["role"] == "tool"]
        assert "fix the failing suite" in request.text


@pytest.mark.parametrize("window", sampled(WINDOWS, 2))
def test_a_suite_is_fixed_with_tools_in_a_small_window(home: Home, instructed: Path, window: int):
    with ScriptedServer(BY_TOOLS) as server:
        ran = run(home, instructed, server, window)
    assert ran.exit_code == 0 and changed_files(instructed) == ["AGENTS.md", "calc/core.py"], ran
    assert len(server.requests) == 5
    assert_fits(server.requests, window)
    assert re.search(r"^AGENTS.md is (shortened: [\d,]+ of [\d,]+ characters are sent|not sent: )", ran.stderr, re.M), (
        ran
    )
    assert all({"read_file", "edit_file", "write_file", "finish"} <= set(r.tools) for r in server.requests)
    assert "def mean" in server.requests[4].text, "the newest round is there"


@pytest.mark.parametrize("window", sampled(WINDOWS, 2))
def test_a_suite_is_fixed_by_constrained_edits_in_a_small_window(home: Home, instructed: Path, window: int):
    with ScriptedServer(BY_JSON) as server:
        ran = run(home, instructed, server, window, "--edit-format", "constrained")
    assert ran.exit_code == 0 and changed_files(instructed) == ["AGENTS.md", "calc/core.py"], ran
    assert len(server.requests) == 2
    assert_fits(server.requests, window)
    for request in server.requests:
        assert "The file `calc/core.py`:" in request.text
        assert "return sum(values)" in request.text and "return 2 * a" in request.text, "the file is whole"
        assert "test_mean" in request.text
    assert "AGENTS.md is shortened: " in ran.stderr or "AGENTS.md is not sent: " in ran.stderr, ran


@pytest.mark.parametrize("more", [(), ("--edit-format", "constrained")], ids=["tools", "constrained"])
def test_a_window_that_is_too_small_is_refused_and_the_smallest_that_works_is_named(
    home: Home, instructed: Path, more: tuple[str, ...]
):
    with ScriptedServer(BY_JSON if more else BY_TOOLS) as server:
        refused = run(home, instructed, server, 300, *more)
        assert refused.exit_code == 2 and home.journals() == [], refused
        (smallest,) = re.findall(r"--context 300: .*use one of at least (\d+) tokens", refused.stderr)
        one_less = run(home, instructed, server, int(smallest) - 1, *more)
        assert one_less.exit_code == 2 and f"at least {smallest} tokens" in one_less.stderr, one_less
        assert home.journals() == [] and server.requests == []
        works = run(home, instructed, server, int(smallest), *more)
    assert works.exit_code == 0 and "-> done" in works.stderr, works
    assert_fits(server.requests, int(smallest))


def _events(ran: Ran, kind: str) -> list[dict[str, Any]]:
    return [event for event in ran.events if event["type"] == kind]


def test_what_is_shortened_is_an_event_once(home: Home, instructed: Path):
    with ScriptedServer(BY_TOOLS) as server:
        ran = run(home, instructed, server, 1_024, "--json")
    (event,) = _events(ran, "prompt_shortened")
    length = len((instructed / "AGENTS.md").read_text())
    assert (event["window"], event["file"], event["length"]) == (1_024, "AGENTS.md", length)
    assert 0 <= event["kept"] < length and event["brief_tools"]
    assert "update_plan" in event["tools_left_out"]
    assert "update_plan" not in server.requests[0].tools


def test_nothing_is_shortened_where_all_of_it_fits(home: Home, project: Path):
    (project / "AGENTS.md").write_text("Write plainly.\n")
    with ScriptedServer(BY_TOOLS) as server:
        ran = run(home, project, server, 32_768, "--json")
    assert _events(ran, "prompt_shortened") == []
    assert "Write plainly." in server.requests[0].text and "update_plan" in server.requests[0].tools


def test_instructions_that_are_longer_than_the_most_that_is_sent_are_shown_as_shortened(home: Home, instructed: Path):
    with ScriptedServer(BY_TOOLS) as server:
        ran = run(home, instructed, server, 131_072)
    length = len((instructed / "AGENTS.md").read_text())
    assert length > 12_000 and re.search(rf"AGENTS.md is shortened: 11,\d\d\d of {length:,} characters", ran.stderr), (
        ran
    )
    assert "more characters are left out" in server.requests[0].text


def test_a_search_with_a_window_that_is_too_small_is_refused_and_the_one_that_is_named_works(
    home: Home, project: Path, tmp_path: Path
):
    spec = tmp_path / "search.toml"
    lens = '[[lens]]\nname = "logic"\nprompt = "look at the logic"\n'
    spec.write_text(f'task = "find bugs"\ncritic = false\n{lens}[budget]\nsteps = 9\n')
    with ScriptedServer([call("report", found_new=False, reason="nothing")]) as server:

        def search(window: int) -> Ran:
            return home.run(
                "find", str(spec), "--headless", "--model", "fake", "--api-base", server.base_url,
                "--context", str(window), cwd=project,
            )  # fmt: skip

        refused = search(300)
        assert refused.exit_code == 2 and home.journals() == [] and server.requests == [], refused
        (smallest,) = re.findall(r"use one of at least (\d+) tokens", refused.stderr)
        assert search(int(smallest) - 1).exit_code == 2
        works = search(int(smallest))
    assert works.exit_code == 0 and server.requests, works
    for request in server.requests:
        assert counted(request) < int(smallest) and "search" in request.tools
