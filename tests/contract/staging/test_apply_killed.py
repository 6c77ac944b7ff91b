"""`rundry apply` is killed at each of its steps: the workspace has all that was accepted or nothing, never a part."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fakes.ended import is_over
from fakes.paused_command import PausedCommand
from fakes.project import CHECK, FIX_BOTH, changed_files, git, read
from fakes.rundry import RUNDRY, Running
from fakes.staged_project import StagedProject
from fakes.terminal import Terminal
from fakes.turns import call
from sampling import sampled

from rundry.agent.layers.unit_record import read_record

MANY = 6_000
MAKE_MANY = call(
    "run_command",
    command=f"python3 -c \"import os; os.mkdir('d'); [open(f'd/{{n}}', 'w').write('x' * 200) for n in range({MANY})]\"",
)
MAKE = call("run_command", command="echo x > made; rm NOTES.md; mkdir -p sub; ln -s ../made sub/link")
CHANGED = ["NOTES.md", "calc/core.py", "made", "sub/link"]
POINTS = ["content: kept", "event: before it", "event: committed", "transaction: before its commit", "log: forced out"]
POINTS += ["effects: accepted", "order: given", "effects: applied"]
FIRST, LAST = 0, -1


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def let_the_applier_end(place: StagedProject) -> None:
    """Wait for the process that outlives its runner."""
    for path in place.home.runs.glob("layers/*/lock"):
        lock = os.open(path, os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.close(lock)


def start_apply(place: StagedProject, *more: str) -> Running:
    return place.home.start("apply", "--digest", place.digest(), *more, cwd=place.project)


def kill_with_appliers(process: int) -> None:
    """Kill the program and all that it started, at one moment."""
    tree = psutil.Process(process)
    for one in [tree, *tree.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def count(place: StagedProject) -> int:
    folder = place.project / "d"
    return len(os.listdir(folder)) if folder.is_dir() else 0


@pytest.mark.parametrize(("point", "which"), sampled([(point, n) for point in POINTS for n in (FIRST, LAST)], 3))
async def test_a_kill_leaves_all_or_nothing_and_the_next_apply_finishes(place: StagedProject, point: str, which: int):
    log = place.home.root / "points"
    assert place.run([MAKE, FIX_BOTH], "--until", CHECK).exit_code == 5
    counting = {"RUNDRY_CRASH_AT": "0", "RUNDRY_CRASH_LOG": str(log)}
    assert place.apply("--digest", place.digest(), env=counting).exit_code == 0
    assert changed_files(place.project) == CHANGED
    git(place.project, "checkout", "-q", ".")
    git(place.project, "clean", "-qfd")
    assert place.run([MAKE, FIX_BOTH], "--until", CHECK).exit_code == 5
    places = [number for number, name in enumerate(log.read_text().splitlines(), 1) if name == point]
    digest = place.digest()
    killed = place.apply("--digest", digest, env={"RUNDRY_CRASH_AT": str(places[which])})
    assert killed.exit_code == -signal.SIGKILL, killed
    let_the_applier_end(place)
    now = changed_files(place.project)
    assert now in ([], CHANGED), now
    done = place.apply("--digest", digest) if not now and place.stages() else place.apply()
    if place.stages():  # what was accepted before the order was stored is shown again
        done = place.apply("--digest", place.digest())
    assert done.exit_code == 0 or "nothing is staged" in done.stderr, done
    assert changed_files(place.project) == CHANGED and place.stages() == []
    waiting = place.home.run("handoffs", "--json", cwd=place.project)
    assert '"p_x' not in waiting.stdout, waiting


@pytest.mark.parametrize("who", ["runner", "both"])
async def test_a_kill_in_the_middle_of_the_apply_is_finished(place: StagedProject, who: str):
    assert place.run([read("calc/core.py"), MAKE_MANY]).exit_code == 5
    with start_apply(place) as run:
        wait_until(lambda: count(place) > 20, "nothing is applied")
        if who == "runner":
            run.signal(signal.SIGKILL)
        else:
            kill_with_appliers(run.pid)
        run.finish()
    if who == "runner":
        let_the_applier_end(place)
        assert count(place) == MANY
    done = place.apply()
    assert done.exit_code == 0 and f"({MANY + 1:,} files) was applied" in done.stdout.replace("6001", "6,001"), done
    assert count(place) == MANY and place.stages() == []


async def test_ctrl_c_in_the_middle_of_the_apply_ends_it_whole(place: StagedProject):
    assert place.run([read("calc/core.py"), MAKE_MANY]).exit_code == 5
    with start_apply(place) as run:
        wait_until(lambda: count(place) > 20, "nothing is applied")
        run.signal(signal.SIGINT)
        ended = run.finish()
    assert ended.exit_code == 130 and "Interrupted" in ended.stderr, ended
    assert count(place) == MANY
    done = place.apply()
    assert done.exit_code == 0 and place.stages() == [], done


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
async def test_a_check_that_was_cut_off_runs_again(place: StagedProject, how: signal.Signals):
    held = PausedCommand()
    check = f"if test -e hold; then {held.line}; fi; {CHECK}"
    assert place.run([FIX_BOTH], "--until", check).exit_code == 5
    (place.project / "hold").touch()
    with start_apply(place) as run:
        held.wait()
        assert "hold" in changed_files(place.project) and "calc/core.py" in changed_files(place.project)
        run.signal(how)
        run.finish()
    wait_until(lambda: not _runs(held), "the check outlives rundry")
    (place.project / "hold").unlink()
    done = place.apply()
    assert done.exit_code == 0 and "check passed" in done.stdout, done
    assert changed_files(place.project) == ["calc/core.py"] and place.stages() == []


def _runs(held: PausedCommand) -> bool:
    with suppress(AssertionError):
        held.wait(0.0)
        return True
    return False


@pytest.mark.parametrize("how", ["kill", "hang up"])
async def test_what_is_on_the_disk_outlasts_a_review_that_was_cut_off(place: StagedProject, how: str):
    assert place.run([FIX_BOTH]).exit_code == 5
    with Terminal([str(RUNDRY), "apply", "--plain"], cwd=place.project, env=place.home.env) as terminal:
        terminal.wait_for("stay staged")
        (folder,) = place.stages()
        record = read_record(folder)
        assert record is not None and not record.boot, "a restart of the machine would lose it now"
        if how == "kill":
            terminal.signal(signal.SIGKILL)
            terminal.wait_for_exit()
        else:
            terminal.hang_up()
            wait_until(lambda: is_over(terminal.pid), "it outlives its terminal")
    assert changed_files(place.project) == []
    assert place.apply("--digest", place.digest()).exit_code == 0
    assert changed_files(place.project) == ["calc/core.py"]


async def test_a_stage_that_is_dropped_is_never_shown_in_part(place: StagedProject):
    assert place.run([read("calc/core.py"), MAKE_MANY]).exit_code == 5
    (folder,) = place.stages()
    before = _files(folder)
    with place.home.start("apply", "--drop", cwd=place.project) as run:
        wait_until(lambda: _files(folder) < before - 20, "nothing is removed")
        run.signal(signal.SIGKILL)
        run.finish()
    done = place.apply()
    assert done.exit_code == 2 and "nothing is staged" in done.stderr, done
    assert changed_files(place.project) == []


def _files(folder: Path) -> int:
    try:
        return sum(len(names) for _, _, names in os.walk(folder))
    except OSError:
        return 0
