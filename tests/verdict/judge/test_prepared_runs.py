"""What `--setup` made is in the views of each kind of run that is judged, and `--holdout` decides on each."""

import pytest
from fakes.clock import ManualClock
from fakes.in_process.simulated_hours import through_hours
from fakes.models.tries import TryingModel
from fakes.turns import call, edit, finish, say
from search.migrate.fixer import Fixer

from rundry.agent.protocol import (
    Branch,
    Budget,
    FinderSpec,
    FixSpec,
    GoalTries,
    ImproveSpec,
    IntervalSpec,
    LoopKind,
    Predicates,
    Recipe,
    Stop,
    Target,
)

from .reading import judged

DONE = finish("did it", "calc.sh")
BRANCH = Branch(protected=[])
HONEST, HARD_CODED = "echo 'echo $(($1 + $2))' > calc.sh", "echo 'echo 4' > calc.sh"
SUITE = "sh suite/a.sh"
FILES = {
    "calc.sh": "echo 5\n",
    ".gitignore": "dep/\napart/\n",
    "suite__a.sh": "grep -q good dep/tool && sh calc.sh 2 2 | grep -q 4\n",
    "suite__bench.sh": "echo $(($(sh calc.sh 4 4) + $(cat dep/count)))\n",
    "src__a.py": "a = 'old'\n",
}
HIDDEN = "sh calc.sh 3 4 | grep -q 7\n"


def setup(tool="good", count=100):
    return f"mkdir -p dep && echo {tool} > dep/tool && echo {count} > dep/count"


def sh(command):
    return call("run_command", command=command)


@pytest.fixture
def work(project):
    """A workspace whose ignored folder `dep` lets the check pass, with a second check in `apart`."""
    made = project(**FILES)
    for name, text in {"dep/tool": "good\n", "dep/count": "0\n", "apart/b.sh": HIDDEN}.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text)
    return made


def wanted(check=SUITE, *, held_out=False, made=None, scope=()):
    holdout, files = ("sh apart/b.sh", ["apart/**"]) if held_out else (None, [])
    return Predicates(
        until=[check] if check else [], setup=made, holdout=holdout, holdout_files=files, scope=list(scope)
    )


@pytest.fixture
def played(work, driven):
    """Plays a run of one kind with a model that runs this command, and returns it with its outcome."""

    async def play(kind, command, **options):
        match kind:
            case "tries":
                tries = {"tries": GoalTries(tries=2), "task": "Pass 1. Mend it.", "budget": Budget(steps=8)}
                run = driven(**tries, scope=[], predicates=wanted(**options))
                run.model = TryingModel(
                    {(1, 1): [sh(command), DONE], (1, 2): [sh(f"{command}; echo >> calc.sh"), DONE]}
                )
                return run, await run.run(within=90.0)
            case "pass":
                spec = IntervalSpec(every=3600.0, branch=BRANCH)
                run = driven(
                    command,
                    loop=LoopKind.INTERVAL,
                    interval=spec,
                    scope=[],
                    budget=Budget(steps=1),
                    predicates=wanted(**options),
                )
                return run, await through_hours(run, ManualClock(), within=90.0)
            case "chat":
                run = driven(
                    command, say("so"), loop=LoopKind.CHAT, budget=Budget(steps=6), predicates=wanted(**options)
                )
                run.on("judged", Stop())
                return run, await run.run(watched=True)
            case _:
                raise AssertionError(kind)

    return play


KINDS = ["tries", "pass", "chat"]


