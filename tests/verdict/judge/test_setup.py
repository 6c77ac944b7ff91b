"""Views have what `--setup` made before the first call, instead of the ignored folders of the workspace."""

import os
from pathlib import Path

import pytest

from rundry.agent.protocol import Budget, GateMode, Predicates
from rundry.agent.run.start.fork import fork
from rundry.agent.state.reports.run_files import delete_run

from .reading import is_done, judged, options

FEW = Budget(steps=6)
SUITE = "grep -q good dep/tool && sh calc.sh | grep -q 4\n"
FILES = {"calc.sh": "echo 5\n", ".gitignore": "dep\nbuild/\n", "suite__a.sh": SUITE}
CHECK = "sh suite/a.sh"
FIX, INSTALL = "echo 'echo 4' > calc.sh", "mkdir -p dep/in && echo good > dep/tool && ln -sf tool dep/in/link"
FAKE = "mkdir -p dep && echo good > dep/tool"


def wanted(setup, check=CHECK, **more):
    return Predicates(until=[check], setup=setup, **more)


@pytest.mark.parametrize("gate", [GateMode.AUTO, GateMode.STAGE])
async def test_what_the_setup_made_is_there_and_the_result_is_judged(project, driven, place, gate):
    work = project(**FILES)
    run = driven(f"{INSTALL}; {FIX}", predicates=wanted(INSTALL), budget=FEW, gate=gate)
    outcome = await run.run()
    assert judged(run)["grade"] == outcome.evidence.grade == "judged", run.story()
    (prepared,) = [event for event in run.events if event["type"] == "setup_prepared"]
    assert prepared["kept"] == ["dep"] and (gate is GateMode.STAGE or (work / "dep/tool").exists())


async def test_pipes_that_the_setup_left_are_not_copied(project, driven):
    project(**FILES)
    run = driven(f"{INSTALL}; {FIX}", predicates=wanted(f"{INSTALL}; mkfifo dep/pipe"), budget=FEW)
    assert is_done(run, await run.run(within=60))


