"""The last full scan of a migration is judged, the children of `rundry fix` are, and `rundry verify` takes out."""

import pytest
from fakes.project import CHECK as PROJECT_CHECK, make_project
from fakes.turns import call, edit, say
from search.migrate.fixer import Fixer

from rundry.agent.protocol import Budget, FinderSpec, FixSpec, LoopKind, Recipe, Target
from rundry.agent.run.end.after_end import verify_run

from .reading import asked, is_done, judged

MEAN = "def mean(values):\n    return sum(values) / len(values)"
CHECK = "grep -qf wanted.txt {file}"


@pytest.fixture
def migrate(project, driven):
    """A migration of two sources, whose check compares with a list."""

    def make(fix, **options):
        work = project(**{"wanted.txt": "new\n", "src__a.py": "a = 'old'\n", "src__b.py": "b = 'old'\n"})
        finder = FinderSpec(recipe=Recipe.MIGRATE, check=CHECK, globs=["src/*.py"], concurrency=1, sceptics=0)
        run = driven(loop=LoopKind.UNTIL_DRY, finder=finder, budget=Budget(steps=8), **options)
        run.model = Fixer(fix)
        return work, run

    return make


def honest(path, nth):
    return edit(path, "old", "new")


async def test_items_that_pass_only_with_another_file_are_a_hand_off(migrate):
    work, run = migrate(lambda path, nth: call("run_command", command="printf 'new\\nold\\n' > wanted.txt"))
    outcome = await run.run(within=90.0)
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["rests_on"] == ["wanted.txt"] and outcome.evidence.look_first[0].option == "--scope /wanted.txt"
    assert (work / "src/a.py").read_text() == "a = 'old'\n"


async def test_a_migration_of_honest_work_is_dry_and_judged_once(migrate):
    _, run = migrate(honest)
    outcome = await run.run(watched=True, within=90.0)
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("dry", True, 0), run.story()
    (started,) = run.of("judge_started")
    assert started["checks"] == ["grep -qf wanted.txt src/a.py", "grep -qf wanted.txt src/b.py"]
    assert outcome.evidence.grade == "judged" and not asked(run)


async def test_an_item_that_is_a_test_caps_the_grade(project, driven):
    project(**{"tests__test_a.py": "old = 1\n", "wanted.txt": "new\n"})
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=CHECK, globs=["tests/*.py"], concurrency=1, sceptics=0)
    run = driven(loop=LoopKind.UNTIL_DRY, finder=finder, budget=Budget(steps=8))
    run.model = Fixer(honest)
    outcome = await run.run(within=90.0)
    assert (outcome.reason, outcome.evidence.grade) == ("dry", "passed"), run.story()
    assert "tests/test_a.py" in outcome.evidence.grade_detail


async def test_verify_checks_what_the_judge_saw(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    check = 'for t in suite/*.sh; do sh "$t" || exit 1; done'
    run = driven("echo 'echo 4' > calc.sh; echo true > suite/b.sh", until=[check], budget=Budget(steps=6))
    assert is_done(run, await run.run(within=90.0))
    verified = await verify_run(run.path, "! test -e suite/b.sh && sh calc.sh | grep -q 4", run.env)
    assert verified.result == "passed", verified


async def test_each_child_of_fix_is_judged(project, driven):
    files = {"a.sh": "echo 5\n", "b.sh": "echo 5\n"}
    project(**files, **{f"suite__{name}": f"sh {name} | grep -q 4\n" for name in files})
    targets = [
        Target(key=name, task=f"mend {name}", until=[f"sh suite/{name}"], files=[name], title=name) for name in files
    ]
    turns = ["echo 'echo 4' > a.sh", say("done"), "echo true > suite/b.sh", say("done")]
    run = driven(*turns, loop=LoopKind.FIX, fix=FixSpec(source="r0", targets=targets), budget=Budget(steps=12))
    outcome = await run.run(within=90.0)
    ends = [(child["reason"], child["detail"]) for child in run.of("child_finished")]
    assert [reason for reason, _ in ends] == ["done", "handoff"], run.story()
    assert "suite/b.sh" in ends[1][1] and outcome.reason != "done"


async def test_an_answer_in_a_file_format_is_judged_after_a_restart(place, driven):
    make_project(place / "work")
    answers = [say(f"```python\ndef add(a, b):\n    return a {sign} b\n\n\n{MEAN}\n```\n") for sign in "*+"]
    run = driven(*answers, until=[PROJECT_CHECK], edit_format="functions", budget=Budget(steps=8))
    outcome = await run.run(within=90.0)
    assert is_done(run, outcome) and run.of("restarted"), run.story()


async def test_a_new_module_next_to_the_items_is_not_an_item(project, driven):
    work = project(**{"pages__one.py": "from cgi import escape_it\n\nprint(escape_it('x'))\n"})
    finder = FinderSpec(recipe=Recipe.MIGRATE, check="python3 {file}", globs=["pages/*.py"], concurrency=1, sceptics=0)
    run = driven(loop=LoopKind.UNTIL_DRY, finder=finder, budget=Budget(steps=8))
    make = "printf 'def escape_it(text):\\n    return text\\n' > pages/cgi.py"
    run.model = Fixer(lambda path, nth: call("run_command", command=make))
    outcome = await run.run(within=90.0)
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert "pages/cgi.py" in outcome.detail and (work / "pages/one.py").exists()
