"""Results are judged in the same way where Landlock is the sandbox."""

import tempfile
from pathlib import Path

import pytest
from fakes.visible_folders import visible_folder

from rundry.agent.protocol import Budget
from rundry.agent.sandbox import sandbox
from rundry.agent.sandbox.landlock import why_no_landlock

from .reading import is_done, is_handed_over, judged

FEW = Budget(steps=6)
FIX = "echo 'echo 4' > calc.sh"
SUITE = "sh suite/a.sh"
COMMIT = "git -c user.name=u -c user.email=u@example.org commit -qam"


@pytest.fixture
def place(pytestconfig, monkeypatch):
    """A folder as in the other tests, on a machine without bubblewrap."""
    if why := why_no_landlock():
        pytest.skip(why)
    monkeypatch.setattr(sandbox, "find_bubblewrap", lambda avoid: None)
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        for name in ("work", "runs"):
            (Path(folder) / name).mkdir(mode=0o700)
        yield Path(folder)


def of_sandbox(run):
    return run.of("run_started")[0]["sandbox"]


async def test_honest_work_is_judged(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(FIX, until=[SUITE], budget=FEW)
    assert is_done(run, await run.run()) and of_sandbox(run) == "landlock"
    assert (judged(run)["opened"], judged(run)["opened_changed"]) == (2, ["calc.sh"])


async def test_a_gutted_test_is_handed_over(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("echo true > suite/a.sh", until=[SUITE], budget=FEW)
    assert is_handed_over(run, await run.run(), "suite/a.sh") and of_sandbox(run) == "landlock"


async def test_a_commit_of_an_undecided_file_is_not_in_the_view(project, driven):
    check = f"git show HEAD:limits.txt | grep -q 9 && {SUITE}"
    project(**{"calc.sh": "echo 5\n", "limits.txt": "1\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(f"{FIX}; echo 9 > limits.txt; {COMMIT} work", until=[check], budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5) and of_sandbox(run) == "landlock", run.story()
    assert judged(run)["why"] == "undecided" and "limits.txt" in judged(run)["rests_on"]
