"""Read tasks, judge a changed program by the original tests, and keep rows of results in a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

CHECK = [sys.executable, "-m", "pytest", "-q", "-x", "--timeout", "10", "-p", "no:cacheprovider"]


class Task:
    """A folder with a program, its tests (`python -m pytest`) and their data.

    The folder `gcd` holds the program `gcd.py` and the tests `test_gcd.py`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, f"{folder.name}.py"
        self.program = (folder / self.name).read_text()
        self.test = (folder / f"test_{self.name}").read_text()

    def check(self, program: str) -> tuple[bool, int, str]:
        """Return whether the original tests pass, how many passed before the first failure, and the output."""
        with tempfile.TemporaryDirectory(prefix="repair-") as place:
            copy = Path(place) / self.folder.name
            self.copy_to(copy)
            (copy / self.name).write_text(program)
            process = subprocess.Popen(
                CHECK,
                cwd=copy,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                env={"PATH": os.defpath, "HOME": place, "PYTHONDONTWRITEBYTECODE": "1"},
            )
            try:
                output, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                output = "the tests did not end within 60 s"
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        passed = re.search(r"(\d+) passed", output)
        return process.returncode == 0, int(passed[1]) if passed else 0, output

    def copy_to(self, copy: Path) -> None:
        """Copy the folder so that the copy can be changed, whatever the permissions of the original are."""
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
        for path in (copy, *copy.rglob("*")):
            path.chmod(path.stat().st_mode | stat.S_IWUSR)

    def other_edits(self, copy: Path) -> list[str]:
        """Return the files of a copy, without the program, that were changed, removed or added.

        Hidden files and bytecode are not looked at when they are new: tools keep their notes in them.
        """
        before, after = _contents(self.folder), _contents(copy)
        changed = [path for path in before if after.get(path) != before[path]]
        added = [path for path in after if path not in before and not _is_note(path)]
        return sorted({*changed, *added} - {self.name})


def tasks_in(folder: Path, only: Sequence[str] = ()) -> list[Task]:
    """Return the tasks of a folder, by name. Raises FileNotFoundError if there are none."""
    found = [Task(one) for one in sorted(folder.iterdir()) if (one / f"{one.name}.py").is_file()]
    missing = set(only) - {task.folder.name for task in found}
    if missing or not found:
        raise FileNotFoundError(f"no task {', '.join(sorted(missing)) or 'at all'} in {folder}")
    return [task for task in found if not only or task.folder.name in only]


def _contents(folder: Path) -> dict[str, bytes]:
    skipped = {"__pycache__", ".git", ".pytest_cache"}
    files = (path for path in folder.rglob("*") if path.is_file())
    relative = {str(path.relative_to(folder)): path for path in files}
    return {name: path.read_bytes() for name, path in relative.items() if not skipped & set(Path(name).parts)}


def _is_note(path: str) -> bool:
    return any(part.startswith(".") for part in Path(path).parts)


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of earlier runs; none if the file does not exist."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append_row(file: Path, row: dict[str, Any]) -> None:
    """Write a row as soon as it is known, so that a run that is stopped loses nothing."""
    with file.open("a") as out:
        out.write(json.dumps(row) + "\n")
