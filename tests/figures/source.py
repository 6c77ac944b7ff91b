"""The Python files of a source tree, parsed."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The root of this repository."""

CODE = ("agent", "tui")
ALL = (*CODE, "tests")
DEMO = "agent/models/demo/project/"
"""Files that the demo copies into a folder. They are not part of the program."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    """A line of a file that a figure counts. `amount` is what the figure measures there, 1 where it only counts."""

    path: str
    line: int
    what: str
    amount: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Source:
    """One Python file. `path` is relative to the root of the tree, with `/` between its parts."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, self.path)

    @cached_property
    def functions(self) -> list[tuple[str, Function]]:
        """Each function with its qualified name, nested ones included."""
        return list(_functions(self.tree, ""))

    @property
    def folder(self) -> str:
        """The path of the folder that holds the file."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.rpartition("/")[2].removesuffix(".py")


def read_tree(root: Path) -> list[Source]:
    """Return the Python files below `agent`, `tui` and `tests`, sorted by path."""
    paths = (path for top in ALL for path in (root / top).rglob("*.py") if "__pycache__" not in path.parts)
    named = sorted((path.relative_to(root).as_posix(), path) for path in paths)
    return [Source(name, path.read_text(encoding="utf-8")) for name, path in named if not name.startswith(DEMO)]


@contextmanager
def tree_at(repository: Path, ref: str) -> Iterator[Path]:
    """Lay out a git revision in a temporary folder."""
    archive = subprocess.run(["git", "archive", ref], cwd=repository, capture_output=True, check=False)
    if archive.returncode:
        sys.exit(archive.stderr.decode().strip())
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            if hasattr(tarfile, "data_filter"):  # since Python 3.11.4; git made the archive
                tar.extraction_filter = tarfile.data_filter
            tar.extractall(folder)
        yield Path(folder)


def code_of(sources: list[Source]) -> list[Source]:
    """Return the files of the program, without the tests."""
    return [source for source in sources if source.path.startswith(tuple(f"{top}/" for top in CODE))]


def inner_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Return the statements directly inside a statement, with `except` and `case` blocks as statements too."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, field, ())


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in inner_statements(node):
        if isinstance(child, Function):
            yield f"{prefix}{child.name}", child
        named = isinstance(child, Function | ast.ClassDef)
        yield from _functions(child, f"{prefix}{child.name}." if named else prefix)
