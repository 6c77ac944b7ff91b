"""`rundry ctl`: a script does what a key does, and gets the result (docs/requirements.md 9.8)."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_ADD, FIX_BOTH
from fakes.rundry import Home, Ran, Running, exported_events
from fakes.server import ScriptedServer
from fakes.turns import Turn, call
from fakes.wire import text_of
from sampling import sampled

from rundry.agent import run_state
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Event, LoopKind, ModelSpec, RunSpec, RunStarted

HELD = Turn(text="I think about it for a while", hold_after=4)


@contextmanager
def headless(
    home: Home, project: Path, server: ScriptedServer, *more: str, until: str | None = "text_arrived"
) -> Generator[Running]:
    """A goal run without a screen, once its model streams."""
    argv = ["run", "fix the suite", "--headless", "--json", "--until", CHECK, "--model", "fake", *more]
    with home.start(*argv, "--api-base", server.base_url, cwd=project) as running:
        if until:
            running.wait_event(until)
        yield running


def refused(ran: Ran, *words: str, code: int = 2) -> None:
    """One clear line that names the thing."""
    assert ran.exit_code == code, ran
    (line,) = ran.stderr.splitlines()
    assert "Traceback" not in line
    for word in words:
        assert word in line, ran


def test_a_script_pauses_limits_steers_and_stops_a_run_that_someone_else_drives(home: Home, project: Path):
    with ScriptedServer([HELD, HELD]) as server, headless(home, project, server, "--gate", "edits") as running:

        def ctl(*words: str) -> Ran:
            return home.run("ctl", *words, cwd=project)

        raised = ctl("limit", "steps=60", "tokens=90k")
        assert (raised.exit_code, raised.stderr) == (0, ""), raised
        assert raised.stdout.strip() == f"{home.journals()[0].stem}  limit  accepted"
        changed = running.wait_event("budget_changed", by="person")
        assert changed["budget"]["steps"] == 60
        assert running.wait_event("budget_changed")["budget"]["tokens"] == 90_000
        assert ctl("pause").exit_code == 0
        running.wait_event("paused")
        steered = ctl("steer", "use plain sums", "--json")
        told = json.loads(steered.stdout)
        assert (told["verb"], told["taken"], told["why"]) == ("steer", True, None)
        requests = server.wait_requests(2)
        assert text_of(requests[1].messages[-1]) == "use plain sums"
        again = ctl("unpause")
        refused(again, "unpause", "not paused", code=1)
        woken = ctl(home.journals()[0].stem, "wake", "--json")
        assert woken.exit_code == 1
        assert "sleep" in json.loads(woken.stdout)["why"]
        assert ctl("stop", "--now").exit_code == 0
        ended = running.finish()
    assert ended.exit_code == 130, ended
    gone = home.run("ctl", home.journals()[0].stem, "pause", cwd=project)
    refused(gone, "has ended (stopped:", "rundry resume")


@pytest.mark.parametrize("verb", ["steer", "interrupt"])
def test_a_cut_call_books_its_prompt_and_what_arrived_and_shows_the_rest_as_held(home: Home, project: Path, verb: str):
    limits = ["--tokens", "200k", "--usd", "0.50", "--price", "1/2"]
    with ScriptedServer([HELD, HELD]) as server, headless(home, project, server, *limits) as running:
        words = ["steer", "use plain sums"] if verb == "steer" else ["interrupt"]
        assert home.run("ctl", *words, cwd=project).exit_code == 0
        charged = running.wait_event("charged")
        assert home.run("ctl", "stop", "--now", cwd=project).exit_code == 0
        ended = running.finish()
    (admitted, *_) = ended.of("call_admitted")
    assert charged["estimated"] is True
    assert 0 < charged["tokens_in"] <= admitted["prompt_tokens"]
    assert 0 < charged["tokens_out"] < 50
    assert charged["held_tokens"] > 1000 and charged["held_usd"] > 0
    assert charged["usd"] < 0.01
    assert ended.outcome["usd"] < 0.02


def test_a_script_lists_queued_messages_and_takes_them_back(home: Home, project: Path):
    with ScriptedServer([HELD, HELD]) as server, headless(home, project, server, "--gate", "edits") as running:

        def ctl(*words: str) -> Ran:
            return home.run("ctl", *words, cwd=project)

        assert "no message is queued" in ctl("queued").stdout
        refused(ctl("withdraw"), "no message is queued")
        for text in ("look at mul", "look at add", "use sums\nonly", "and hurry"):
            assert ctl("queue", text).exit_code == 0
        listed = json.loads(ctl("queued", "--json").stdout)["queued"]
        assert [message["text"] for message in listed] == ["look at mul", "look at add", "use sums\nonly", "and hurry"]
        shown = ctl("queued").stdout.splitlines()
        assert shown[0].split(maxsplit=1) == [str(listed[0]["number"]), "look at mul"]
        refused(ctl("withdraw", "look"), "2 queued messages", "number")
        refused(ctl("withdraw", "sing"), "no queued message", "sing")
        assert ctl("withdraw").exit_code == 0
        assert running.wait_event("unqueued")["queued_id"] == listed[3]["number"]
        assert ctl("withdraw", "sums").exit_code == 0
        assert ctl("withdraw", str(listed[0]["number"])).exit_code == 0
        assert [message["text"] for message in json.loads(ctl("queued", "--json").stdout)["queued"]] == ["look at add"]
        assert ctl("steer", "go on").exit_code == 0
        requests = server.wait_requests(2)
        said = [text_of(message) for message in requests[1].messages if message["role"] == "user"]
        assert said[-2:] == ["look at add", "go on"] or "look at add" in said[-1], said
        assert not any("mul" in text or "sums" in text or "hurry" in text for text in said[1:])
        assert ctl("stop", "--now").exit_code == 0
        running.finish()


@pytest.mark.parametrize(("words", "paused"), [(["pause", "now"], True), (["stop", "now"], False)])
def test_a_script_uses_the_words_of_the_message_box(home: Home, project: Path, words: list[str], paused: bool):
    with ScriptedServer([HELD, HELD]) as server, headless(home, project, server, "--gate", "edits") as running:
        run = home.journals()[0].stem
        limited = home.run("ctl", run, "limit", "steps", "60", cwd=project)
        assert (limited.exit_code, limited.stderr) == (0, ""), limited
        assert running.wait_event("budget_changed")["budget"]["steps"] == 60
        refused(home.run("ctl", run, "stop", "web", cwd=project), "web", code=1)
        assert home.run("ctl", run, *words, cwd=project).exit_code == 0
        if paused:
            running.wait_event("paused")
            assert home.run("ctl", run, "stop", "now", cwd=project).exit_code == 0
        ended = running.finish()
    assert ended.exit_code == 130 and len(server.requests) == 1, "no wrap-up was asked for"
    cut = exported_events(home, run, "interrupted")
    assert [event["detail"] for event in cut] == [words[0]], "what streams is cut at once"


def waiting(home: Home) -> str:
    """The digest of the one proposal that waits."""
    journal = Journal.open(home.journals()[0])
    (opened,) = run_state(journal).proposals.values()
    journal.close()
    return opened.digest


def test_approve_takes_the_one_proposal_that_waits_and_reject_says_why(home: Home, project: Path):
    core = project / "calc/core.py"
    with ScriptedServer([FIX_ADD, FIX_BOTH, HELD]) as server:
        argv = ["fix it", "--until", CHECK, "--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("waiting for you")
            wrong = home.run("ctl", "approve", "p99", cwd=project)
            refused(wrong, "p99", "waiting: ")
            assert "a + b" not in core.read_text()
            refused(home.run("ctl", "approve", cwd=project), "--digest", waiting(home)[:12])
            assert "a + b" not in core.read_text()
            assert home.run("ctl", "approve", "--digest", waiting(home), cwd=project).exit_code == 0
            server.wait_requests(2)
            assert "a + b" in core.read_text()
            terminal.wait_for("waiting for you")
            turned = home.run(
                "ctl", "reject", "--digest", waiting(home), "--reason", "keep the parentheses", cwd=project
            )
            assert turned.exit_code == 0, turned
            requests = server.wait_requests(3)
            assert "keep the parentheses" in requests[2].text
            refused(home.run("ctl", "approve", cwd=project), "no proposal waits in")


def test_a_run_that_a_screen_still_holds_after_its_end_continues_in_place(home: Home, project: Path):
    with ScriptedServer([call("read_file", path="NOTES.md"), Turn(text="as far as I came"), HELD]) as server:
        argv = ["fix it", "--until", CHECK, "--steps", "1", "--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("raise the limit to continue")
            run_id = home.journals()[0].stem
            refused(home.run("ctl", "pause", cwd=project), "has ended (budget:", f"rundry ctl {run_id} limit steps=2")
            assert home.run("ctl", run_id, "limit", "steps=2", cwd=project).exit_code == 0
            server.wait_requests(3)


def test_a_question_is_answered_by_the_number_of_its_option(home: Home, project: Path):
    asks = call("ask_person", question="Which way?", options=["left", "right"])
    with ScriptedServer([asks, HELD]) as server:
        argv = ["go", "--until", CHECK, "--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for("Which way?")
            assert home.run("ctl", "answer", "2", cwd=project).exit_code == 0
            requests = server.wait_requests(2)
            (told,) = [text_of(m) for m in requests[1].messages if m["role"] == "tool"]
            assert "right" in told
            refused(home.run("ctl", "answer", "2", cwd=project), "no open question")


def test_a_runner_that_was_killed_leaves_the_line_that_resumes(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, headless(home, project, server) as running:
        running.signal(signal.SIGKILL)
        running.finish()
    run_id = home.journals()[0].stem
    refused(home.run("ctl", run_id, "pause", cwd=project), "no runner", f"rundry resume {run_id}")
    refused(home.run("ctl", "pause", cwd=project), "no run of", "is running")
    journal = Journal.open(home.journals()[0])
    assert journal.inbox.untaken() == [], "nothing was put that nobody would take"
    journal.close()


def test_undo_needs_no_runner(home: Home, project: Path):
    core = project / "calc/core.py"
    before = core.read_text()
    with (
        ScriptedServer([FIX_BOTH]) as server,
        headless(home, project, server, "--gate", "edits", until=None) as running,
    ):
        assert running.finish().exit_code == 0
    assert core.read_text() != before
    undone = home.run("ctl", home.journals()[0].stem, "undo", "2", cwd=project)
    assert undone.exit_code == 0, undone
    assert core.read_text() == before
    refused(home.run("ctl", home.journals()[0].stem, "undo", cwd=project), "undone already", code=1)


@pytest.mark.parametrize(
    ("words", "said"),
    sampled(
        [
            ((), "a verb"),
            (("nosuch", "pause"), "no run 'nosuch'"),
            (("r", "pause"), "matches 2 runs"),
            (("r1", "paws"), "did you mean `pause`?"),
            (("r1",), "add a verb"),
            (("puase",), "did you mean `pause`? add a verb"),
            (("r1", "pause", "soon"), "`pause now`"),
            (("r1", "step", "2"), "takes no arguments"),
            (("r1", "steer"), "needs a text"),
            (("r1", "limit", "steps"), "a name and a value"),
            (("r1", "limit", "steps=many"), "steps"),
            (("r1", "limit", "hope=3"), "use one of steps"),
            (("r1", "gate", "open"), "read, ask, effects, edits, auto or stage"),
            (("r1", "judge", "k", "maybe"), "confirmed, refuted or evidence"),
            (("r1", "undo", "-1"), "undo"),
            (("r1", "approve"), "nothing to approve"),
            (("r1", "answer", "yes"), "no open question"),
            (("r1", "step", "--reason", "x"), "takes no --reason"),
        ],
        6,
    ),
)
def test_words_that_make_no_sense_are_one_line_and_nothing_is_put(
    home: Home, project: Path, words: tuple[str, ...], said: str
):
    for name in ("r1", "r2"):
        begin(home, project, name)
    with held(home.runs / "r1.db"):
        refused(home.run("ctl", *(["--", *words] if "-1" in words else words), cwd=project), said)
    journal = Journal.open(home.runs / "r1.db")
    assert journal.inbox.untaken() == []
    journal.close()


def test_a_journal_of_a_newer_version_and_a_damaged_one_are_reported(home: Home, project: Path):
    newer, damaged = begin(home, project, "newer"), home.runs / "damaged.db"
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    damaged.write_bytes(os.urandom(8192))
    refused(home.run("ctl", "newer", "pause", cwd=project), "newer rundry", "update rundry")
    refused(home.run("ctl", str(damaged), "pause", cwd=project), "damaged")


@pytest.mark.long
def test_a_runner_that_never_answers_is_reported_and_the_command_stays(home: Home, project: Path):
    path = begin(home, project, "r1")
    with held(path):
        refused(home.run("ctl", "r1", "pause", cwd=project), "no answer within 5 s", "inbox", code=1)
    journal = Journal.open(path)
    assert len(journal.inbox.untaken()) == 1
    journal.close()


def begin(home: Home, project: Path, run_id: str, *events: Event) -> Path:
    """A journal of a run that began, without anyone who drives it."""
    spec = RunSpec(
        run_id=run_id, loop=LoopKind.GOAL, task="t", workspace=str(project.resolve()), model=ModelSpec(name="fake")
    )
    path = home.runs / f"{run_id}.db"
    journal = Journal.create(path, spec)
    started = RunStarted(
        run_id=run_id,
        loop=spec.loop,
        task="t",
        workspace=spec.workspace,
        model="fake",
        budget=spec.budget,
        journal=str(path),
    )
    for event in (started, *events):
        journal.append(event)
    journal.close()
    return path


@contextmanager
def held(path: Path) -> Generator[None]:
    """A runner has it, and does nothing."""
    from rundry.agent.journal.claim import claim

    with claim(path):
        yield
