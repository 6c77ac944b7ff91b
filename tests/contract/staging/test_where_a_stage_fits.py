"""Where a run works in a stage, where `--gate stage` is refused in one line, and what is the default elsewhere."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.machines import words_for
from fakes.nested.fixing import make_search
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, changed_files, git, make_project
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.staged_project import DONE, StagedProject, ended
from fakes.turns import call
from fakes.visible_folders import path_without_bubblewrap

from rundry.agent.sandbox.landlock import why_no_landlock

ROOT = Path(__file__).parents[3]
WRITE = call("run_command", command="echo x > made")
SERVE = call("start_command", name="web", command="touch served; sleep 600")


def gate_of(ran: Ran) -> str:
    return str(ran.of("run_started")[0]["gate"])


def refusal(ran: Ran) -> str:
    """The one line that says why nothing was done."""
    assert ran.exit_code == 2, ran
    ends = [str(event["detail"]) for event in ran.events if event["type"] == "run_ended"] if ran.stdout else []
    lines = [line.removeprefix("rundry: ") for line in ran.stderr.splitlines() if line.strip()]
    assert len(ends or lines) == 1, ran
    return (ends or lines)[0]


async def test_a_stage_where_landlock_is_the_sandbox(place: StagedProject):
    if why := why_no_landlock():
        pytest.skip(why)
    place.home.env["PATH"] = path_without_bubblewrap(place.home.root / "bin", place.home.env["PATH"])
    ran = place.run([SERVE, WRITE, FIX_BOTH], "--until", CHECK)
    assert ran.of("run_started")[0]["sandbox"] == "landlock", ran
    assert (ran.exit_code, ended(ran)["staged"]) == (5, ["calc/core.py", "made", "served"]), ran
    assert changed_files(place.project) == []
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0, done
    assert changed_files(place.project) == ["calc/core.py", "made", "served"]


@pytest.fixture
def unfit(home: Home, tmp_path: Path) -> Iterator[Path]:
    """A workspace on which no layer can lie: the journals are on another file system, and there is no repository."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "kept.txt").write_text("one\n")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:
        home.env["RUNDRY_RUNS_DIR"] = runs
        yield work


def run_in(home: Home, work: Path, *more: str) -> Ran:
    with ScriptedServer([WRITE], then=DONE) as server:
        argv = ("run", "fix", "--headless", "--json", "--steps", "3", "--model", "fake", "--api-base", server.base_url)
        return home.run(*argv, *more, cwd=work)


def test_without_a_place_a_chosen_stage_is_refused_and_the_default_asks(home: Home, unfit: Path):
    line = refusal(run_in(home, unfit, "--gate", "stage"))
    assert line.startswith(
        "--gate stage does not work here: layers do not work here (see `rundry doctor`): rundry's own"
    )
    assert "; the stage cannot be a copy of the workspace: there is no place for it: " in line and "`git init`" in line
    ran = run_in(home, unfit)
    assert gate_of(ran) == "ask" and "not to `stage`: layers do not work here (see" in ran.stdout, ran
    assert ran.of("run_started")[0]["direct"] and [path.name for path in unfit.iterdir()] == ["kept.txt"]


@pytest.mark.parametrize("machine", ["landlock", "no sandbox"])
def test_without_layers_doctor_says_what_works_in_copies_and_what_they_take(tmp_path: Path, machine: str):
    home, work = Home(tmp_path, words_for(machine)), make_project(tmp_path / "project")
    (work / "large").write_bytes(bytes(3_000_000))
    said = home.run("doctor", cwd=work).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("units ")]
    assert "copies of this folder (" in line and "3." in line and " MB each" in line and "passes, tries" in line, said
    assert ("a stage" in line) == (machine == "landlock" and not why_no_landlock()), said


def test_without_a_sandbox_a_chosen_stage_is_refused_and_the_default_asks(tmp_path: Path):
    home, work = Home(tmp_path, words_for("no sandbox")), make_project(tmp_path / "project")
    line = refusal(run_in(home, work, "--gate", "stage"))
    assert "does not work here" in line and "there is no sandbox. Use --gate ask, edits or auto" in line, line
    ran = run_in(home, work)
    assert gate_of(ran) == "ask" and "there is no sandbox" in ran.stdout and changed_files(work) == [], ran


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--every", "1h"], "decides on its changes by itself"),
        (["--score", "echo 1"], "decides on its changes by itself"),
        (["--until", CHECK, "--tries", "2"], "a run with --tries decides"),
        (["--commit"], "--commit changes the repository while the run works"),
    ],
)
async def test_a_chosen_stage_is_refused_where_it_does_not_fit(place: StagedProject, options: list[str], why: str):
    git(place.project, "checkout", "-qb", "topic")
    ran = place.run([FIX_BOTH], "--gate", "stage", *options)
    line = refusal(ran)
    assert (
        line.startswith("--gate stage does not work here") and why in line and "Use --gate ask, edits or auto" in line
    ), line
    assert changed_files(place.project) == [] and place.stages() == []


