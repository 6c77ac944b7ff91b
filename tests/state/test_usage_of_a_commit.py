"""The usage next to the journal is recorded once for the events of a commit, before the last of them is shown."""

from __future__ import annotations

from pathlib import Path

from fakes.in_process.journals import make_journal

from rundry.agent.journal.integrity.journal_tail import read_tail
from rundry.agent.protocol import Stamped, StepFinished, StepStarted
from rundry.agent.state.facts.run_facts import RunFacts
from rundry.agent.state.recorder import Recorder


def test_three_steps_of_one_commit_are_recorded_as_three(tmp_path: Path):
    journal = make_journal(tmp_path / "run.db")
    seen: list[int] = []

    def see(stamped: Stamped) -> None:
        tail = read_tail(journal.path)
        assert tail is not None
        assert tail.seq == 4, "all events of the commit are on the disk before one of them is shown"
        seen.append(tail.spent.steps)

    events = Recorder(journal, RunFacts(journal.spec), [see])
    steps = [StepStarted(number=number) for number in (1, 2, 3)]
    events.record_all([*((step, step.number, None) for step in steps), (StepFinished(number=1, seconds=2.0), 1, None)])
    assert seen == [0, 0, 0, 3]
    tail = read_tail(journal.path)
    assert tail is not None
    assert tail.spent.seconds == 2.0
    journal.close()
