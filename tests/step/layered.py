"""What the tests of runs with layers share."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import call, say


@contextlib.contextmanager
def three_folders(parent: Path) -> Iterator[Path]:
    """A folder with a workspace of two files, a folder outside of it, and one for journals."""
    with tempfile.TemporaryDirectory(dir=parent, prefix=".test-") as folder:
        for name in ("work", "outside", "runs"):
            (Path(folder) / name).mkdir(mode=0o700)
        (Path(folder) / "work/kept.txt").write_text("one\n")
        (Path(folder) / "work/gone.txt").write_text("two\n")
        yield Path(folder)


def with_layers(place: Path, *commands: str, runs: Path | None = None, **options) -> Driven:
    """A run that gives these commands, each in an answer of its own, and then says that it is done."""
    turns = [call("run_command", command=command) for command in commands]
    return Driven(runs or place / "runs", place / "work", ScriptedModel([*turns, say("done")]), **options)


def events(run: Driven, kind: str) -> list[dict]:
    return [one for one in run.events if one["type"] == kind]
