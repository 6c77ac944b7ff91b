"""Guard files that decide whether the goal is met, because a check can be passed by changing it (docs/requirements.md
2.3.6).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from ..system.plain_files import read_plain
from ..workspace.files.file_glob import FileGlob
from ..workspace.files.quick_spec import QuickSpec
from .guarding.dependencies import Dependencies
from .guarding.depends import depends_on
from .predicates.required import required_commands

if TYPE_CHECKING:
    from ..protocol import Predicates

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
ALWAYS_READ = (".gitignore", ".env", ".env.*")
"""Files that matter for any check, because many tools read them."""
_ARTEFACTS = frozenset(
    [
        ".o",
        ".obj",
        ".d",
        ".lo",
        ".la",
        ".a",
        ".class",
        ".gcda",
        ".gcno",
        ".gcov",
        ".log",
        ".tmp",
        ".pid",
        ".exe",
        ".pdb",
        ".ilk",
        ".rlib",
        ".rmeta",
        ".swp",
        ".orig",
        ".rej",
        ".prof",
        ".out",
        ".trs",
        ".cover",
        ".coverage",
    ]
)
"""Endings of files that a build or an editor leaves next to tests. Their names decide nothing."""
_ARTEFACT_ENDINGS = tuple(_ARTEFACTS)
_BY_PRODUCT = re.compile(
    r"(^|/)(__pycache__|\.[\w]+_cache|\.hypothesis|\.coverage[\w.]*|htmlcov|[^/]+\.dir)(/|$)|(^|/)\.rundry-\w+\.tmp$"
)
_CODE = frozenset(
    [
        ".py",
        ".pyw",
        ".pyi",
        ".js",
        ".mjs",
        ".cjs",
        ".jsx",
        ".ts",
        ".mts",
        ".cts",
        ".tsx",
        ".rb",
        ".go",
        ".rs",
        ".php",
        ".java",
        ".kt",
        ".sh",
        ".bash",
        ".pl",
        ".lua",
        ".toml",
        ".ini",
        ".cfg",
        ".json",
        ".yml",
        ".yaml",
        ".snap",
        ".so",
    ]
)
_LARGEST = 16_000_000
"""Bytes of the largest file that is guarded for its content."""
NO_DEFAULTS = "none"
"""The value of `--guard` that switches the defaults off."""
_NOWHERE = Path("/nonexistent")
_BARE_NAMES = {"makefile", "gnumakefile", "justfile", "rakefile", "jenkinsfile", "dockerfile"}
"""Names of files that a task can mention although they look like words."""


class Guard:
    """The paths that decide a verdict. Globs as in a .gitignore: without a slash they match at any depth.

    Case is ignored, as on some file systems.
    """

    def __init__(
        self,
        names: Iterable[str] = (),
        *,
        depends: Dependencies | None = None,
        unless: Iterable[str] = (),
        asked: Iterable[str] = (),
        free: Sequence[FileGlob] = (),
        root: Path = _NOWHERE,
    ) -> None:
        """`names`: globs of files that decide by their names alone. `asked`: globs that the user named.

        `unless`: not guarded, except what was asked; `a/b.py` also stands for `x/a/b.py`. `free`: names do not count.
        """
        self.depends = depends or Dependencies()
        self._root, self._free = root, free
        self.files = frozenset(_normal(path) for path in self.depends.files)
        self._has_defaults = bool(names) or bool(self.files)
        self._is_anything = bool(asked) or self._has_defaults
        self._names = QuickSpec(name.casefold() for name in names)
        self._executed = QuickSpec(name.casefold() for name in sorted(self.depends.patterns))
        self._asked = QuickSpec(name.casefold() for name in asked)
        self._holding = [(QuickSpec([name.casefold()]), text.encode()) for name, text in sorted(self.depends.holding)]
        self._unless = tuple(f"/{_normal(name)}" for name in unless)

    def __bool__(self) -> bool:
        """Return whether the guard has any paths or patterns."""
        return self._is_anything

    @property
    def is_asked_only(self) -> bool:
        """Whether only what the user named is guarded."""
        return not self._has_defaults

    def matches(self, path: str) -> bool:
        """Return whether a change of this file, relative to the workspace, has to be approved in every mode."""
        normal = _normal(path)
        return self._asked.match_file(normal) or self._is_guarded(normal, path)

    def _is_guarded(self, normal: str, path: str) -> bool:
        if self._unless and f"/{normal}".endswith(self._unless):
            return False
        if self._decides(normal, path):
            return True
        return self._names.match_file(normal) and not any(glob.matches(path) for glob in self._free)

    def seals(self, path: str) -> bool:
        """Like `matches`, for a file found on the disk: build and cache files next to tests do not count."""
        normal = _normal(path)
        if self._asked.match_file(normal):
            return True
        is_new = self.depends.shadows.matches(path)
        if not is_new and (_is_artefact(normal) or _BY_PRODUCT.search(normal)):
            return normal in self.files
        return self._is_guarded(normal, path)

    def is_output(self, path: str) -> bool:
        """Return whether a check may create this new file: data below a test folder, not code or configuration."""
        normal = _normal(path)
        return (
            PurePosixPath(normal).suffix not in _CODE
            and not self._asked.match_file(normal)
            and (not self._decides(normal, path))
        )

    def _decides(self, normal: str, path: str) -> bool:
        if normal in self.files or self._executed.match_file(normal) or self.depends.shadows.matches(path):
            return True
        place, _, name = path.rpartition("/")
        folders, programs = self.depends.programs
        if name in programs and place in folders:
            return True
        return any(spec.match_file(normal) and self._holds(path, text) for spec, text in self._holding)

    def _holds(self, path: str, text: bytes) -> bool:
        try:
            return text in read_plain(self._root / path, _LARGEST)[:100_000]
        except OSError:
            return False


def default_guard(
    predicates: Predicates, task: str, root: Path | None = None, env: Mapping[str, str] | None = None
) -> Guard:
    """Return the guard of a run: tests, build and CI files, all that the check depends on, and `--guard`.

    Files that the task names are not guarded. With `root`, the workspace, scripts and imports are followed. A run
    without a check guards only what `--guard` names. `env`: the environment of the check.
    """
    return _guard(predicates, task, root, env or {}, [])


def guard_of_items(
    check: str,
    predicates: Predicates,
    task: str,
    globs: Sequence[str],
    root: Path,
    env: Mapping[str, str] | None = None,
) -> Guard:
    """Return the guard of a migration: like `default_guard`, without the files that it changes.

    Files that `globs` match may change even if their names are those of tests, but never a file that the check
    executes.
    """
    own_words = task.replace(check, " ")  # a check that the task names is not a file to be changed
    wanted = msgspec.structs.replace(predicates, until=[check])
    return _guard(wanted, own_words, root, env or {}, [FileGlob(glob, root) for glob in globs])


def _guard(
    predicates: Predicates, task: str, root: Path | None, env: Mapping[str, str], free: Sequence[FileGlob]
) -> Guard:
    asked = [glob for glob in predicates.guard if glob != NO_DEFAULTS]
    if NO_DEFAULTS in predicates.guard:
        return Guard(asked=asked)
    own = [script.rpartition(":")[0] for script in predicates.until_py]
    confirming = [predicates.confirm_with] if predicates.confirm_with is not None else []
    commands = [*predicates.until, *confirming, *required_commands(predicates.require)]
    depends = depends_on(commands, _inside(own, root), root or _NOWHERE, env)
    if predicates.schema is not None:
        depends.files.update(_inside([predicates.schema], root))
    names: list[str] = []
    if commands or predicates.until_py:
        names = [*TEST_FILES, *CONFIGURATION, *CI_FILES, *ALWAYS_READ]
    unless = _inside(named_files(task), root)
    return Guard(names, depends=depends, unless=unless, asked=asked, free=free, root=root or _NOWHERE)


def named_files(task: str) -> list[str]:
    """Return the files that a task names: words with a dot or a slash, and names like `Makefile`. No folders."""
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
    """Return paths relative to the workspace, including the files behind links; paths outside need no guard."""
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


def _is_artefact(normal: str) -> bool:
    # most paths fail the first question, which is ten times faster
    return normal.endswith(_ARTEFACT_ENDINGS) and PurePosixPath(normal).suffix in _ARTEFACTS


def _normal(path: str) -> str:
    return os.path.normpath(path).replace(os.sep, "/").lstrip("/").casefold()
