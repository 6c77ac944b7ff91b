"""What a run changed and nobody decided on is noted before another one begins that does not have it in its journal."""

import shutil

from rundry.agent.protocol import Budget
from rundry.agent.run.start.fork import fork
from rundry.agent.verdict.judge.workspace_ledger import Ledger

SUITE = "sh suite/a.sh"
FEW = Budget(steps=6)


async def test_a_fork_of_a_killed_run_knows_what_that_changed_later(project, driven, place):
    work = project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("ls", "echo true > suite/a.sh", until=[SUITE], budget=FEW)
    await run.run()
    ledger = Ledger(work, place / "runs")
    shutil.rmtree(place / "runs/undecided")
    killed = run.killed_at("effects_applied")
    assert not ledger.read().entries
    fork(killed.path, place / "runs", at=1)
    assert [entry.path for entry in ledger.read().entries] == ["suite/a.sh"]
