"""Run a real check with planted tests, before and after a change, as the judge does."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rundry.agent.host.terminal_text import plain
from rundry.agent.verdict.checks.run_check import OUTPUT_CHARACTERS, CheckResult, head_and_tail
from rundry.agent.verdict.counting.count_tests import count_tests, failing_of
from rundry.agent.verdict.plants.plant import (
    PlantPlan,
    command_with_plant,
    env_with_plant,
    plant,
    plant_words,
    plants_for,
    proven,
    suspicion,
)

PYTEST = f"{sys.executable} -m pytest -p no:cacheprovider"
UNITTEST = f"{sys.executable} -m unittest"


def wrote(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, newline="")
    return root


def checked(command: str, root: Path, env: dict[str, str] | None = None) -> CheckResult:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    given = {**outer, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", command],
        cwd=root,
        env=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=200,
        check=False,
    )
    whole = plain(done.stdout.decode("utf-8", "replace"))
    counted = count_tests(whole)
    return CheckResult(
        command=command,
        passed=done.returncode == 0,
        exit_code=done.returncode,
        timed_out=False,
        failing=failing_of(counted),
        counted=counted,
        output=head_and_tail(whole, OUTPUT_CHARACTERS),
        seconds=time.monotonic() - begun,
        error=None,
    )


def planted_copy(
    plan: PlantPlan, root: Path, *, only: bool, env: dict[str, str] | None = None
) -> tuple[PlantPlan, CheckResult]:
    """Run the check with the plant in a copy. Return what was planted, and the result."""
    view = root.with_name(f"{root.name}-view")
    shutil.copytree(root, view, symlinks=True)
    try:
        written = plant(plan, view)
        assert written is not None
        command = command_with_plant(written, only=only)
        return written, checked(command, view, env_with_plant(written, env or {}, only=only))
    finally:
        shutil.rmtree(view)


def proven_plan(check: str, root: Path, seed: str = "7") -> PlantPlan | None:
    """Return the plan that the run before the first call leaves."""
    first = checked(check, root)
    plan = plants_for(check, root, first.counted, seed)
    if plan is None:
        return None
    written, tried = planted_copy(plan, root, only=True)
    return proven(written, first.counted, tried)


def judged(check: str, start: Path, change: dict[str, str], seed: str = "7") -> tuple[str | None, str]:
    """Plant at the start, change files so that the check passes, and plant again.

    Return why it is suspect, and the words for people.
    """
    plan = proven_plan(check, start, seed)
    assert plan is not None, "nothing could be planted"
    wrote(start, change)
    green = checked(check, start)
    written, now = planted_copy(plan, start, only=False)
    assert green.passed, green.output
    return suspicion(written, green.counted, now), plant_words(written, now)