@pytest.mark.parametrize("tool", ["good", "bad"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_view_has_what_the_setup_made(played, kind, tool):
    run, outcome = await played(kind, HARD_CODED, made=setup(tool))
    assert len(run.of("setup_prepared")) == 1, run.story()
    assert judged(run)["passed"] == (tool == "good"), judged(run)
    if tool == "good":
        assert outcome.evidence.grade == "judged", run.story()
    else:
        assert "as the setup made them" in judged(run)["detail"] and outcome.exit_code


@pytest.mark.parametrize(("command", "grade"), [(HONEST, "held_out"), (HARD_CODED, "passed")])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_second_check_decides(played, kind, command, grade):
    run, outcome = await played(kind, f"cat apart/b.sh; ls apart; {command}", held_out=True)
    assert len(run.of("holdout_prepared")) == 1, run.story()
    assert judged(run)["grade"] == grade, judged(run)
    assert judged(run)["why"] == ("" if grade == "held_out" else "holdout")
    assert "grep -q 7" not in run.story()
    if grade == "held_out":
        assert outcome.evidence.grade == grade


@pytest.mark.parametrize("kind", KINDS)
async def test_a_setup_that_fails_refuses_the_run_before_the_first_call(played, kind):
    run, outcome = await played(kind, HONEST, made="echo broken; exit 3")
    assert outcome.reason == "refused" and "broken" in outcome.detail, run.story()
    assert not run.model.requests


async def test_scores_are_measured_with_what_the_setup_made(work, driven):
    spec = ImproveSpec(score="sh suite/bench.sh", bounded=True, patience=1, branch=BRANCH)
    predicates = wanted(None, made=setup())
    run = driven(
        HONEST, DONE, loop=LoopKind.IMPROVE, improve=spec, budget=Budget(steps=8), scope=[], predicates=predicates
    )
    outcome = await through_hours(run, ManualClock(), within=90.0)
    assert [one["score"] for one in run.of("score_measured")][:2] == [105.0, 108.0], run.story()
    assert outcome.evidence.grade == "judged"


@pytest.mark.parametrize("tool", ["good", "bad"])
async def test_a_migration_is_judged_with_what_the_setup_made(work, driven, tool):
    check = "grep -q good dep/tool && grep -q new {file}"
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=check, globs=["src/*.py"], concurrency=1, sceptics=0)
    predicates = wanted(None, made=setup(tool))
    run = driven(loop=LoopKind.UNTIL_DRY, finder=finder, budget=Budget(steps=8), predicates=predicates)
    run.model = Fixer(lambda path, nth: edit(path, "old", "new"))
    outcome = await run.run(within=90.0)
    assert (outcome.exit_code, judged(run)["passed"]) == ((0, True) if tool == "good" else (5, False)), run.story()


@pytest.mark.parametrize(("text", "code"), [("new", 0), ("old' or 'new", 5)])
async def test_the_second_check_decides_on_a_migration(work, driven, text, code):
    (work / "apart/b.sh").write_text("! grep -q old src/a.py\n")
    finder = FinderSpec(
        recipe=Recipe.MIGRATE, check="grep -q new {file}", globs=["src/*.py"], concurrency=1, sceptics=0
    )
    predicates = wanted(None, held_out=True)
    run = driven(loop=LoopKind.UNTIL_DRY, finder=finder, budget=Budget(steps=8), predicates=predicates)
    run.model = Fixer(lambda path, nth: edit(path, "old", text))
    outcome = await run.run(within=90.0)
    assert outcome.exit_code == code, run.story()
    assert judged(run)["grade"] == ("passed" if code else "held_out")


async def test_each_child_of_fix_prepares_its_own_views(work, driven):
    target = Target(key="a", title="adds", task="Mend it.", until=[SUITE], files=["calc.sh"])
    run = driven(
        HONEST,
        say("done"),
        loop=LoopKind.FIX,
        fix=FixSpec(source="s", targets=[target]),
        budget=Budget(steps=8),
        predicates=wanted(None, made=setup()),
    )
    outcome = await run.run(within=90.0)
    assert outcome.exit_code == 0, run.story()
    assert "--setup is not used" not in str(run.of("run_started")[0]["notes"])
    child = next(file for file in run.folder.glob("*.setup"))
    assert (child / "dep/tool").read_text() == "good\n"