@pytest.mark.parametrize("options", [["--commit"], ["--until", CHECK, "--tries", "2"]])
async def test_the_default_falls_back_where_a_stage_does_not_fit(place: StagedProject, options: list[str]):
    ran = place.run([FIX_BOTH], *options)
    assert gate_of(ran) == "ask" and "not to `stage`" in ran.stdout, ran
    assert changed_files(place.project) == [] and place.stages() == []


def test_fixing_findings_refuses_a_stage(home: Home, tmp_path: Path):
    run = make_search(home, tmp_path / "project", ["a.txt"])
    with ScriptedServer(then=DONE) as server:
        model = ("--model", "fake", "--api-base", server.base_url, "--tokens", "600k")
        argv = ("fix", run, "--until", "true", *model, "--headless", "--json")
        assert "--gate stage does not work here" in refusal(
            home.run(*argv, "--gate", "stage", cwd=tmp_path / "project")
        )
        ran = home.run(*argv, cwd=tmp_path / "project")
    assert gate_of(ran) == "ask", ran
    assert (tmp_path / "project/a.txt").read_text() == "bad\n"


async def test_a_mode_that_somebody_chose_stays(place: StagedProject):
    asked = place.run([FIX_BOTH], "--on-ask", "handoff")
    assert (asked.exit_code, gate_of(asked)) == (5, "ask") and changed_files(place.project) == [], asked
    place.home.config_file.parent.mkdir(parents=True)
    place.home.config_file.write_text('gate = "edits"\n')
    configured = place.run([FIX_BOTH], "--until", CHECK)
    assert (configured.exit_code, gate_of(configured)) == (0, "edits"), configured
    assert changed_files(place.project) == ["calc/core.py"] and place.stages() == []


async def test_a_resumed_run_keeps_its_mode(place: StagedProject):
    assert place.run([FIX_ADD], "--gate", "ask", "--steps", "2").exit_code in (0, 3)
    with ScriptedServer([FIX_BOTH], then=DONE) as server:
        argv = ("resume", "--headless", "--json", "--steps", "9", "--api-base", server.base_url)
        ran = place.home.run(*argv, place.home.journals()[-1].stem, "--hint", "more", cwd=place.project)
    assert place.stages() == [] and changed_files(place.project) == [], ran


@pytest.mark.parametrize("options", [["--confirm"], ["--confirm-with", f"{CHECK} && test ! -e ignored.log"]])
async def test_the_result_in_a_stage_is_confirmed_in_a_checkout(place: StagedProject, options: list[str]):
    ran = place.run([WRITE, FIX_BOTH], "--until", CHECK, *options)
    (confirmed,) = ran.of("confirmation_finished")
    assert (ran.exit_code, confirmed["result"]) == (5, "passed"), ran
    assert changed_files(place.project) == []
    done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 and changed_files(place.project) == ["calc/core.py", "made"], done


async def test_a_patch_in_a_folder_that_does_not_exist_is_refused_before_the_run(place: StagedProject):
    for wrong in ("missing/fix.patch", "."):
        line = refusal(place.run([FIX_BOTH], "--stage-patch", wrong))
        assert line == f"--stage-patch {wrong}: name a file in a folder that exists"
    assert place.home.journals() == []


async def test_a_job_in_a_container_applies_the_patch_as_the_guide_says(place: StagedProject):
    blocks = (ROOT / "docs/how-to/ci.md").read_text().split("```sh\n")[1:]
    (lines,) = [text for block in blocks if "\ngit apply" in (text := block.partition("```")[0])]
    (place.project / "Makefile").write_text(f"test:\n\t{CHECK}\n")
    git(place.project, "add", ".")
    git(place.project, "commit", "-qm", "make")
    for turns, changed in (([WRITE, FIX_BOTH], ["calc/core.py", "fix.patch", "made"]), ([], ["fix.patch"])):
        with ScriptedServer(turns, then=DONE) as server:
            env = {**place.home.env, "RUNDRY_MODEL": "fake", "RUNDRY_API_BASE": server.base_url}
            done = subprocess.run(["sh", "-ec", lines], cwd=place.project, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done
        assert changed_files(place.project) == changed
        (place.project / "fix.patch").unlink()
        git(place.project, "add", ".")
        git(place.project, "commit", "-q", "--allow-empty", "-m", "applied")
