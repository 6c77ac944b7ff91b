"""A headless run whose last view leaves does what its policy says, as if nobody had ever been there."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say
from fakes.wire import text_of

EDIT = call("write_file", path="result.txt", content="done\n")
ASK = call("ask_person", question="Which way?", options=["left", "right"])


def held(turn: Turn) -> Turn:
    """It waits until a view is attached."""
    return Turn(text="I think about it for a while", calls=turn.calls, hold_after=4)


@pytest.mark.parametrize(
    ("turn", "shown", "on_ask", "code", "said"),
    [
        (EDIT, "result.txt", [], 3, "nobody is here to approve it"),
        (EDIT, "result.txt", ["--on-ask", "handoff"], 5, ""),
        (ASK, "Which way?", ["--on-ask", "refuse"], 3, "Nobody is there to answer"),
        (ASK, "Which way?", ["--on-ask", "handoff"], 5, ""),
    ],
)
def test_what_waits_is_decided_by_the_policy(
    home: Home, project: Path, turn: Turn, shown: str, on_ask: list[str], code: int, said: str
):
    argv = [
        "run",
        "fix it",
        "--headless",
        "--json",
        "--gate",
        "ask",
        "--until",
        "grep -q done result.txt",
        "--steps",
        "2",
    ]
    server = ScriptedServer([held(turn)], then=say("I have no idea."))
    with server, home.start(*argv, "--model", "fake", "--api-base", server.base_url, *on_ask, cwd=project) as running:
        running.wait_event("text_arrived")
        run_id = home.journals()[0].stem
        with home.screen("watch", run_id, cwd=project) as terminal:
            terminal.wait_for("fix it")
            server.release()
            terminal.wait_for(shown)
            running.wait_event("waiting")
        ran = running.finish()
        told = [text_of(message) for request in server.requests for message in request.messages]
    assert ran.exit_code == code, ran.story()
    assert not (project / "result.txt").exists()
    assert said in " ".join(told)
    if turn is EDIT and code == 5:
        (opened,) = ran.of("proposal_opened")
        assert not ran.of("proposal_decided"), "it stays open"
        with ScriptedServer([], then=say("I have no idea."), port=server.port):
            argv = ["approve", run_id, "--digest", opened["digest"]]
            done = home.run(*argv, "--headless", cwd=project)
        assert (project / "result.txt").read_text() == "done\n", done
