"""Find what decides a check besides the code under test: what it runs, imports, is configured by, and compares with."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ...host.files.git_patterns import git_spec
from ...shell.parse_words import UNKNOWN
from ...shell.program_names import READERS
from ..checks.executed_files import Executed, Started, executed
from ..checks.helper_names import is_helper, is_test_helper
from ..checks.script_imports import imports_of, script_text
from ..checks.tool_files import CheckTool, names_in_scripts, rows_of_tools
from ..preloaded import preloaded
from .compiled_tests import TestProgram, programs_of_tests
from .source_names import has_test_word, is_markup, is_source, is_test_folder, is_test_name

if TYPE_CHECKING:
    from ..judge.start_files import StartFiles

_MOST = 600
"""Most scripts and tests whose imports are read."""
_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua", ".tcl", ".R", ".exs")
_RUN = "the check runs it"
_PART = "part of what the check runs"
_GIVEN = "given to a test runner"
_SETTING = "a setting of what the check starts"
_DATA = "data that the check compares with"
_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
_RUNNERS = frozenset(
    [
        *(
            "pytest",
            "py.test",
            "unittest",
            "nose2",
            "behave",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "tap",
            "uvu",
            "jasmine",
        ),
        *(
            "qunit",
            "node",
            "deno",
            "bun",
            "bats",
            "rspec",
            "phpunit",
            "pest",
            "prove",
            "busted",
            "cucumber",
            "minitest",
        ),
        *("kyua", "shellspec", "lit", "roundup", "tape"),
    ]
)
"""Programs that run the tests that they are given."""
_RUNS_ALL = frozenset(
    ["mocha", "ava", "tap", "node", "bats", "prove", "behave", "tape", "roundup", "lit", "kyua", "jasmine"]
)
"""Runners that run each file of a folder, whatever its name."""
_NEEDS_TEST = {"node": ("--test",), "deno": ("test",), "bun": ("test",)}
"""Programs that are runners only with one of these words."""
_SOURCE_FOLDERS = frozenset(
    [
        "src",
        "lib",
        "libs",
        "app",
        "apps",
        "source",
        "sources",
        "pkg",
        "packages",
        "internal",
        "cmd",
        "crates",
        "modules",
    ]
)
_OF_FILES = frozenset(["-e", "-f", "-s", "-r", "-x", "-L", "-h"])
"""Operators of `test` after which the name of a file stands."""
_TESTED = re.compile(r"(?:^|[\s;&|(])\[{1,2}\s+(?:!\s+)?-[efsrxLh]\s+([\w@./+-]+)\s")
"""The file in `[ -f FILE ]`, which is not a command for the shell's grammar."""
_COMPARERS = frozenset(["diff", "cmp", "comm", "colordiff", "wdiff"])
_OTHER_LANGUAGES = frozenset(
    [
        *("runghc", "runhaskell", "ocaml", "julia", "racket", "guile", "sbcl", "elixir", "escript", "swift", "expect"),
        *("octave", "crystal", "nim", "scala", "kotlin", "dart", "bb", "clojure", "tclsh", "gleam", "v", "odin", "io"),
    ]
)
"""Programs that run the source that they are given, besides the interpreters of `executed_files.py`."""
_JUDGES = re.compile(
    r"(^|[_\W])(checks?|checker|checking|verif\w*|validat\w*|judg\w*|assert\w*|oracle|scor(e|er|ing)|grad(e|er|ing)"
    r"|harness|suite|smoke|accept\w*|regress\w*|audit\w*|bench\w*|measur\w*|compar\w*|limits?|thresholds?|cases?"
    r"|answers?|references?|helpers?|run_?all)(_|\W|\d|$)|^all(_|\W|\d|$)",
    re.IGNORECASE,
)
"""Names of programs and modules that usually belong to a check."""
_DATA_OF_TESTS = re.compile(r"(^|[_\W])(limits?|thresholds?|cases?|answers?|oracle)(_|\W|\d|$)", re.IGNORECASE)
"""Names of modules next to a test that have what it compares with."""
_NAMED_DATA = re.compile(r"""["'`]([\w./-]+\.\w+)["'`]""")
_REFERENCES = re.compile(
    r"(^|[/_.-])(references?|refs?|want(ed)?|gold|truth|answers?|cases?|corpus|out|output|correct)[/_.-]", re.I
)
"""Parts of names of files with what a test compares with."""
_COMPILERS = re.compile(r"([\w-]+-)?(cc|gcc|g\+\+|c\+\+|clang(\+\+)?|gfortran)(-[\d.]+)?|tcc|nvcc")
_MAIN = re.compile(r"\bmain\s*\(|^\s*program\s", re.IGNORECASE | re.MULTILINE)
_RUNS_SOURCES = re.compile(
    rf"((python|pypy|node|deno|bun|ruby|perl|lua|luajit|php)[\d.]*|{_COMPILERS.pattern}"
    r"|rustc|javac|kotlinc|swiftc|ghc|ocamlopt|ocamlc|dmd|ldc2|fpc|zig|nim|crystal|iverilog|verilator|ghdl|swipl|emacs|vim|nvim"
    r"|k6|locust|sqlite3|psql|mysql|mariadb|duckdb)"
)
"""Interpreters, compilers and clients of databases: what they get runs, while a linter only looks at it."""
_CODE_AFTER = frozenset(["-c", "-e", "-p", "-r", "-E", "--eval", "--print", "-M"])
"""Options of interpreters whose value is code or a module."""
_IMPORTED = ("", ".py", ".js", ".rb", ".lua", ".pm")
_VALUED = {
    "grep": ("-e", "-f", "-m", "-A", "-B", "-C"),
    "head": ("-n", "-c"),
    "tail": ("-n", "-c"),
    "sort": ("-k", "-t", "-o", "-S"),
    "cut": ("-d", "-f", "-c", "-b"),
    "diff": ("-x", "-X", "-I", "-U", "--from-file", "--to-file"),
    "jq": ("--arg", "--argjson", "-f", "--from-file", "--indent"),
}
"""Options of programs that only read, whose next word is a value."""
_TESTS_ARE = (
    (re.compile(r"""["']?(?:testMatch|spec|testFiles)["']?\s*[:=]\s*(\[[^\]]*\]|["'][^"'\n]+["'])"""), "glob"),
    (re.compile(r"^\s*python_files\s*=\s*(.+(?:\n[ \t]+.+)*)", re.MULTILINE), "glob"),
    (re.compile(r"^\s*testpaths\s*=\s*(.+(?:\n[ \t]+.+)*)", re.MULTILINE), "folder"),
    (re.compile(r"<testsuite\b(.*?)</testsuite>", re.DOTALL), "phpunit"),
    (re.compile(r"""\btest\s*:\s*\{[^}]*?\binclude["']?\s*:\s*(\[[^\]]*\])""", re.DOTALL), "glob"),
    (re.compile(r""""ava"\s*:\s*\{[^}]*?"files"\s*:\s*(\[[^\]]*\])""", re.DOTALL), "glob"),
)
"""Where settings of runners say which files are tests."""
_LOADED = re.compile(
    r"""["']?\b(?:setupFiles\w*|globalSetup|globalTeardown|transform|reporters?|testEnvironment|snapshotSerializers|resolver"""
    r"""|runner|testRunner|testSequencer|require|loader|moduleNameMapper)["']?\s*:\s*(\[[^\]]*\]|\{[^}]*\}|["'][^"'\n]+["'])"""
)
"""Where settings of runners name code that they load."""
_PLUGIN = re.compile(r"(?:^|\s)-p[ =]?([\w.]+)")
_RUST_MODULE = re.compile(
    r"#\[cfg\((?![^\]]*\bnot\s*\(\s*test)(?:[^\]]*[(,\s])?test\s*[,)][^\]]*\]\s*(?:#\[path\s*=\s*\"(?P<path>[^\"\n]+)\"\]\s*)?(?:pub(?:\([^)]*\))?\s+)?mod\s+(?P<name>\w+)\s*;"
)
_BUILD_FILES = {
    "just": re.compile(r"\.?justfile$", re.IGNORECASE),
    "task": re.compile(r"taskfile(\.dist)?\.ya?ml$", re.IGNORECASE),
    "go-task": re.compile(r"taskfile(\.dist)?\.ya?ml$", re.IGNORECASE),
    "tox": re.compile(r"tox\.(ini|toml)$|setup\.cfg$|pyproject\.toml$"),
    "nox": re.compile(r"noxfile\.py$"),
    "rake": re.compile(r"rakefile(\.rb)?$|.*\.rake$", re.IGNORECASE),
    "invoke": re.compile(r"tasks\.py$"),
    "inv": re.compile(r"tasks\.py$"),
    "doit": re.compile(r"dodo\.py$"),
    "poe": re.compile(r"pyproject\.toml$"),
    "hatch": re.compile(r"(pyproject|hatch)\.toml$"),
    "pdm": re.compile(r"pyproject\.toml$"),
    "ctest": re.compile(r"CMakeLists\.txt$|.*\.cmake$"),
    "cmake": re.compile(r"CMakeLists\.txt$|.*\.cmake$"),
    "meson": re.compile(r"meson\.build$"),
    "ninja": re.compile(r"meson\.build$|build\.ninja$|CMakeLists\.txt$"),
    "composer": re.compile(r"composer\.json$"),
    "deno": re.compile(r"deno\.jsonc?$"),
    "mise": re.compile(r"\.?mise\.toml$"),
    "earthly": re.compile(r"Earthfile$"),
    "dune": re.compile(r"dune$"),
    "gradle": re.compile(r"build\.gradle(\.kts)?$"),
    "gradlew": re.compile(r"build\.gradle(\.kts)?$"),
    "mix": re.compile(r"mix\.exs$"),
    "cargo": re.compile(r"config\.toml$"),
}
"""Build files, by the program that carries out the commands in them, besides those that are read word by word."""
_PROGRAM = r"(?:(?:ba|z|k|da)?sh|python[\d.]*|node|ruby|perl|php|lua|tclsh|Rscript|source|deno\s+run|bun)"
_STARTS = re.compile(
    rf"""(?:(?:\bCOMMAND\s+)?(?:\b{_PROGRAM}["']?[\s,]+["']?(?:-[\w-]+[\s,]+)*)+|\bfind_program\(\s*|\bCOMMAND\s+"""
    r"""|(?:^|[\s"'\[,;&|(@-])(?=["']?\./))["']?(?:\$\{?\w+\}?/)?(?:\./)?(?P<path>\w[\w./-]*)""",
    re.MULTILINE,
)
"""A file that a command in a build file starts."""
_WORD = re.compile(r"[\w@./-]+")
_RUNNER_SETTINGS = re.compile(
    r"(package\.json|\.mocharc.*|(jest|vitest|vite)[\w.-]*\.config\..*|pytest\.(ini|toml)|\.pytest\.(ini|toml)|pyproject\.toml"
    r"|setup\.cfg|tox\.ini|phpunit.*\.xml(\.dist)?|ava\.config\..*)$"
)