async def test_without_it_the_hand_off_names_the_command_that_made_them(project, driven):
    project(**FILES)
    run = driven(FAKE, FIX, predicates=wanted(None), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff", run.story()
    assert options(outcome) == {"help": [], "look_first": [f"--setup '{FAKE}'"]}
    assert judged(run)["look_first"][0]["accepts"] == f"what `{FAKE}` makes" and "--setup" not in outcome.detail


INSTALLS = f"{FAKE}; echo 1 > package.json"
OPTIONS = {"help": [], "look_first": [f"--setup '{INSTALLS}'", "--scope /package.json"]}


async def test_without_it_the_hand_off_names_the_files_that_this_command_changed_too(project, driven):
    project(**FILES | {"package.json": "{}"})
    run = driven(INSTALLS, FIX, predicates=wanted(None), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and options(outcome) == OPTIONS, run.story()
    assert outcome.evidence.look_first[1].accepts == "the changed setting package.json"


async def test_a_run_that_ends_at_a_limit_hands_over_what_the_judge_proposed(project, driven):
    """The output of the red view differs each time, so the run continues to its limit."""
    suite = "date +%N; test -e build/CMakeCache.txt && sh calc.sh | grep -q 4\n"
    project(**FILES | {"package.json": "{}", "CMakeLists.txt": "x\n", "suite__a.sh": suite})
    installs = "mkdir -p build && touch build/CMakeCache.txt; echo 1 > package.json"
    run = driven(installs, FIX, predicates=wanted(None), budget=Budget(steps=4))
    outcome = await run.run(within=60)
    assert outcome.reason == "handoff" and outcome.limit is None, run.story()
    assert options(outcome) == {"help": [], "look_first": [f"--setup '{installs}'", "--scope /package.json"]}
    assert "step budget" in outcome.detail


async def test_what_the_run_wrote_where_the_setup_writes_is_not_there(project, driven):
    project(**FILES)
    run = driven(f"{FAKE}; {FIX}", predicates=wanted("mkdir -p dep && echo bad > dep/tool"), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and not judged(run)["passed"], run.story()


async def test_ignored_folders_of_the_start_are_absent(project, driven):
    work = project(**FILES | {"suite__a.sh": "test -e build/stamp && sh calc.sh | grep -q 4\n"})
    (work / "build").mkdir()
    (work / "build/stamp").write_text("x")
    run = driven(FIX, predicates=wanted(INSTALL), budget=FEW)
    outcome = await run.run()
    assert not outcome.complete and not judged(run)["passed"], run.story()


async def test_only_ignored_folders_are_kept_of_what_it_wrote(project, driven):
    project(**FILES)
    run = driven(f"{INSTALL}; echo 'echo 4 # mine' > calc.sh", predicates=wanted(f"{INSTALL}; {FIX}"), budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome)


async def test_a_setup_that_fails_is_refused_before_the_first_call(project, driven):
    project(**FILES)
    run = driven(FIX, predicates=wanted("echo broken; exit 3"), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "refused" and "broken" in outcome.detail and not run.model.requests, run.story()


async def test_what_the_setup_and_commands_write_to_a_cache_is_dropped(project, driven, tmp_path, monkeypatch):
    """A later judge would read there what a run wrote."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "user").write_text("user\n")
    monkeypatch.setenv("UV_CACHE_DIR", str(cache))
    project(**FILES)
    fills = f": uv && grep -q user {cache}/user && echo run > {cache}/new"
    check = f"{CHECK} && test ! -e {cache}/new"
    run = driven(f"{fills} && {INSTALL} && {FIX}", predicates=wanted(f"{fills} && {INSTALL}", check), budget=FEW)
    assert is_done(run, await run.run())
    assert judged(run)["grade"] == "judged", run.story()
    assert os.listdir(cache) == ["user"]


COPY = "mkdir -p dep && cp packages.lst dep/tool"
NEW = "echo 2 > packages.lst"


async def test_the_setup_runs_again_if_what_it_read_changed_and_that_is_accepted(project, driven):
    project(**FILES | {"packages.lst": "1\n", "suite__a.sh": "grep -q 2 dep/tool && sh calc.sh | grep -q 4\n"})
    run = driven(f"{NEW}; {COPY}; {FIX}", predicates=wanted(COPY, scope=["packages.lst"]), budget=FEW)
    outcome = await run.run()
    assert is_done(run, outcome, grade="passed") and "packages.lst" in outcome.evidence.grade_detail
    assert len(run.of("setup_prepared")) == 2


async def test_old_packages_are_not_what_a_new_manifest_passes_with(project, driven):
    project(**FILES | {"packages.lst": "1\n", "suite__a.sh": "grep -q 1 dep/tool && sh calc.sh | grep -q 4\n"})
    run = driven(f"{COPY}; {NEW}; {FIX}", predicates=wanted(COPY, scope=["packages.lst"]), budget=FEW)
    outcome = await run.run()
    assert not outcome.complete and not judged(run)["passed"], run.story()


async def test_a_setup_that_fails_with_what_changed_is_not_done(project, driven):
    project(**FILES, **{"packages.lst": "1\n"})
    setup = f"grep -q 1 packages.lst && {INSTALL}"
    run = driven(f"{INSTALL}; {NEW}; {FIX}", predicates=wanted(setup, scope=["packages.lst"]), budget=FEW)
    outcome = await run.run()
    assert not outcome.complete and "the setup fails" in judged(run)["detail"], run.story()


async def test_content_that_the_setup_did_not_read_may_change_and_so_may_sources_that_it_read(project, driven):
    project(**FILES, **{"package.json": "{}\n"})
    predicates = wanted(f"{INSTALL}; cat calc.sh", scope=["package.json"])
    run = driven(f"{INSTALL}; {FIX}; echo '{{ }}' > package.json", predicates=predicates, budget=FEW)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("done", 0), run.story()
    assert judged(run)["passed"], judged(run)


async def test_a_killed_run_uses_what_was_kept(project, driven):
    project(**FILES)
    run = driven(f"{INSTALL}; {FIX}", predicates=wanted(INSTALL), budget=FEW)
    assert is_done(run, await run.run())
    again = run.killed_at("judge_started")
    run.path.with_suffix(".setup").rename(again.path.with_suffix(".setup"))
    assert is_done(again, await again.run())
    assert sum(event["type"] == "setup_prepared" for event in again.events) == 0


async def test_what_the_setup_made_is_shared_with_a_fork_and_deleted_with_the_run(project, driven):
    project(**FILES)
    run = driven("ls", f"{INSTALL}; chmod a-w dep; {FIX}", predicates=wanted(f"{INSTALL}; chmod a-w dep"), budget=FEW)
    assert is_done(run, await run.run())
    forked = Path(fork(run.path, run.folder, at=1).journal)
    delete_run(run.path)
    assert not run.path.with_suffix(".setup").exists()
    assert (forked.with_suffix(".setup") / "dep/in/link").is_symlink()
    run.path = forked
    assert is_done(run, await run.run())
    delete_run(forked)
    assert not list(run.folder.glob("*.setup"))


async def test_the_hand_off_names_the_command_that_configured_a_folder_of_output(project, driven):
    project(
        **FILES | {"suite__a.sh": "test -e build/CMakeCache.txt && sh calc.sh | grep -q 4\n", "CMakeLists.txt": "x\n"}
    )
    configure = "mkdir -p build && touch build/CMakeCache.txt"
    run = driven(configure, f"touch build/b; {FIX}", predicates=wanted(None), budget=FEW)
    outcome = await run.run()
    assert outcome.reason == "handoff" and options(outcome)["look_first"] == [f"--setup '{configure}'"], run.story()
