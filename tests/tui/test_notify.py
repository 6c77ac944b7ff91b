from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.played_events import Script, proposal, started

from rundry.agent import (
    HandoffOpened,
    Journal,
    LoopKind,
    Paused,
    ProposalDecided,
    QuestionAsked,
    Reason,
    RunEnded,
    StepFinished,
    StepStarted,
    ViewState,
    Waiting,
    reduce_all,
)
from rundry.tui.app.notify import Notifier, terminal_call, title

XTERM = {"TERM": "xterm-256color"}
CALL = "\x07\x1b]9;rundry {0}\x07\x1b]777;notify;rundry;rundry {0}\x07"


class Watched:
    """A run's events, looked at by a notifier after each batch."""

    def __init__(self, *, focused: bool = False, journal: Journal | None = None, at: float | None = None, **options):
        self.state, self.script = ViewState(), Script(at or time.time())
        self.notifier = Notifier(options.pop("env", XTERM), **options)
        self.focused, self.journal = focused, journal
        self.written: list[str] = []

    def play(self, *events: object) -> list[str]:
        """What was written to the terminal, titles left out."""
        before = len(self.written)
        reduce_all(self.state, self.script.stamp(*events))  # type: ignore[arg-type]
        self.notifier.update(
            self.state, self.state.phase, focused=self.focused, journal=self.journal, write=self.written.append
        )
        return [text for text in self.written[before:] if not text.startswith("\x1b]2;")]


ENDED = RunEnded(reason=Reason.DONE, detail="x", complete=True, exit_code=0, steps=3)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((proposal(), Waiting(why="gate")), "has a proposal for you"),
        ((QuestionAsked(question_id="q", question="?"), Waiting(why="question")), "has a question for you"),
        ((HandoffOpened(reason="r", suggested_action="s"), Waiting(why="handoff")), "needs you: hand-off"),
        ((ENDED,), "ended: done"),
        ((StepFinished(number=1), Paused(by="program", why="the server is down")), "is paused"),
    ],
)
def test_it_calls_once_for_each_occasion_and_never_while_the_terminal_is_focused(events, words: str):
    away = Watched()
    assert away.play(started(), StepStarted(number=1)) == []
    assert away.play(*events) == [CALL.format(words)]
    assert away.play(StepStarted(number=2)) == []
    here = Watched(focused=True)
    here.play(started(), StepStarted(number=1))
    assert here.play(*events) == []
    here.focused = False
    assert here.play() == [], "what the person saw is no occasion any more"


def test_each_proposal_is_an_occasion_of_its_own():
    run = Watched()
    run.play(started())
    assert len(run.play(proposal(1))) == 1
    assert run.play() == []
    decided = ProposalDecided(proposal_id="p1", decision="approve", by="person")
    assert len(run.play(decided, proposal(2))) == 1


def test_a_chat_calls_when_its_answer_is_there_and_not_before_the_first_message():
    run = Watched()
    assert run.play(started(loop=LoopKind.CHAT, task=""), Waiting(why="message")) == []
    run.script.step = 1
    assert len(run.play(StepStarted(number=1), Waiting(why="message"))) == 1


def test_what_was_so_before_the_view_came_calls_nobody():
    run = Watched(at=time.time() - 3600)
    assert run.play(started(), ENDED) == []


def test_no_foreign_text_reaches_a_title_or_a_notification():
    hostile = "\x1b]0;owned\x07evil;\u202e"
    run = Watched()
    run.play(started(task=hostile, model=hostile), StepStarted(number=1))
    run.play(QuestionAsked(question_id="q", question=hostile))
    run.play(HandoffOpened(reason=hostile, suggested_action=hostile), Waiting(why="handoff"))
    run.play(RunEnded(reason=Reason.ERROR, detail=hostile, complete=False, exit_code=1))
    text = "".join(run.written)
    assert "owned" not in text and "evil" not in text and "\u202e" not in text
    assert "\x1b]2;rundry: waiting for you\x07" in text
    assert "ended: error, not complete" in text


def test_the_title_says_working_whatever_the_model_does_and_only_when_it_changes():
    assert title("thinking") == title("streaming") == "\x1b]2;rundry: working\x07"
    run = Watched()
    for number in range(5):
        run.play(StepStarted(number=number + 1))
    assert len(run.written) == 1


@pytest.mark.parametrize("term", ["linux", "dumb", ""])
def test_a_terminal_without_titles_gets_none(term: str):
    run = Watched(env={"TERM": term})
    run.play(started())
    assert run.written == []
    assert run.notifier.opening() == run.notifier.closing() == ""


def test_quiet_writes_nothing_at_all():
    run = Watched(quiet=True, hook="true")
    run.play(started())
    run.play(ENDED)
    assert run.written == [] and run.notifier.opening() == ""


def test_inside_of_tmux_a_notification_is_wrapped_and_the_bell_is_not():
    text = terminal_call("is paused", tmux=True)
    assert text.startswith("\x07\x1bPtmux;\x1b\x1b]9;rundry is paused\x07\x1b\\")
    assert text.count("\x1bPtmux;") == 2


def wait_for(path: Path) -> str:
    end = time.monotonic() + 20
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < end, f"{path} was never written"
        time.sleep(0.01)
    return path.read_text()


def test_a_hook_runs_with_the_reason_in_its_environment_once_for_all_views(tmp_path: Path):
    from fakes.played_events import spec

    out = tmp_path / "out"
    hook = f'echo "$RUNDRY_WHY|$RUNDRY_TEXT|$RUNDRY_RUN|$RUNDRY_JOURNAL|$MINE" >> {out}'
    (runs := tmp_path / "runs").mkdir(mode=0o700)
    path = runs / "r.db"
    Journal.create(path, spec()).close()
    views = [Journal.open(path), Journal.open(path)]
    env = {"MINE": "my own", "PATH": "/usr/bin:/bin"}
    for view in views:
        run = Watched(hook=hook, env=env, journal=view, at=time.time())
        run.play(started())
        run.play(QuestionAsked(question_id="q", question="?"))
    last = Watched(hook=f"sleep 0.3; {hook}", env=env, journal=views[0])
    last.play(started())
    last.play(QuestionAsked(question_id="another", question="?"))
    while wait_for(out).count("\n") < 2:
        time.sleep(0.01)
    line = "question|rundry has a question for you|r1|/runs/r1.db|my own"
    assert out.read_text().splitlines() == [line, line]
    for view in views:
        view.close()


def test_a_view_with_the_person_before_it_keeps_the_hook_of_the_others_still(tmp_path: Path):
    from fakes.played_events import spec

    out = tmp_path / "out"
    (runs := tmp_path / "runs").mkdir(mode=0o700)
    Journal.create(runs / "r.db", spec()).close()
    journal = Journal.open(runs / "r.db")
    for focused, why in ((True, "q"), (False, "q"), (False, "other")):
        run = Watched(hook=f'echo "$RUNDRY_WHY" >> {out}', env={"PATH": "/usr/bin:/bin"}, journal=journal)
        run.focused = focused
        run.play(started())
        run.play(QuestionAsked(question_id=why, question="?"))
    assert wait_for(out) == "question\n"
    journal.close()
