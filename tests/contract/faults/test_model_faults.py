"""What a model's server does wrong is retried, shown or survived, never a traceback (docs/requirements.md 8.3, 8.4)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from fakes.in_process.headless_run import play
from fakes.project import CHECK, FIX_BOTH, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, HttpError, Turn, call, calls, finish, say
from fakes.wire import text_of

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, Fault, Stamped, Steer, StepFinished

SLOW = Turn(error=HttpError(429, "slow down", headers={"Retry-After": "1"}))
BROKEN = Turn(error=HttpError(500, "oops"))
CUT = Turn(text="half an answer and", drop_after=2)
TOO_LONG = Turn(
    error=HttpError(
        400,
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens.",
        "invalid_request_error",
        "context_length_exceeded",
    )
)
END = [read("calc/core.py"), finish("seen", "calc/core.py")]


async def test_a_rate_limit_a_server_error_and_a_cut_stream_are_retried_in_the_same_step(runs: Path, project: Path):
    with ScriptedServer([SLOW, BROKEN, FIX_BOTH, CUT]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 1), ran.story()
    assert len(server.requests) == 3
    first, second = ran.of("fault")
    assert (first["kind"], second["kind"]) == ("rate-limit", "server")
    assert first["retry_in"] >= 1
    assert second["retry_in"] > 0
    waited = server.requests[1].arrived - server.requests[0].arrived
    assert 1 <= waited < 30


async def test_a_cut_stream_keeps_its_text_drops_its_calls_and_is_asked_again(runs: Path, project: Path):
    half = (
        b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":null}]}\n\n'
    )
    text = half % json.dumps({"role": "assistant", "content": "I rewrite the core"}).encode()
    tool = {
        "index": 0,
        "id": "x",
        "type": "function",
        "function": {"name": "write_file", "arguments": '{"path": "calc'},
    }
    cut = Turn(raw=text + half % json.dumps({"tool_calls": [tool]}).encode())
    with ScriptedServer([cut, FIX_BOTH]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 1), ran.story()
    assert "I rewrite the core" in "".join(e["text"] for e in ran.of("text_arrived"))
    assert [e["tool"] for e in ran.of("tool_called")] == ["edit_file", "edit_file"]
    assert ran.of("fault")


async def test_a_server_that_stays_down_ends_the_run_after_a_quarter_of_its_time(runs: Path, project: Path):
    with ScriptedServer([read("NOTES.md")], then=BROKEN) as server:
        ran = await play(runs, server, project, until=[CHECK], budget=Budget(seconds=12))
    assert (ran.outcome["reason"], ran.exit_code, ran.outcome["retryable"]) == ("error", 75, True), ran.story()
    assert "oops" in ran.outcome["detail"] or "500" in ran.outcome["detail"]
    assert 0.5 < sum(fault["retry_in"] or 0 for fault in ran.of("fault")) <= 3


@pytest.mark.long
async def test_a_server_that_is_away_for_seconds_is_waited_for(runs: Path, project: Path):
    first, later = ScriptedServer([read("NOTES.md")]), list[ScriptedServer]()
    port = 0

    def come_and_go(_: Journal, stamped: Stamped) -> None:
        nonlocal port
        match stamped.event:
            case StepFinished(number=1):
                port = int(first.base_url.rpartition(":")[2].partition("/")[0])
                first.stop()
            case Fault() if stamped.event.retry_in is not None and len(faults) < 4:
                faults.append(stamped.event.text)
                if len(faults) == 4:
                    later.append(ScriptedServer([FIX_BOTH], port=port).start())
            case _:
                pass

    faults: list[str] = []
    try:
        ran = await play(runs, first.start(), project, on_event=come_and_go, until=[CHECK])
    finally:
        for server in later:
            server.stop()
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran.story()
    assert len(ran.of("fault")) == 4 and "cannot connect" in faults[0]


async def test_an_unknown_model_is_not_a_traceback_and_not_retryable(runs: Path, project: Path):
    unknown = Turn(error=HttpError(404, "The model `fake` does not exist", "invalid_request_error", "model_not_found"))
    with ScriptedServer([unknown]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert ran.outcome["reason"] in ("error", "refused"), ran.story()
    assert ran.exit_code in (1, 2)
    assert "fake" in ran.outcome["detail"]
    assert len(server.requests) == 1


async def test_a_web_page_instead_of_an_answer_is_reported_as_not_a_model_server(runs: Path, project: Path):
    page = Turn(raw=b"<html><body>Welcome to nginx</body></html>", raw_type="text/html")
    with ScriptedServer([page]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert ran.outcome["reason"] == "error", ran.story()
    assert "server" in ran.outcome["detail"]
    assert "\n" not in ran.outcome["detail"]


async def test_a_context_overflow_trims_and_tries_again(runs: Path, project: Path):
    turns = [read("calc/core.py"), read("tests/test_core.py"), TOO_LONG, FIX_BOTH]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 3), ran.story()
    assert ran.of("prompt_shortened") or ran.of("context_trimmed"), ran.story()
    assert len(server.requests[3].text) < len(server.requests[2].text)
    assert "fix the failing suite" in server.requests[3].text


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (calls(Call("read_file", "{'path': 'NOTES.md',}")), None),
        (calls(Call("read_file", '{"path": "NOTES.md"')), "cut off"),
        (calls(Call("read_file", "not json at all")), "path"),
        (calls(Call("read_file", {"nonsense": "NOTES.md"})), "path"),
        (calls(Call("read_file", {"path": 7})), "path"),
        (calls(Call("delete_everything", {})), "delete_everything"),
        (
            calls(Call("edit_file", {"path": "calc/core.py", "old_text": "no such text", "new_text": "x"})),
            "not in the file",
        ),
        (calls(Call("run_command", {"command": "true", "cwd": "/"})), "cwd"),
    ],
)
async def test_a_wrong_call_gets_an_error_that_says_what_is_wrong_and_the_run_continues(
    runs: Path, project: Path, bad: Turn, said: str | None
):
    with ScriptedServer([bad, *END]) as server:
        ran = await play(runs, server, project)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("answered", 3), ran.story()
    answered = text_of(server.requests[1].messages[-1])
    if said is None:
        assert "The suite is red" in answered, "quotes and a comma are mended"
        assert ran.of("tool_called")[0]["repaired"] is True
    else:
        assert ran.of("tool_finished")[0]["ok"] is False
        assert said in answered


async def test_duplicate_and_missing_ids_get_ids_of_their_own_and_one_answer_each(runs: Path, project: Path):
    same = calls(*(Call("read_file", {"path": p}, call_id="same") for p in ("NOTES.md", "calc/core.py", "nowhere.py")))
    with ScriptedServer([same, *END]) as server:
        ran = await play(runs, server, project)
    assert ran.outcome["reason"] == "answered", ran.story()
    asked = [c["id"] for m in server.requests[1].messages for c in m.get("tool_calls") or []]
    answers = [m["tool_call_id"] for m in server.requests[1].messages if m["role"] == "tool"]
    assert asked == answers
    assert len(set(asked)) == 3
    assert "The suite is red" in text_of(server.requests[1].messages[-3])


async def test_an_answer_without_usage_is_estimated_and_marked(runs: Path, project: Path):
    with ScriptedServer([Turn(calls=read("NOTES.md").calls, no_usage=True), *END]) as server:
        ran = await play(runs, server, project)
    charged = ran.of("charged")
    assert [c["estimated"] for c in charged] == [True, False, False], ran.story()
    assert charged[0]["tokens_in"] > 50
    assert charged[0]["tokens_out"] > 0


async def test_a_call_cut_by_its_token_limit_never_runs(runs: Path, project: Path):
    half = Turn(calls=(Call("write_file", '{"path": "half.txt", "content": "only a be'),), finish="length")
    with ScriptedServer([half, *END]) as server:
        ran = await play(runs, server, project)
    assert ran.outcome["reason"] == "answered", ran.story()
    assert not (project / "half.txt").exists()
    assert len(server.requests) == 3


async def test_empty_answers_end_as_stagnation_and_not_as_success(runs: Path, project: Path):
    with ScriptedServer(then=say("")) as server:
        ran = await play(runs, server, project, until=["false"], on_stall="stop")
    assert (ran.outcome["reason"], ran.exit_code) == ("stagnation", 4), ran.story()
    assert {s["kind"] for s in ran.of("stall_detected")} == {"empty"}


async def test_errors_of_every_kind_in_a_row_are_the_stop_tool_errors(runs: Path, project: Path):
    wrong = [
        calls(Call("read_file", {"path": f"gone{i}.py"}), Call("list_files", {"path": f"no{i}"}))
        if i % 2
        else calls(Call(f"tool_{i}", {}), Call("edit_file", {"path": "NOTES.md", "old_text": f"zz{i}", "new_text": ""}))
        for i in range(12)
    ]
    with ScriptedServer(wrong) as server:
        ran = await play(runs, server, project, until=["false"], on_stall="stop")
    assert ran.exit_code == 4, ran.story()
    assert ran.outcome["reason"] in ("tool-errors", "stagnation")
    assert ran.of("stall_detected")[0]["response"] == "hint"


async def test_the_files_going_back_and_forth_is_oscillation(runs: Path, project: Path):
    def swap(old: str, new: str) -> Turn:
        return call("edit_file", path="calc/core.py", edits=[{"old_text": old, "new_text": new}])

    there, back = swap("return a - b", "return b - a"), swap("return b - a", "return a - b")
    with ScriptedServer([there, back] * 12) as server:
        ran = await play(runs, server, project, until=[CHECK], on_stall="stop")
    assert (ran.outcome["reason"], ran.exit_code) == ("oscillation", 4), ran.story()
    assert ran.outcome["steps"] < 24


async def test_a_4096_token_window_keeps_the_task_and_the_newest_round_and_no_orphan(runs: Path, project: Path):
    for i in range(6):
        (project / f"big{i}.txt").write_text(f"file {i}\n" + "word after word after word\n" * 120)
    turns = [*(read(f"big{i}.txt") for i in range(6)), FIX_BOTH]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK], context=4096)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 7), ran.story()
    assert ran.of("context_trimmed")[0]["dropped_messages"] > 0
    for request in server.requests:
        assert "fix the failing suite" in request.text
        assert len(request.text) / 4 < 4096
        asked = [c["id"] for m in request.messages for c in m.get("tool_calls") or []]
        assert asked == [m["tool_call_id"] for m in request.messages if m["role"] == "tool"]
    assert "file 5" in server.requests[6].text
    assert "file 0" not in server.requests[6].text
    for call_made in ran.of("call_admitted"):
        assert call_made["prompt_tokens"] + call_made["max_tokens"] <= 4096


async def test_what_is_too_large_for_the_window_is_shortened_and_can_be_read_on(runs: Path, project: Path):
    (project / "huge.txt").write_text("".join(f"line {i}\n" for i in range(60_000)))
    turns = [read("huge.txt"), call("read_file", path="huge.txt", start_line=59_998, end_line=60_000), FIX_BOTH]
    with ScriptedServer(turns) as server:
        ran = await play(runs, server, project, until=[CHECK], context=4096)
    assert ran.outcome["reason"] == "done", ran.story()
    assert len(ran.results("read_file")[0]) < 60_000
    assert "line 59999" in ran.results("read_file")[1]


@pytest.mark.long
def test_a_command_of_the_person_takes_effect_while_a_hundred_megabytes_stream_in(home: Home, project: Path):
    event = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s}]}\n\n'
    nothing = event % b'{"role": "assistant"}'
    flood = Turn(raw=event % b'{"content": "go"}' + nothing * (100 * 1024 * 1024 // len(nothing)))
    argv = ["run", "fix the suite", "--headless", "--json", "--until", CHECK, "--model", "fake", "--gate", "edits"]
    with (
        ScriptedServer([flood, FIX_BOTH]) as server,
        home.start(*argv, "--api-base", server.base_url, cwd=project) as running,
    ):
        running.wait_event("text_arrived")
        view = Journal.open(home.journals()[0])
        put = time.monotonic()
        view.inbox.put(Steer(text="stop that"))
        running.wait_event("interrupted")
        assert time.monotonic() - put < 1.0
        view.close()
        ended = running.finish()
    assert ended.exit_code == 0, ended


async def test_ten_thousand_calls_in_one_answer_are_cut_to_a_number_that_can_be_answered(runs: Path, project: Path):
    reads = [Call("read_file", {"path": "NOTES.md"}) for _ in range(10_000)]
    with ScriptedServer([calls(*reads), FIX_BOTH]) as server:
        ran = await play(runs, server, project, until=[CHECK])
    assert ran.outcome["reason"] == "done", ran.story()
    finished = ran.of("tool_finished")
    assert 100 <= len(finished) < 200
    assert not [e for e in finished if "timed out" in e["result"]]
    assert ran.of("stall_detected") == []
    assert "the first 128 of its calls were run" in server.requests[1].text