class CheckParts:
    """Collects the paths that decide a check, with the reason."""

    def __init__(self, start: StartFiles, env: Mapping[str, str]) -> None:
        self._start, self._root, self._env = start, Path(os.path.realpath(start.root)), env
        self.paths: dict[str, str] = {}
        """Path to the reason; the path may not exist."""
        self.patterns: dict[str, str] = {}
        """Globs as in a .gitignore."""
        self.results: set[str] = set()
        """Missing files that the check only reads."""
        self.roots: set[str] = set()
        """Folders in which Python searches first, because a script of the check lies there."""
        self.doctests = start.runs_doctests
        self._read: set[str] = set()
        self._builders: set[str] = set()
        """Programs that carry out a build file."""

    def add_commands(self, commands: Iterable[str]) -> None:
        """Add what decides these command lines."""
        for command in commands:
            runs = executed(command, self._root)
            self._add_executed(runs)
            for started in runs.started:
                self._add_started(started)
            self._add_data(runs.started)
            self._add_judges(runs.started)
            self._add_drivers(runs.started)
            self._add_results(runs.started)
            tested = (self._inside(".", match[1]) for match in _TESTED.finditer(command))
            self.results |= {path for path in tested if path and not self._is_there(".", path)}

    def add_script(self, script: str) -> None:
        """Add a Python script of a predicate, and the modules next to it that it imports."""
        self.paths.setdefault(script, _RUN)
        self.roots.add(_folder(script))
        self._follow(script, is_whole=True)

    def add_tests(self) -> None:
        """Add the tests by content, the modules that belong to the tests, and what settings name as tests."""
        for path, why in self._start.tests.items():
            if not (why == "it has tests" and self.paths.get(path)):
                self.paths.setdefault(path, why)
        tests = [path for path in self._start.sources if is_test_name(path) or path in self._start.tests]
        for path in tests[:_MOST]:
            self._add_compared_in_test(path)
        for path in tests:
            if not is_test_folder(_folder(path)):  # there, all that lies next to it is a test by its name
                self._follow(path, is_test=True)
        for path in [each for each in self._start.sources if each.endswith(".rs")][:_MOST]:
            self._add_rust_tests(path)
        for path in sorted(self._start.files):
            if any(_BUILD_FILES[name].match(path.rpartition("/")[2]) for name in self._builders):
                self._add_started_in(path)
            if _RUNNER_SETTINGS.search(path.rpartition("/")[2]):
                self._add_settings_of_runner(path)

    def add_undecided(self, texts: Mapping[str, str]) -> None:
        """Add files that earlier runs changed, undecided, and what they named before, which is what a judge sees."""
        for path, text in sorted(texts.items()):
            self.paths.setdefault(path, "changed by an earlier run, and nobody decided on it")
            for word in _WORD.findall(text):
                for folder in (".", _folder(path) or "."):
                    named = self._inside(folder, word)
                    if named in self._start.files:
                        self.paths.setdefault(named, "named by a file that an earlier run changed")

    def _add_compared_in_test(self, test: str) -> None:
        """Add pages, styles and SQL that a test names and whose name says that it compares with them."""
        for match in _NAMED_DATA.finditer(script_text(self._root / test) or ""):
            for folder in (".", _folder(test) or "."):
                path = self._inside(folder, match[1])
                is_data = is_markup(path) or path.endswith(".sql")
                if is_data and path in self._start.files and _REFERENCES.search(path):
                    self.paths.setdefault(path, _DATA)

    def _add_rust_tests(self, path: str) -> None:
        """Add the files of modules that the compiler reads only for tests: `#[cfg(test)] mod checks;`."""
        folder, stem = _folder(path), PurePosixPath(path).stem
        inner = folder if stem in ("lib", "main", "mod") else f"{folder}{stem}/"
        for match in _RUST_MODULE.finditer(script_text(self._root / path) or ""):
            named = (
                [f"{folder}{match['path']}"]
                if match["path"]
                else [f"{inner}{match['name']}.rs", f"{inner}{match['name']}/**"]
            )
            for each in named:
                self.patterns.setdefault(f"/{os.path.normpath(each)}", "a module of tests")

    def _add_executed(self, runs: Executed) -> None:
        is_compared = any(_is_comparison(started, self._root) for started in runs.started)
        for path in sorted(runs.direct):
            if self._is_examined(path, runs) or (is_compared and self._is_product(path)):
                continue
            self._add_run(path, _RUN)
        for path, scripts in sorted(runs.by_script.items()):
            for script in scripts - {path}:
                self._add_run_by(path, script)

    def _is_examined(self, path: str, runs: Executed) -> bool:
        """Return whether a runner gets a source only for the examples in its documentation."""
        words = {word for started in runs.started for word in started.words}
        if "--doctest-modules" not in words and "doctest" not in words:
            return False
        self.doctests = True
        return not is_test_name(path) and path not in self._start.tests and is_source(path)

    def _is_product(self, path: str) -> bool:
        """Return whether a program whose output is compared is the code under test, and not a script that judges."""
        stem = PurePosixPath(path).name.partition(".")[0]
        return not (_judges(stem) or is_test_name(path) or path in self._start.tests)

    def _add_run(self, path: str, why: str) -> None:
        if re.search(r"[*?\[]", path):
            self.patterns.setdefault(path if path.startswith("**/") else f"/{path}", why)
            for found in self._matching(path):
                self._follow(found)
            return
        self.paths.setdefault(path, why)
        self._add_class(path)
        if path.endswith((".py", ".pyw")):
            self.roots.add(_folder(path))
        self._follow(path)

    def _matching(self, glob: str) -> list[str]:
        spec = git_spec([glob if glob.startswith("**/") else f"/{glob}"])
        return [path for path in sorted(self._start.files) if spec.match_file(path)][:_MOST]

    def _add_class(self, path: str) -> None:
        """Add the sources of a program without a source of its own name: `java Checks`, `build/verify`."""
        stem = PurePosixPath(path).name
        if path in self._start.files or "." in stem or not (_judges(stem) or has_test_word(stem)):
            return
        for source in self._start.sources:
            if PurePosixPath(source).name.partition(".")[0] == stem:
                self.paths.setdefault(source, _RUN)

    def _add_run_by(self, path: str, script: str) -> None:
        """Add what a script of the check starts: what lies next to it, or in a folder of tests or tools."""
        folder, name = _folder(script), path.rpartition("/")[2]
        if path.startswith("**/"):
            near = f"/{folder}{'' if not folder else '**/'}{name}"
            self.patterns.setdefault(near, _PART)
            self.patterns.update((f"**/{place}/**/{name}", _PART) for place in ("tools", "scripts", "ci"))
        elif (
            _folder(path) == folder
            or re.search(r"[*?\[]", path)
            or any(_judges(part) for part in path.split("/"))
            or is_helper(path, script, self._root)
            or is_test_name(path)
        ):
            self._add_run(path, _PART)

    def _follow(self, path: str, *, is_whole: bool = False, is_test: bool = False) -> None:
        """Add the modules of the check that a script imports, and the scripts that it names.

        `is_whole`: all that lies next to it. `is_test`: it is a test that a runner finds.
        """
        if path in self._read or len(self._read) >= _MOST:
            return
        self._read.add(path)
        folder = _folder(path).rstrip("/") or "."
        roots = [each.rstrip("/") or "." for each in (*sorted(self.roots), "")]
        imports = imports_of(path, self._root, list(dict.fromkeys([folder, *roots])))
        for file in imports.files:
            is_beside = is_whole and (folder == "." or file.startswith(f"{folder}/"))
            is_own = is_test_helper(file, path) if is_test else is_helper(file, path, self._root)
            is_data = _DATA_OF_TESTS.search(PurePosixPath(file).stem) is not None
            is_next = _folder(file) == _folder(path) and (is_data if is_test else _judges(PurePosixPath(file).stem))
            if is_beside or is_own or is_next:
                self._add_module(file, imports.instead.get(file, []))
                self._follow(file, is_whole=is_whole, is_test=is_test)
        if not is_test:
            self._add_mentioned(imports.words, path, folder)

    def _add_module(self, file: str, instead: Iterable[str]) -> None:
        self.paths.setdefault(file, _PART)
        for other in instead:
            (self.patterns if other.startswith("/") else self.paths).setdefault(other, _PART)

    def _add_mentioned(self, words: Iterable[str], path: str, folder: str) -> None:
        for word in words:
            first = word.split()[0] if word.split() else ""
            if first.rpartition("/")[2] in names_in_scripts():
                self._add_tools(rows_of_tools([first.rpartition("/")[2]]))
            if not is_source(first) or "\0" in first or len(first) > 200:
                continue
            for base in (".", folder):
                file = os.path.normpath(PurePosixPath(base, first))
                if file in self._start.files and file not in self.paths and is_helper(file, path, self._root):
                    self._add_run(file, _PART)

    def _add_started(self, started: Started) -> None:
        name = started.words[0].rpartition("/")[2]
        folder = "." if started.folder.startswith(("/", "..")) else started.folder
        module = _module_of(started.words)
        names = [each for each in (name, module, *started.wrapped) if each and each != UNKNOWN]
        tools = rows_of_tools(names)
        self._add_tools(tools)
        for tool in tools:
            self._add_options(tool, started.words, folder)
        self._add_program(name, started)
        for loaded in preloaded(started.words, started.given):
            if (path := self._inside(folder, loaded)) and not _in_sources(path):
                self._add_run(path, _RUN)
        self._builders.update(_BUILD_FILES.keys() & {*names})
        if "--doctest-modules" in started.words or module == "doctest":
            self.doctests = True
        runner = next((each for each in (module, name) if each in _RUNNERS), None)
        if runner is not None and (needed := _NEEDS_TEST.get(runner, ())) and not {*needed} & {*started.words}:
            runner = None
        if runner is not None:
            self._add_given(runner, started.words, folder)
        if name in _OTHER_LANGUAGES or (name == "zig" and "run" in started.words):
            source = next((word for word in started.words[1:] if is_source(word) and UNKNOWN not in word), None)
            if source is not None and (path := self._inside(folder, source)):
                self._add_run(path, _RUN)
        if name in ("go", "cargo", "dotnet", "java", "scala", "kotlin", "mix"):
            self._add_target(name, started.words, folder)

    def _add_tools(self, tools: Iterable[CheckTool]) -> None:
        for tool in tools:
            if tool.holding is None:
                for glob in tool.files:
                    self.patterns.setdefault(
                        glob if glob.startswith("**/") or "/" not in glob else f"**/{glob}", _SETTING
                    )

    def _add_options(self, tool: CheckTool, words: Sequence[str], folder: str) -> None:
        """Add the files that options name as settings or as code to load."""
        for at, word in enumerate(words[1:], 1):
            name, joined, value = word.partition("=")
            if name not in tool.options and not (word.startswith("--") and "config" in name):
                continue
            value = value if joined else next(iter(words[at + 1 : at + 2]), "")
            if not value or value.startswith("-") or UNKNOWN in value:
                continue
            if (path := self._inside(folder, value)) and ("/" in value or "." in value):
                self.paths.setdefault(path, _SETTING)
                self._follow(path)
            if name == "-p" and re.fullmatch(r"[\w.]+", value):
                self.paths.setdefault(f"{value.replace('.', '/')}.py", _SETTING)

    def _add_program(self, name: str, started: Started) -> None:
        """Add a program that lies in a folder of the workspace in PATH, and new ones there."""
        given = {item.partition("=")[0]: item.partition("=")[2] for item in started.given}
        for entry in (given.get("PATH") or self._env.get("PATH", "")).split(os.pathsep):
            place = self._inside(started.folder, entry) if entry and entry != "." and UNKNOWN not in entry else ""
            if place:
                self.patterns.setdefault(f"/{place}/*", "programs in PATH")

    def _add_given(self, runner: str, words: Sequence[str], folder: str) -> None:
        """Add the files and folders that a test runner is given."""
        at = next((at for at, word in enumerate(words) if word == runner or word.rpartition("/")[2] == runner), 0)
        rest = list(words[at + 1 :])
        pattern = ""
        while rest:
            word = rest.pop(0)
            if word in ("-s", "--start-directory", "-p", "--pattern", "-t", "-k", "-m", "-c", "-o", "-n", "-W", "-r"):
                value = rest.pop(0) if rest else ""
                if word in ("-p", "--pattern") and runner == "unittest":
                    pattern = value
                if word not in ("-s", "--start-directory"):
                    continue
                word = value
            if not word or word.startswith("-") or UNKNOWN in word or word in ("discover", "run", "test"):
                continue
            self._add_one_given(runner, word, folder)
        if pattern:
            self.patterns.setdefault(pattern, _GIVEN)

    def _add_one_given(self, runner: str, word: str, folder: str) -> None:
        path = self._inside(folder, word.partition("::")[0])
        if runner == "unittest" and "/" not in word:
            parts = word.split(".")
            for count in range(len(parts)):
                module = self._inside(folder, "/".join(parts[: count + 1]))
                if f"{module}.py" in self._start.files:
                    self.paths.setdefault(f"{module}.py", _GIVEN)
        if not path:
            return
        if re.search(r"[*?\[]", path):
            self.patterns.setdefault(f"/{path}", _GIVEN)
        elif path in self._start.files:
            if not self.doctests or is_test_name(path) or path in self._start.tests:
                self.paths.setdefault(path, _GIVEN)
        elif path in self._start.folders and self._is_all_tests(runner, path):
            self.patterns.setdefault(f"/{path}/**", _GIVEN)

    def _is_all_tests(self, runner: str, folder: str) -> bool:
        """Return whether a folder that a runner is given has tests alone, and not sources next to tests."""
        name = PurePosixPath(folder).name.casefold()
        if name in _SOURCE_FOLDERS:
            return False
        if runner in _RUNS_ALL:
            return True
        below = self._start.below(folder)
        has_named = any(is_test_name(path) or path in self._start.tests for path in below)
        is_package = any(f"{folder}/{each}" in self._start.files for each in ("__init__.py", "package.json"))
        return not has_named and not is_package

    def _add_target(self, name: str, words: Sequence[str], folder: str) -> None:
        """Add the sources of a program that its folder or class names: `go run ./cmd/verify`, `java Checks`."""
        for word in words[1:]:
            if word.startswith("-") or UNKNOWN in word:
                continue
            path = self._inside(folder, word)
            stem = PurePosixPath(word).name
            if path in self._start.folders and (_judges(stem) or has_test_word(stem)):
                self.patterns.setdefault(f"/{path}/**", _RUN)
            elif name in ("java", "scala", "kotlin", "cargo") and re.fullmatch(r"[\w.-]+", word):
                self._add_class(word.rpartition(".")[2])

    def _add_data(self, started: Sequence[Started]) -> None:
        """Add sources and markup of the start that the check compares something with."""
        used = {
            path
            for one in started
            if one.words[0].rpartition("/")[2] not in (*_COMPARERS, *READERS)
            for word in one.words[1:]
            if (path := self._inside(one.folder, word))
        }
        for one in started:
            name = one.words[0].rpartition("/")[2]
            is_lint = bool(rows_of_tools([name])) and name not in _RUNNERS
            for word in one.words[1:]:
                path = self._inside(one.folder, word)
                if name in _COMPARERS and path not in used:
                    self._add_compared(path, one.folder, word)
                if path not in self._start.files or path in self.paths:
                    continue
                is_expected = name in _COMPARERS and is_source(path) and path not in used
                if is_expected or (is_markup(path) and not is_lint):
                    self.paths.setdefault(path, _DATA)

    def _add_compared(self, path: str, folder: str, word: str) -> None:
        """Add the files of a folder, or of a glob, that the check compares with others: `diff -r site want`."""
        if "/" in word and UNKNOWN in word:  # `cmp site/$page want/$page`
            path = self._inside(folder, word[: word.index(UNKNOWN)].rpartition("/")[0])
        if path in self._start.folders and not _in_sources(f"{path}/"):
            self.patterns.setdefault(f"/{path}/**", _DATA)
        elif path and re.search(r"[*?\[]", path):
            self.patterns.setdefault(f"/{path}", _DATA)

    def _add_judges(self, started: Sequence[Started]) -> None:
        """Add sources with the name of a judge that the line compiles, imports, or feeds to a database."""
        if any(_is_comparison(one, self._root) for one in started):
            return
        for one in started:
            if not _RUNS_SOURCES.fullmatch(one.words[0].rpartition("/")[2]) or _module_of(one.words):
                continue
            given = (path for word in (*one.words[1:], one.reads) if (path := self._inside(one.folder, word)))
            for path in (*(path for path in given if not _in_sources(path)), *self._in_code(one)):
                is_there = path in self._start.files and is_source(path)
                if is_there and any(map(_judges, PurePosixPath(path).with_suffix("").parts)):
                    self._add_run(path, _RUN)

    def _add_drivers(self, started: Sequence[Started]) -> None:
        """Add a source with `main` that the line compiles with those of a folder of sources: `cc probe.c src/*.c`.

        If nothing reads what the program prints, its exit code is the verdict, which this source decides.
        """
        names = {one.words[0].rpartition("/")[2] for one in started}
        if names & {*READERS, *_COMPARERS, "test"}:
            return
        for one in started:
            given = [path for word in one.words[1:] if is_source(word) and (path := self._inside(one.folder, word))]
            if not _COMPILERS.fullmatch(one.words[0].rpartition("/")[2]) or not any(map(_in_sources, given)):
                continue
            for path in (path for path in given if not _in_sources(path)):
                for found in self._matching(path) if re.search(r"[*?\[]", path) else [path]:
                    if _MAIN.search(script_text(self._root / found) or ""):
                        self._add_run(path, _RUN)
                        break

    def _in_code(self, started: Started) -> Iterator[str]:
        """Yield the sources that code in a command line may import: `python3 -c 'import checks'`, `perl -MChecks`."""
        for before, word in pairwise(started.words):
            if before in _CODE_AFTER or word.startswith(("-M", ".read ")):
                for found in _WORD.findall(word.removeprefix("-M")):
                    for name in (found, found.replace(".", "/")):
                        plain = self._inside(started.folder, name)
                        yield from (f"{place}{plain}{ending}" for place in ("", "lib/") for ending in _IMPORTED)

    def _add_results(self, started: Sequence[Started]) -> None:
        """Add the missing files that a program which only reads is given.

        Of a comparison, only if a file of the start is compared with: else a run could write what it is compared with.
        """
        for one in started:
            name = one.words[0].rpartition("/")[2]
            if name not in READERS and name not in (*_COMPARERS, "test"):
                continue
            if name in _COMPARERS and not any(self._is_there(one.folder, word) for word in one.words[1:]):
                continue
            before = ""
            for word in one.words[1:]:
                is_value, is_given = before in _VALUED.get(name, ()), name == "test" and before in _OF_FILES
                before = word
                names = r"[\w@./+-]+" if is_given else r"[\w@./+-]*[./][\w@./+-]*"
                is_name = re.fullmatch(names, word) and not word.startswith("-")
                if is_value or not is_name or UNKNOWN in word:
                    continue
                path = self._inside(one.folder, word)
                if path and not self._is_there(one.folder, word):
                    self.results.add(path)

    def _is_there(self, folder: str, word: str) -> bool:
        path = self._inside(folder, word)
        return bool(path) and os.path.lexists(self._root / path)

    def _add_started_in(self, path: str) -> None:
        """Add the scripts that commands in a build file start."""
        text = script_text(self._root / path)
        for match in _STARTS.finditer(text or ""):
            for folder in (_folder(path) or ".", "."):
                script = self._inside(folder, match["path"])
                if script in self._start.scripts or (script in self._start.files and script.endswith(_SCRIPTS)):
                    self._add_run(script, _RUN)
        for program in programs_of_tests(text or ""):
            for named in program.sources:
                source = self._inside(_folder(path) or ".", named)
                if source in self._start.files and _is_of_test_program(source, program):
                    self.paths.setdefault(source, "compiled into a test that the check starts")

    def _add_settings_of_runner(self, path: str) -> None:
        text = script_text(self._root / path)
        if text is None:
            return
        folder = _folder(path)
        for pattern, kind in _TESTS_ARE:
            for match in pattern.finditer(text):
                for name in _names_in(match[1], kind):
                    self._add_named_tests(folder, name, kind)
        for match in _LOADED.finditer(text):
            for name in _names_in(match[1], "glob"):
                loaded = self._inside(folder or ".", name.replace("<rootDir>/", ""))
                for found in (loaded, *(f"{loaded}{ending}" for ending in (".js", ".ts", ".mjs", ".cjs"))):
                    if found in self._start.files:
                        self.paths.setdefault(found, _SETTING)
        for match in _PLUGIN.finditer(text) if not path.endswith("package.json") else ():
            self.paths.setdefault(f"{match[1].replace('.', '/')}.py", _SETTING)

    def _add_named_tests(self, folder: str, name: str, kind: str) -> None:
        plain = name.replace("<rootDir>/", "").removeprefix("./")
        if kind == "glob" and re.search(r"[*?]", plain):
            for glob in _without_braces(plain):
                if not re.fullmatch(r"(\*\*/)?\*(\.\w+)?", glob) and not glob.startswith("!"):
                    anchored = f"/{folder}{glob}" if "/" in glob and not glob.startswith("**/") else glob
                    self.patterns.setdefault(anchored, _GIVEN)
        elif (path := self._inside(folder or ".", plain)) in self._start.folders:
            if self._is_all_tests("phpunit" if kind == "phpunit" else "pytest", path):
                self.patterns.setdefault(f"/{path}/**", _GIVEN)
        elif path in self._start.files:
            self.paths.setdefault(path, _GIVEN)

    def _inside(self, folder: str, word: str) -> str:
        """Return a word as a path relative to the workspace; empty if it is none, or outside."""
        if not word or UNKNOWN in word or "\0" in word:
            return ""
        path = os.path.relpath(os.path.normpath(self._root / folder / word), self._root)
        return "" if path.startswith("..") or path == "." else PurePosixPath(path).as_posix()


