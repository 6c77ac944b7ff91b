"""A run without a screen that needs an approval ends with the options that allow it, and passes with them."""

import shlex

import pytest
from fakes.turns import call

from rundry.agent.protocol import Budget, Predicates

from .reading import is_done, options

FEW = Budget(steps=6)
TOOL, FIXED = "#!/bin/sh\necho 5\n", "#!/bin/sh\necho 4\n"
SUITE = "bin/tool | grep -q 4\n"
WRITES = {
    "tool": call("write_file", path="bin/tool", content=FIXED),
    "command": call("run_command", command="sed -i s/5/4/ bin/tool"),
}
INSTALL = "mkdir -p node_modules/four; echo 'echo 4' > node_modules/four/calc.sh; echo '{\"four\": 1}' > package.json"
USE = "echo '. node_modules/four/calc.sh' > calc.sh"
NEEDS_INSTALL = {
    "package.json": "{}\n",
    "calc.sh": "echo 5\n",
    "_dot_gitignore": "node_modules/\n",
    "suite__a.sh": "sh calc.sh | grep -q 4\n",
}
OPTIONS = ["--scope /package.json", f"--setup {shlex.quote(INSTALL)}"]


@pytest.fixture
def with_tool(project):
    work = project(bin__tool=TOOL, suite__a_dot_sh=SUITE)
    (work / "bin/tool").chmod(0o755)
    return work


def wanted(**more):
    return Predicates(until=["sh suite/a.sh"], **more)


@pytest.mark.parametrize("writes", WRITES)
async def test_a_refused_executable_is_a_hand_off_that_proposes_its_scope(with_tool, driven, writes):
    run = driven(call("read_file", path="bin/tool"), WRITES[writes], predicates=wanted(), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and outcome.evidence.help == ["--scope bin/tool"], run.story()
    assert "--scope bin/tool" in outcome.detail and (with_tool / "bin/tool").read_text() == TOOL


@pytest.mark.parametrize("writes", WRITES)
async def test_an_executable_that_the_user_named_can_be_changed(with_tool, driven, writes):
    predicates = wanted(scope=["bin/tool"])
    run = driven(call("read_file", path="bin/tool"), WRITES[writes], predicates=predicates, budget=FEW)
    assert is_done(run, await run.run())
    assert (with_tool / "bin/tool").read_text() == FIXED and (with_tool / "bin/tool").stat().st_mode & 0o100


async def test_another_executable_than_the_named_one_still_asks(with_tool, driven):
    run = driven(WRITES["command"], predicates=wanted(scope=["bin/other"]), budget=FEW)
    assert (await run.run()).reason == "handoff" and (with_tool / "bin/tool").read_text() == TOOL


async def test_a_refused_install_is_a_hand_off_that_proposes_its_setup(project, driven):
    work = project(**NEEDS_INSTALL)
    run = driven(INSTALL, USE, predicates=wanted(), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and sorted(options(outcome)["look_first"]) == sorted(OPTIONS), run.story()
    assert not outcome.evidence.help and "--" not in outcome.detail
    assert not (work / "node_modules").exists()


async def test_what_exactly_the_setup_installs_passes_and_the_result_counts(project, driven):
    work = project(**NEEDS_INSTALL)
    run = driven(INSTALL, USE, predicates=wanted(scope=["package.json"], setup=INSTALL), budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome, grade="passed") and (work / "node_modules/four").exists()
    assert "the setup ran again" in outcome.evidence.grade_detail


async def test_another_line_than_the_setup_installs_nothing(project, driven):
    work = project(**NEEDS_INSTALL)
    run = driven(f"{INSTALL}; true", USE, predicates=wanted(scope=["package.json"], setup=INSTALL), budget=FEW)
    assert (await run.run()).reason == "handoff" and not (work / "node_modules").exists()


async def test_what_the_setup_line_installs_later_in_the_run_does_not_count(project, driven):
    work = project(**NEEDS_INSTALL)
    setup = "mkdir -p packages node_modules; cp -r packages/. node_modules"
    other = "mkdir -p packages/four; echo 'echo 4' > packages/four/calc.sh"
    run = driven(other, setup, USE, predicates=wanted(setup=setup), budget=FEW)
    outcome = await run.run()
    assert (work / "node_modules/four/calc.sh").exists(), run.story()
    assert not outcome.complete and not any(event["passed"] for event in run.of("judged")), run.story()


async def test_a_run_without_a_refusal_ends_at_its_limit(project, driven):
    project(**NEEDS_INSTALL)
    run = driven("true", predicates=wanted(), budget=Budget(steps=2))
    assert (await run.run()).reason != "handoff" and not run.of("judged"), run.story()


@pytest.mark.parametrize(("task", "end"), [("mend bin/tool and the suite", "handoff"), ("mend the suite", "done")])
async def test_a_green_run_names_what_was_refused_and_is_a_hand_off_if_the_task_names_it(project, driven, task, end):
    """V19: `calc.sh` makes the suite green, and the change of the executable was refused."""
    work = project(bin__tool=TOOL, calc_dot_sh="echo 5\n", suite__a_dot_sh="sh calc.sh | grep -q 4\n")
    (work / "bin/tool").chmod(0o755)
    mends = call("run_command", command="echo 'echo 4' > calc.sh")
    run = driven(WRITES["command"], mends, task=task, predicates=wanted(), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == end and "bin/tool" in outcome.detail, run.story()
    assert outcome.evidence.help == (["--scope bin/tool"] if end == "handoff" else [])
