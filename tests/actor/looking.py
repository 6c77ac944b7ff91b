"""All that a user has in a repository, cell by cell: files, index, refs, stash, reflogs, operations and settings."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

STATE = (
    *("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD"),
    *("REBASE_HEAD", "ORIG_HEAD", "rebase-apply", "rebase-merge", "sequencer"),
)
"""Files and folders of an operation."""
SETTINGS = ("config", "hooks", "info")
_OWN = ".rundry-"
"""How names of rundry's temporary files begin."""


class Cell(NamedTuple):
    """One thing that a user has."""

    kind: str
    """`file`, `index`, `flag` (of an entry of the index), `ref`, `head`, `stash`, `state`, `setting` or `log`."""
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


Value = tuple[str, ...]
"""What a cell has. Of a file: `file`, the permission to run it, and the digest; of a link: `link`, and the digest."""


@dataclass
class Look:
    """The workspace at one moment."""

    at: float
    cells: dict[Cell, Value]
    aside: set[str] = field(default_factory=set)
    """Digests of what lies in temporary files of rundry: a write is under way, or was cut off."""
    locks: list[str] = field(default_factory=list)


class Looker:
    """Looks at one repository, and remembers each content that was in a file."""

    def __init__(self, project: Path) -> None:
        self.project, self.contents = project, dict[str, bytes]()
        self._blobs = dict[str, bytes]()

    def look(self) -> Look:
        found = Look(time.time(), {})
        for top, folders, names in os.walk(self.project):
            here = Path(top)
            if here == self.project:
                folders.remove(".git")
            for name in (*names, *(one for one in folders if (here / one).is_symlink())):
                value = self._of_file(here / name)
                if name.startswith(_OWN):
                    found.aside.add(value[-1])
                else:
                    found.cells[Cell("file", str((here / name).relative_to(self.project)))] = value
        self._add_git(found)
        return found

    def blob(self, name: str) -> bytes:
        """Return the content of a blob of git."""
        if name not in self._blobs:
            self._blobs[name] = self.git("cat-file", "blob", name)
        return self._blobs[name]

    def git(self, *words: str) -> bytes:
        """Ask git, without changing anything. Raises CalledProcessError."""
        env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
        return subprocess.run(["git", *words], cwd=self.project, env=env, capture_output=True, check=True).stdout

    def _of_file(self, path: Path) -> Value:
        if path.is_symlink():
            return ("link", self._keep(os.fsencode(path.readlink())))
        return ("file", "x" if path.stat().st_mode & 0o100 else "-", self._keep(path.read_bytes()))

    def _keep(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.contents[digest] = data
        return digest

    def _add_git(self, found: Look) -> None:
        folder, cells = self.project / ".git", found.cells
        for line in self.git("ls-files", "--stage", "-v", "-z").split(b"\0")[:-1]:
            facts, _, path = line.partition(b"\t")
            tag, mode, name, stage = facts.decode().split(" ")
            cell = Cell("index", os.fsdecode(path))
            cells[cell] = (*cells.get(cell, ()), stage, mode, name)
            if tag not in "HM":
                cells[Cell("flag", cell.name)] = (tag,)
        packed = folder / "packed-refs"
        for line in packed.read_text().splitlines() if packed.exists() else ():
            if line[0] not in "#^":
                name, _, ref = line.partition(" ")
                cells[Cell("ref", ref)] = (name,)
        for path in _files_of(folder / "refs"):
            cells[Cell("ref", str(path.relative_to(folder)))] = (path.read_text().strip(),)
        cells.pop(Cell("ref", "refs/stash"), None)
        cells[Cell("head", "")] = ((folder / "HEAD").read_text().strip(),)
        for path in _files_of(folder / "logs"):
            lines = path.read_text().splitlines()
            if path.name == "stash":
                cells[Cell("stash", "")] = tuple(line.split(" ")[1] for line in lines)
            else:
                cells[Cell("log", str(path.relative_to(folder / "logs")))] = tuple(lines)
        for kind, names in (("state", STATE), ("setting", SETTINGS)):
            for name in names:
                for path in _files_of(folder / name):
                    cells[Cell(kind, str(path.relative_to(folder)))] = (self._keep(path.read_bytes()),)
        found.locks = [str(path.relative_to(folder)) for path in folder.rglob("*.lock")]


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.is_file() and one.suffix != ".lock")
    return [path] if path.exists() else []
