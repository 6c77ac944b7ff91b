"""A run in a workspace of 40,000 files: none of them is stored."""

import pytest
from fakes.turns import edit, finish
from run.person.undoing import take_back, tree, undone
from step.layered import events

from rundry.agent.protocol import Act, GiveWheel, Predicates, Shell, TakeWheel, Verify

FOLDERS, FILES = 40, 1_000
DONE = finish("done", "kept.txt:1")


@pytest.fixture
def work(place):
    fill(place / "work/data", 4, 10)
    return place / "work"


def fill(place, folders, files):
    for number in range(folders):
        (place / str(number)).mkdir(parents=True)
        for name in range(files):
            (place / f"{number}/{name}").touch()


@pytest.fixture
def run_of(driven, work):
    """Makes a run that must not have stored the workspace at its end."""
    made = []

    def make(*turns, **options):
        made.append(driven(*turns, **options))
        return made[-1]

    yield make
    for run in made:
        assert not run.path.with_suffix(".snapshots").exists()
        assert all(one["world"] is None for one in events(run, "snapshotted"))


async def test_in_a_large_workspace_checks_stalls_and_undo_work(run_of, work):
    fill(work / "large", FOLDERS, FILES)
    wanted = Predicates(until=["grep -q three kept.txt"], verify=Verify.ON_CHANGE, scope=["**"])
    turns = [f"echo {('two', 'one')[number % 2]} > kept.txt; # {number}" for number in range(5)]
    run = run_of("cat kept.txt", *turns, "ls large | wc -l", "rm -r large/3; echo three > kept.txt", predicates=wanted)
    outcome = await run.run(within=120)
    assert outcome.complete, run.story()
    assert [one["step"] for one in events(run, "check_finished")] == [None, 2, 3, 4, 5, 6, 8], run.story()
    stalls = [(one["kind"], one["signature"]) for one in events(run, "stall_detected")]
    assert stalls[0] == ("oscillation", "the files are back at step 1"), run.story()
    assert not (work / "large/3").exists()
    event = undone(await take_back(run))
    assert (len(event.files), event.kept) == (FILES + 1, [])
    assert (work / "kept.txt").read_text() == "two\n" and len([*(work / "large/3").iterdir()]) == FILES


async def test_the_check_runs_only_where_something_changed(run_of, work):
    wanted = Predicates(until=["grep -q three kept.txt"], verify=Verify.ON_CHANGE, scope=["**"])
    same, other = "echo x > made", "echo three >> kept.txt"
    run = run_of(same, "cat made", same, "ls data/7 | wc -l", other, predicates=wanted)
    outcome = await run.run(within=120)
    assert outcome.complete, run.story()
    checks = [(one["step"], one["passed"]) for one in events(run, "check_finished")]
    assert checks == [(None, False), (1, False), (5, True)], run.story()


async def test_the_check_runs_again_where_the_user_changed_a_file(run_of, work):
    wanted = Predicates(until=["grep -q three kept.txt"], verify=Verify.ON_CHANGE, scope=["**"])
    run = run_of("true", "true", predicates=wanted)
    run.on("step_started", lambda _: (work / "data/1/1").write_text("theirs") and Shell(command="true"), number=2)
    await run.run(within=120)
    assert [one["step"] for one in events(run, "check_finished")][:2] == [None, 2], run.story()


async def test_files_that_come_back_again_and_again_are_a_stall(run_of, work):
    turns = [f"echo {('two', 'one')[number % 2]} > kept.txt; # {number}" for number in range(6)]
    run = run_of(*turns)
    await run.run(within=120)
    stall = events(run, "stall_detected")[0]
    assert (stall["kind"], stall["signature"]) == ("oscillation", "the files are back at step 1"), run.story()
    worlds = [one["world"] for one in events(run, "step_finished")][:6]
    assert worlds[0] == worlds[2] == worlds[4] != worlds[1] == worlds[3] == worlds[5]


async def test_undo_takes_back_what_commands_and_edits_did(run_of, work):
    before = tree(work)
    run = run_of("rm -r data/3; echo x > made; chmod +x gone.txt", edit("kept.txt", "one", "ONE"), "echo y >> made")
    await run.run(within=120)
    assert not (work / "data/3").exists()
    assert undone(await take_back(run)).files == ["made"], run.story()
    assert undone(await take_back(run)).files == ["kept.txt"]
    assert undone(await take_back(run)).kept == []
    assert tree(work) == before


async def test_what_the_person_did_by_hand_is_named(run_of, work):
    run = run_of("true", DONE)
    run.on("step_finished", Shell(command="echo z > data/1/1"), TakeWheel(), number=1)
    run.on("wheel_taken", Act(tool="run_command", arguments={"command": "echo three > third; rm data/2/2"}))
    run.on("tool_finished", GiveWheel(), by="person")
    await run.run(watched=True, within=120)
    assert [one["files"] for one in events(run, "shell_finished")] == [["data/1/1"]], run.story()
    (given,) = events(run, "wheel_given")
    assert {"data/2/2", "third"} <= {*given["files"]}, run.story()
    assert "+three" in next(one["text"] for one in events(run, "prompted") if one["kind"] == "wheel")


async def test_the_result_is_confirmed_in_a_checkout(run_of, work):
    check = "test $(ls -R data | wc -l) -gt 40 && grep -q three kept.txt"
    run = run_of("echo three > kept.txt", predicates=Predicates(until=[check], confirm=True, scope=["**"]))
    outcome = await run.run(within=200)
    assert [one["result"] for one in events(run, "confirmation_finished")] == ["passed"], run.story()
    assert outcome.complete