def _in_sources(path: str) -> bool:
    """Return whether a file lies in a folder of sources."""
    return bool(_SOURCE_FOLDERS & {*path.split("/")[:-1]})


def _is_of_test_program(source: str, program: TestProgram) -> bool:
    """Return whether a source of a test program is the test, not the code under test: by its name, or by its folder.

    By its folder only where sources of the same program lie in a folder of sources.
    """
    stem, parts = PurePosixPath(source).stem, PurePosixPath(source).parts[:-1]
    if _in_sources(source):
        return False
    if _judges(stem) or any(map(_judges, parts)):
        return True
    return bool(parts) and any(_SOURCE_FOLDERS & {*PurePosixPath(each).parts[:-1]} for each in program.sources)


def _judges(name: str) -> bool:
    """Return whether a program or a module has the name of a part of a check: `verify`, `CheckAll`, `limits`."""
    return _JUDGES.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)) is not None


def _is_comparison(started: Started, root: Path) -> bool:
    """Return whether a program compares something with a file of the start."""
    if started.words[0].rpartition("/")[2] not in _COMPARERS:
        return False
    return any(
        UNKNOWN not in word and not word.startswith("-") and (root / started.folder / word).is_file()
        for word in started.words[1:]
    )


def _module_of(words: Sequence[str]) -> str:
    if not _PYTHON.match(words[0].rpartition("/")[2]) or "-m" not in words[:-1]:
        return ""
    return words[words.index("-m") + 1].partition(".")[0]


def _names_in(text: str, kind: str) -> list[str]:
    """Return the names in the value of a setting."""
    if kind == "phpunit":
        return re.findall(r"<(?:directory|file)\b[^>]*>\s*([^<\s]+)\s*<", text)
    quoted = re.findall(r"""["']([^"'\n]+)["']""", text)
    return quoted or text.strip(" []").split()


def _without_braces(glob: str) -> list[str]:
    """Return the globs that `{a,b}` and `?(x)` in a glob stand for, at most 50."""
    waiting, found = [re.sub(r"[?+@]\(([^()]*)\)", lambda m: "{," + m[1].replace("|", ",") + "}", glob)], list[str]()
    while waiting and len(found) < 50:
        one = waiting.pop()
        match = re.search(r"\{([^{}]*)\}", one)
        if match is None:
            found.append(one)
        else:
            waiting += [one[: match.start()] + each + one[match.end() :] for each in match[1].split(",")]
    return found


def _folder(path: str) -> str:
    """Return the folder of a path with a slash at the end; empty for the workspace."""
    return path[: path.rfind("/") + 1]
