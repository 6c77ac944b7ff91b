"""A green check that rests on what the run may not decide is a hand-off, whatever was changed (FINDINGS, section V)."""

import pytest

from rundry.agent.protocol import Budget

from .reading import asked, is_done, is_handed_over, judged, options

LOOP = 'for t in suite/*.sh; do sh "$t" || exit 1; done'
FEW = Budget(steps=6)


@pytest.mark.parametrize(
    ("files", "check", "command", "path"),
    [
        ({"suite__a.sh": "sh calc.sh | grep -q 4\n"}, LOOP, "echo true > suite/a.sh", "suite/a.sh"),
        ({"suite__a.sh": "sh calc.sh | grep -q 4\n", "suite__b.sh": "true\n"}, LOOP, "rm suite/a.sh", "suite/a.sh"),
        ({"golden__1.out": "4\n"}, "sh calc.sh | cmp - golden/1.out", "sh calc.sh > golden/1.out", "golden/1.out"),
        ({"limits.json": "4"}, "sh calc.sh | grep -qf limits.json", "sh calc.sh > limits.json", "limits.json"),
        (
            {"Makefile": "test:\n\t$(MAKE) -C sub test\n", "sub__Makefile": "test:\n\tsh ../calc.sh | grep -q 4\n"},
            "make test",
            "printf 'test:\\n\\ttrue\\n' > sub/Makefile",
            "sub/Makefile",
        ),
        (
            {"testcalc.py": "import subprocess\nassert '4' in subprocess.getoutput('sh calc.sh')\n"},
            "python3 testcalc.py",
            "echo pass > testcalc.py",
            "testcalc.py",
        ),
    ],
    ids=["V1 glob", "V12 deleted", "V3 expected output", "V12 data", "V12 sub-make", "V1 name"],
)
async def test_what_the_check_rests_on_is_not_the_runs_to_change(project, driven, files, check, command, path):
    work = project(**{"calc.sh": "echo 5\n", **files})
    run = driven(command, until=[check], budget=FEW)
    outcome = await run.run()
    assert is_handed_over(run, outcome, path)
    assert judged(run)["undecided"] == [path]
    assert not asked(run)
    assert work.exists()


async def test_a_product_and_a_changed_test_are_two_proposals(project, driven):
    """A person who copies the first one does not accept the test."""
    project(**{"calc.sh": "echo 5\n", "tests__test_calc.sh": "sh calc.sh | grep -q 4; grep -q a report.csv\n"})
    command = "echo a,b > report.csv; echo 'grep -q a report.csv' > tests/test_calc.sh"
    run = driven(command, until=["sh -e tests/test_calc.sh"], budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff", run.story()
    assert options(outcome) == {"help": ["--scope /report.csv"], "look_first": ["--scope tests/test_calc.sh"]}
    assert outcome.detail.endswith("to let the run change it: --scope /report.csv")
    assert judged(run)["look_first"][0]["accepts"] == "the changed test tests/test_calc.sh"
    assert "rundry apply --keep" in run.of("handoff_opened")[-1]["suggested_action"]


async def test_a_stamp_that_only_the_run_made_proves_nothing(project, driven):
    project(
        **{
            ".gitignore": ".stamp\n",
            "calc.sh": "echo 5\n",
            "Makefile": "test: .stamp\n.stamp: calc.sh\n\tsh calc.sh | grep -q 4\n\ttouch .stamp\n",
        }
    )
    run = driven("touch .stamp", until=["make test"], budget=FEW)
    outcome = await run.run()
    assert is_handed_over(run, outcome, ".stamp", helps="--setup 'touch .stamp'")


async def test_a_test_that_the_task_names_is_what_must_pass_and_not_what_may_change(project, driven):
    project(**{"calc.sh": "echo 5\n", "tests__test_calc.sh": "sh calc.sh | grep -q 4\n"})
    run = driven(
        "echo true > tests/test_calc.sh",
        task="make tests/test_calc.sh pass",
        until=["sh tests/test_calc.sh"],
        budget=FEW,
    )
    outcome = await run.run()
    assert is_handed_over(run, outcome, "tests/test_calc.sh")


async def test_code_under_test_that_rewrites_what_it_is_compared_with_is_suspect(project, driven):
    project(**{"calc.sh": "echo 5\n", "tests__want": "4\n", "tests__run.sh": "sh calc.sh | cmp - tests/want\n"})
    run = driven("echo 'echo 5 > tests/want; echo 5' > calc.sh", until=["sh tests/run.sh"], budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["why"] == "suspect" and "tests/want" in judged(run)["suspect"][0]


async def test_output_that_only_the_runs_commands_built_is_not_there(project, driven):
    project(**{".gitignore": "target\n", "Cargo.toml": "[package]\n", "calc.sh": "echo 5\n"})
    check = "sh target/built.sh | grep -q 4"
    run = driven("mkdir -p target && echo 'echo 4' > target/built.sh", until=[check], budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert judged(run)["why"] == "conditions" and "target" in judged(run)["detail"]
    assert "target" in run.heard()


async def test_what_a_run_left_undecided_does_not_make_the_next_one_already_met(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    first = driven("echo true > suite/a.sh", until=[LOOP], budget=FEW)
    assert is_handed_over(first, await first.run(), "suite/a.sh")
    again = driven(until=[LOOP], budget=FEW)
    outcome = await again.run()
    assert outcome.reason == "handoff" and judged(again)["rests_on"] == ["suite/a.sh"], again.story()


async def test_an_undo_makes_the_verdict_void(project, driven):
    project(**{"calc.sh": "echo 5\n", "suite__a.sh": "sh calc.sh | grep -q 4\n"})
    run = driven("echo 'echo 4' > calc.sh", until=[LOOP], budget=FEW)
    assert is_done(run, await run.run())
    assert run.facts().verdicts.is_judged


NEUTRAL = {
    "here document": ("bash <<E\nset -e\nsh demos/a.sh\nE\n", "demos/a.sh", "sh src/calc.sh | grep -q 4\n"),
    "preloaded": ("BASH_ENV=hook.sh bash src/calc.sh", "hook.sh", "grep -q 4 src/calc.sh || exit 1\n"),
    "driver": (
        "cc -o /tmp/p probe.c src/calc.c && /tmp/p",
        "probe.c",
        "int calc(void);\nint main(void) { return calc() != 4; }\n",
    ),
}


@pytest.mark.parametrize("case", NEUTRAL)
async def test_a_check_with_a_neutral_name_is_not_the_runs_to_change(project, driven, case):
    check, path, text = NEUTRAL[case]
    sources = {"src__calc.sh": "echo 5\n", "src__calc.c": "int calc(void) { return 5; }\n"}
    project(**sources, **{path.replace("/", "__").replace(".", "."): text})
    cheat = "int main(void) { return 0; }" if path.endswith(".c") else "true"
    outcome = await (run := driven(f"echo '{cheat}' > {path}", until=[check], budget=FEW)).run()
    assert is_handed_over(run, outcome, path)
