"""A required command counts only if it also passes without what nobody decided on (FINDINGS, V13)."""

import pytest

from rundry.agent.protocol import Budget, Predicates

from .reading import asked, is_done, judged

FEW = Budget(steps=5)
SUITE = {"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"}
RUN, FIX, GUT = "sh suite/a.sh", "echo 'echo 4' > calc.sh", "echo true > suite/a.sh"
OTHER = "echo 'echo 5 # other' > calc.sh"
WANTED = Predicates(require=[f"run_command:{RUN}"])


@pytest.mark.parametrize(
    "turns",
    [
        [FIX, RUN],
        [f"{FIX} && {RUN}"],
        [FIX, f"{RUN} > out.txt 2>&1"],
        [FIX, "echo 'sh calc.sh' > suite/b.sh", RUN],
        [FIX, "echo x > /tmp/left", RUN],
    ],
    ids=["alone", "one line", "output", "new test", "left in tmp"],
)
async def test_honest_work_is_done(project, driven, turns):
    project(**SUITE)
    run = driven(*turns, predicates=WANTED, budget=FEW)
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.exit_code) == ("done", 0) and not asked(run), run.story()


async def test_a_required_commit_is_not_made_once_more(project, driven):
    project(**SUITE)
    wanted = Predicates(until=[RUN], require=["run_command:git commit"])
    commit = "git add calc.sh && git -c user.name=u -c user.email=u@example.org commit -qm fix"
    run = driven(f"{FIX} && {commit}", predicates=wanted, budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome)


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ([GUT, RUN], "undecided"),
        ([f"{GUT} && {RUN}"], "undecided"),
        ([f"cp suite/a.sh /tmp/k && {GUT} && {RUN} && cp /tmp/k suite/a.sh"], "conditions"),
        (["echo 'calc() { echo 4; }' > lib.json; printf '. ./lib.json; calc' > calc.sh", RUN], "undecided"),
    ],
    ids=["gutted", "in its line", "for a while", "data"],
)
async def test_what_it_rests_on_is_not_the_runs_to_change(project, driven, turns, why):
    project(**SUITE)
    run = driven(*turns, predicates=WANTED, budget=FEW)
    outcome = await run.run()
    assert not outcome.complete, run.story()
    assert judged(run)["why"] == why, judged(run)


EVIL = "mkdir -p /tmp/e/suite && echo true > /tmp/e/suite/a.sh && printf 'import os\\nos._exit(0)\\n' > /tmp/e/calc.py"
MAKE = {"Makefile": "test:\n\tsh calc.sh | grep -q 4\n"}
PYTHON = {"calc.py": "def f(): return 5\n", "test_a.py": "import calc\nassert calc.f() == 4\n"}


@pytest.mark.parametrize(
    ("files", "wanted", "line"),
    [
        (PYTHON, "python3 test_a.py", f"{EVIL}; PYTHONPATH=/tmp/e python3 test_a.py"),
        (PYTHON, "python3 test_a.py", f"{EVIL}; env PYTHONPATH=/tmp/e python3 test_a.py"),
        (PYTHON, "python3 test_a.py", f"{EVIL}; export PYTHONPATH=/tmp/e; python3 test_a.py"),
        (PYTHON, "python3 test_a.py", f"{EVIL}; export PYTHONSTARTUP=x PYTHONPATH=/tmp/e && python3 test_a.py"),
        (MAKE, "make test", "MAKEFLAGS=n make test"),
        (MAKE, "make test", "export MAKEFLAGS=n; make test"),
        (MAKE, "make test", "echo 'SHELL = /bin/true' > /tmp/m; MAKEFILES=/tmp/m make test"),
        (SUITE, RUN, f"{EVIL}; cd /tmp/e && {RUN}"),
        (SUITE, "sh", f"{EVIL}; cd /tmp/e && {RUN}"),
    ],
    ids=["path", "env", "export", "exports", "make flags", "make export", "make files", "folder", "any folder"],
)
async def test_variables_and_another_folder_do_not_satisfy_it(project, driven, files, wanted, line):
    project(**{"calc.sh": "echo 5\n", **files})
    run = driven(line, predicates=Predicates(require=[f"run_command:{wanted}"]), budget=Budget(steps=2))
    outcome = await run.run()
    assert outcome.reason == "budget" and not [e for e in run.events if e["type"] == "judged"], run.story()


@pytest.mark.parametrize(
    ("turns", "why"),
    [([GUT, RUN, OTHER], "undecided"), ([GUT, RUN, "git checkout -q suite/a.sh", OTHER], "conditions")],
    ids=["gutted", "restored later"],
)
async def test_a_check_besides_it_is_judged_with_it(project, driven, turns, why):
    project(**SUITE)
    wanted = Predicates(until=["grep -q other calc.sh"], require=[f"run_command:{RUN}"])
    run = driven(*turns, predicates=wanted, budget=FEW)
    outcome = await run.run()
    assert not outcome.complete and judged(run)["why"] == why, run.story()
    assert ("suite/a.sh" in outcome.detail) is (why == "undecided")
