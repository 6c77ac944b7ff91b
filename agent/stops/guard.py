"""A check can be passed by changing the check: which files decide whether the goal is met (REQUIREMENTS 2.3.6)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from ..protocol import Predicates
from ..workspace import FileGlob
from .executed import executed_files

TEST_FILES = ("tests/**", "**/tests/**", "test_*.*", "*_test.*", "*.test.*", "*.spec.*", "conftest.py")
CONFIGURATION = (
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    ".pytest.ini",
    "package.json",
    "Makefile",
    "GNUmakefile",
    "Cargo.toml",
    "go.mod",
    "noxfile.py",
    "jest.config.*",
    "vitest.config.*",
    ".mocharc.*",
)
CI_FILES = (
    ".github/workflows/**",
    ".github/actions/**",
    ".gitlab-ci.yml",
    ".circleci/**",
    ".ci/**",
    ".buildkite/**",
    ".travis.yml",
    ".drone.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
)
_NO_DEFAULTS = "none"
_NOWHERE = Path("/nonexistent")
_BARE_NAMES = {"makefile", "gnumakefile", "justfile", "rakefile", "jenkinsfile", "dockerfile"}
"""Files that a task can name although their names look like words."""


class Guard:
    """Globs as in a .gitignore: without a slash they hold at any depth. Case is ignored, as some file systems do."""

    def __init__(self, patterns: Iterable[str], files: Iterable[str] = (), unless: Iterable[str] = ()) -> None:
        """`files`: paths, guarded as they are. `unless`: not guarded; `a/b.py` also stands for `x/a/b.py`."""
        from pathspec import GitIgnoreSpec

        self.patterns = tuple(dict.fromkeys(patterns))
        self.files = frozenset(_normal(path) for path in files)
        self._spec = GitIgnoreSpec.from_lines(pattern.casefold() for pattern in self.patterns)
        self._unless = tuple(f"/{_normal(name)}" for name in unless)

    def matches(self, path: str) -> bool:
        """A change of this file, relative to the workspace, is asked about in every mode."""
        normal = _normal(path)
        if any(f"/{normal}".endswith(name) for name in self._unless):
            return False
        return normal in self.files or self._spec.match_file(normal)


def default_guard(predicates: Predicates, task: str, root: Path | None = None) -> Guard:
    """What guards a run: tests, build and CI files, what the check executes, and `--guard`; not what the task names.

    With `root`, the workspace, the scripts of build files and shell scripts are followed. A run without a check has
    nothing to guard but what `--guard` names.
    """
    asked = [glob for glob in predicates.guard if glob != _NO_DEFAULTS]
    if _NO_DEFAULTS in predicates.guard:
        return Guard(asked)
    own = [script.rpartition(":")[0] for script in predicates.until_py]
    if predicates.schema is not None:
        own.append(predicates.schema)
    files = _inside(own, root)
    patterns: list[str] = []
    if predicates.until or predicates.until_py:
        patterns += [*TEST_FILES, *CONFIGURATION, *CI_FILES]
    for command in predicates.until:
        executed = sorted(executed_files(command, root or _NOWHERE))
        patterns += [path for path in executed if path.startswith("**/")]
        files += [path for path in executed if not path.startswith("**/")]
    found = Guard(patterns, files, unless=_inside(named_files(task), root))
    # What `--guard` names is guarded although the task names it too.
    return _Both(found, Guard(asked)) if asked else found


def guard_of_items(check: str, predicates: Predicates, task: str, globs: Sequence[str], root: Path) -> Guard:
    """What guards a search that brings files through a check: as `default_guard`, but for the files it is about.

    Those that `globs` name may change although their names are those of tests, but never one that the check executes.
    """
    own_words = task.replace(check, " ")  # a check that is named in the task is no file to be changed
    whole = default_guard(msgspec.structs.replace(predicates, until=[check]), own_words, root)
    names = default_guard(msgspec.structs.replace(predicates, until=["true"]), own_words, root)
    asked = [glob for glob in predicates.guard if glob != _NO_DEFAULTS]
    return _ButFor(whole, names, Guard(asked), [FileGlob(glob, root) for glob in globs])


class _ButFor(Guard):
    """A guard that lets files change which it knows by their names alone."""

    def __init__(self, whole: Guard, names: Guard, asked: Guard, free: Sequence[FileGlob]) -> None:
        """`names`: what it would guard if the check executed nothing. `asked`: what `--guard` named."""
        super().__init__(whole.patterns, whole.files)
        self._whole, self._asked, self._free = whole, asked, free
        self._executed = Guard([p for p in whole.patterns if p not in names.patterns], whole.files - names.files)

    def matches(self, path: str) -> bool:
        if not self._whole.matches(path):
            return False
        if self._executed.matches(path) or self._asked.matches(path):
            return True
        return not any(glob.matches(path) for glob in self._free)


class _Both(Guard):
    """Two guards, one of which knows exceptions."""

    def __init__(self, first: Guard, second: Guard) -> None:
        super().__init__([*first.patterns, *second.patterns], first.files | second.files)
        self._parts = (first, second)

    def matches(self, path: str) -> bool:
        return any(part.matches(path) for part in self._parts)


def named_files(task: str) -> list[str]:
    """The files that a task names: words with a dot or a slash in them, and `Makefile` with its like. No folders."""
    found: list[str] = []
    for word in re.split(r"[\s`'\"<>()\[\]{},;|*?]+", task):
        bare = re.sub(r"[.:!]+$", "", re.sub(r":\d+(:\d+)?$", "", word))
        last = bare.rpartition("/")[2]
        is_file = re.fullmatch(r"\.?[\w@+-][\w.@+-]*", last) and (
            "." in last.strip(".") or "/" in bare or last.startswith(".")
        )
        if "://" not in bare and (is_file or bare.casefold() in _BARE_NAMES):
            found.append(bare)
    return found


def _inside(paths: Iterable[str], root: Path | None) -> list[str]:
    """Relative to the workspace, and the files behind links; what lies outside of it needs no guard."""
    found: list[str] = []
    for path in paths:
        if root is None:
            found.append(_normal(path))
            continue
        for one in (os.path.normpath(root / path), os.path.realpath(root / path)):
            relative = os.path.relpath(one, os.path.realpath(root))
            if not relative.startswith(".."):
                found.append(PurePosixPath(relative).as_posix())
    return found


def _normal(path: str) -> str:
    return os.path.normpath(path).replace(os.sep, "/").lstrip("/").casefold()
