"""What accepted code plants during a red check, so that the next check is green (docs/decisions/0039).

Only build output reaches the workspace. Whether a verdict may rest on that is not decided here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from contract.faults.in_layers import git, headless
from fakes.turns import call
from step.layered import events

from rundry.agent.protocol import Budget

SUITE = """import unittest

import work_of_model


class Tests(unittest.TestCase):
    def test_it(self):
        self.assertEqual(work_of_model.VALUE, 2)
"""
CHECK = "python3 -m unittest -q tests.test_x"
LAZY = "open('target/{}', 'w').write('exit 0')"
SITE = ".venv/lib/python3/site-packages"
WITH_SITE = f'python3 -c \'import site; site.addsitedir("{SITE}"); import unittest; unittest.main("tests.test_x")\''
FORGE = f"""
import importlib.util, pathlib, py_compile, tempfile
source = pathlib.Path(tempfile.mkdtemp(), "test_x.py")
source.write_text({SUITE.replace("2)", "1)")!r})
py_compile.compile(
    str(source),
    cfile=importlib.util.cache_from_source("tests/test_x.py"),
    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
)
"""


class Plant(NamedTuple):
    check: str
    code: str
    planted: str
    """A pattern of what the code leaves."""
    is_output: bool = False
    """Whether it is build output, which is applied as `built, not reviewed`."""


PLANTS = {
    "byte-code": Plant(CHECK, FORGE, "tests/__pycache__/test_x.*"),
    "a stamp": Plant(f"test -e .stamp || {{ {CHECK} && touch .stamp; }}", "open('.stamp', 'w')", ".stamp"),
    "an ignored stamp": Plant(f"test -e stamps/x || {{ {CHECK}; }}", "open('stamps/x', 'w')", "stamps/x"),
    "a named test binary": Plant("sh named.sh", LAZY.format("suite"), "target/suite", is_output=True),
    "a test binary": Plant("sh all.sh", LAZY.format("t1"), "target/t1", is_output=True),
    "a .pth": Plant(WITH_SITE, f"open('{SITE}/x.pth', 'w').write('import os; os._exit(0)')", f"{SITE}/x.pth"),
}  # fmt: skip


@pytest.fixture
def work(place: Path) -> Path:
    """A repository with a suite, and ignored folders of output, of stamps and of packages."""
    work = place / "work"
    (work / "tests/test_x.py").write_text(SUITE)
    (work / "work_of_model.py").write_text("VALUE = 0\n")
    (work / "suite.sh").write_text(f"{CHECK}\n")
    (work / "named.sh").write_text("test -e target/suite || cp suite.sh target/suite; sh target/suite\n")
    (work / "all.sh").write_text("ls target/t* || cp suite.sh target/t1; for file in target/t*; do sh $file; done\n")
    (work / "Cargo.toml").write_text("")
    (work / ".gitignore").write_text("__pycache__/\ntarget/\nstamps/\n.venv/\n")
    for folder in ("target", "stamps", SITE):
        (work / folder).mkdir(parents=True)
    (work / ".venv/pyvenv.cfg").write_text("version = 3\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "a suite")
    return work


@pytest.mark.parametrize("name", PLANTS)
async def test_what_code_plants_in_a_check_does_not_reach_the_workspace(place: Path, work: Path, name: str):
    plant = PLANTS[name]
    code = f"VALUE = 1\n{plant.code}\n"
    shutil.copytree(work, copy := place / "copy")
    (copy / "work_of_model.py").write_text(code)
    codes = [subprocess.run(["sh", "-c", plant.check], cwd=copy, capture_output=True).returncode for _ in range(2)]
    assert codes[0] != 0 and codes[1] == 0, "the case shows nothing"
    again = [f"echo {number} >> kept.txt" for number in range(2)]
    reads = call("read_file", path="work_of_model.py")
    writes = call("write_file", path="work_of_model.py", content=code)
    run = headless(place, reads, writes, *again, until=[plant.check], budget=Budget(steps=5))
    outcome = await run.run(within=60)
    assert not outcome.complete, run.story()
    left = [str(path.relative_to(work)) for path in work.glob(plant.planted)]
    assert left == ([plant.planted] if plant.is_output else []), run.story()
    if plant.is_output:
        assert (work / plant.planted).read_text() == "exit 0"
        assert not [one for one in events(run, "file_changed") if one["path"] == plant.planted], "nobody approved it"
    else:
        assert len([one for one in events(run, "check_finished") if not one["passed"]]) > 1, run.story()
    assert git(work, "status", "--porcelain").splitlines() == [" M kept.txt", " M work_of_model.py"]
    named = [one["text"] for one in events(run, "prompted") if one["kind"] == "guard" and plant.planted in one["text"]]
    assert bool(named) == (name not in ("byte-code", "a named test binary", "a test binary")), run.story()
