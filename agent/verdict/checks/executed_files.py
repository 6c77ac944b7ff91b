"""Find the files of the workspace that a check executes: its scripts, and build files that name other scripts.

Files that a check only reads (`grep -q DONE report.txt`) are not included.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from ...shell.parse_words import UNKNOWN, SimpleCommand, simple_commands
from .build_files import MAKEFILES, build_file_text, folder_of_make, goals_of, make_recipes, makefiles, package_scripts
from .shell_variables import filled_in

_DEPTH = 4
"""Most levels of scripts that call other scripts."""
_MOST_TEXTS = 500
"""Most texts of one check that are read: scripts, recipes, and their variants."""
_MOST_OF_GLOB = 20
"""Most scripts that are read for one glob."""
_MOST_FOUND = 2_000
"""Most entries that one glob is compared with."""
_SHELLS = {"bash", "sh", "dash", "zsh", "ksh", "fish", "source", "."}
_INTERPRETER = re.compile(
    r"(python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|luajit|Rscript|tclsh|osascript|pwsh|groovy|java)[\d.]*"
)
_TESTERS = {
    *("pytest", "py.test", "unittest", "jest", "vitest", "mocha", "ava", "tap"),
    *("bats", "rspec", "phpunit", "behave"),
}
_PLAIN_WRAPPERS = (
    *("time", "exec", "command", "builtin", "nohup", "setsid", "xvfb-run", "chronic", "unbuffer"),
    *("npx", "bunx", "pnpx", "uvx", "strace", "valgrind", "caffeinate", "watchexec"),
)
_WRAPPERS: dict[str, set[str]] = {
    **{name: set() for name in _PLAIN_WRAPPERS},
    "env": {"-u", "-C", "-S"},
    "timeout": {"-s", "-k", "--signal", "--kill-after"},
    "nice": {"-n"},
    "ionice": {"-c", "-n", "-p"},
    "taskset": set(),
    "flock": {"-w", "--wait", "--timeout", "-E", "--conflict-exit-code"},
    "sudo": {"-u", "-g"},
    "doas": {"-u"},
    "stdbuf": {"-i", "-o", "-e"},
    "xargs": {"-n", "-P", "-I", "-L", "-d", "-a", "-E", "-s"},
    "parallel": {"-j", "-a", "--jobs"},
}
"""Commands that run the command after them, each with its options that take a value."""
_FIRST_WORDS = {"timeout": r"[\d.]+[smhd]?", "nice": r"-?\d+", "taskset": r"[\da-fA-Fx,-]+", "flock": r".+"}
"""Wrappers with one word of their own before the command, and what it looks like."""
_RUNNERS = {"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mise", "bundle", "direnv", "nix"}
"""Programs that run the command after the word `run` (or `exec`)."""
_PACKAGE_MANAGERS = {"npm", "yarn", "pnpm", "bun"}
_BUILD_FILES = {
    "make": MAKEFILES,
    "gmake": MAKEFILES,
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
    "cargo": ("Cargo.toml", "build.rs"),
    "go": ("go.mod",),
    "mvn": ("pom.xml",),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    "cmake": ("CMakeLists.txt",),
    "ctest": ("CMakeLists.txt",),
    "ninja": ("build.ninja",),
    "meson": ("meson.build",),
    "bazel": ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"),
    "pre-commit": (".pre-commit-config.yaml",),
    "docker": ("Dockerfile", "compose.yaml", "docker-compose.yml"),
    "deno": ("deno.json", "deno.jsonc"),
}
_READS_ONLY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("bash", "sh", "dash", "zsh", "ksh"), ("-n",)),
    "php": ("-l", "--syntax-check"),
    "node": ("--check",),
    "luac": ("-p",),
}
"""Options with which an interpreter only reads its script."""
_CODE_OPTIONS = {"-c", "-e", "-p", "-r", "-E", "--eval", "--print", "--command"}
_VALUE_OPTIONS = {"-W", "-X", "-O", "-o", "-I", "--require", "--import", "--loader", "-C"}
_OWN_VALUE_OPTIONS = {"node": "-r", "nodejs": "-r", "ruby": "-r", "php": "-d", "lua": "-l", "luajit": "-l"}
"""Options that take a value with this interpreter alone."""
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_PYTHON_FLAGS = re.compile(r"-(?P<flags>[bBdEhiIOPqsSuvVx]*)(?P<last>[cmWX]?)(?P<value>.*)")
"""Options of Python in one word: flags, and one with a value, which may follow in the next word."""


class Started(msgspec.Struct, frozen=True):
    """A program that a command line starts."""

    words: list[str]
    """The program's name as it is written, and its arguments."""
    folder: str
    """Folder in which it runs, relative to the workspace."""
    given: list[str]
    """Assignments before the command, as `NAME=value`."""
    wrapped: list[str]
    """Names of the programs that run it, such as `npx` or `uv`."""
    reads: str = ""
    """The file of `< FILE`."""
    here: str = ""
    """The text of a here document, or what `echo` prints into its pipe."""


class Executed(msgspec.Struct):
    """The files that a command line executes, and the programs that it starts."""

    files: set[str] = msgspec.field(default_factory=set[str])
    started: list[Started] = msgspec.field(default_factory=list[Started])
    goals: set[str] = msgspec.field(default_factory=set[str])
    """Paths whose existence alone prevents `make` from running the recipe."""
    direct: set[str] = msgspec.field(default_factory=set[str])
    """Files that the line, a package script or a recipe executes."""
    by_script: dict[str, set[str]] = msgspec.field(default_factory=dict[str, set[str]])
    """Maps a file to the scripts that execute it."""
    read: int = 0
    """Texts that were read."""


class _Shown(NamedTuple):
    """What a program writes into its pipe, for an interpreter that reads its script from there."""

    files: list[str]
    text: str


def _shown_by(words: Sequence[str], simple: SimpleCommand, before: _Shown) -> _Shown:
    """Return what `cat` or `echo` shows; of another program, what was shown before."""
    plain = [word for word in words[1:] if not word.startswith("-")]
    if words[0] == "cat" and not simple.reads:
        return _Shown(plain, simple.here)
    if words[0] in ("echo", "printf"):
        return _Shown([], " ".join(plain).replace("\\n", "\n"))
    return before


def executed_files(command: str, root: Path) -> set[str]:
    """Return the executed files, relative to the workspace, including scripts that do not exist yet: a model that
    creates one decides the check.

    `**/name` stands for a script whose folder is known only when the command runs.
    """
    return executed(command, root).files


def executed(command: str, root: Path, folder: str = ".") -> Executed:
    """Return the files of `executed_files` and the programs that are started."""
    found = Executed()
    for text in filled_in(command):
        _follow(text, PurePosixPath(folder), root, found, _DEPTH)
    return found


def _follow(
    line: str,
    folder: PurePosixPath,
    root: Path,
    found: Executed,
    depth: int,
    outer: Sequence[str] = (),
    by: str = "",
) -> None:
    """Add what the line executes in `folder`. `outer`: the programs that run it (`npm`); `by`: its script."""
    if depth == 0 or found.read >= _MOST_TEXTS:
        return
    found.read += 1
    here = folder
    listed: list[str] = []
    """What the programs of the line list, for `xargs`."""
    shown = _Shown([], "")
    for simple in simple_commands(line):
        words = without_wrappers(simple.words)
        before = simple.words[: len(simple.words) - len(words)]
        given = [*simple.given, *(word for word in before if re.match(r"[A-Za-z_]\w*=", word))]
        wrapped = [*outer, *(_program_name(word) for word in before if not word.startswith("-"))]
        is_repeated = "xargs" in before or "parallel" in before
        if "parallel" in before:
            words, given_items = _of_parallel(words)
            listed = given_items or listed
        bare = [word for word in words if "{}" not in word] if is_repeated else words
        for command in [[*bare, item] for item in listed] if is_repeated and listed and words else [words]:
            if not command:
                continue
            text = simple.here or (shown.text if not simple.reads and _reads_script(command) else "")
            found.started.append(Started(command, str(here), given, wrapped, simple.reads, text))
            if command[0] == "cd" and len(command) > 1 and UNKNOWN not in command[1]:
                here = here / command[1]
                continue
            _read(command, here, root, found, depth, wrapped, by)
            shown = _shown_by(words, simple, shown)
            if _reads_script(command):
                for path in [simple.reads] if simple.reads else shown.files:
                    _add(path, here, root, found, by)
                for script in filled_in(text) if _program_name(command[0]) in _SHELLS else ():
                    _follow(script, here, root, found, depth - 1, [*wrapped, _program_name(command[0])], by)
        listed += _listed(words) if words else []


def _read(
    words: list[str], folder: PurePosixPath, root: Path, found: Executed, depth: int, wrapped: list[str], by: str
) -> None:
    """Add what one command executes, and what the scripts and build files behind it do."""
    for path in (*_scripts(words), *_searched(words)):
        _add(path, folder, root, found, by)
    inner = [*wrapped, _program_name(words[0])]
    for nested in nested_lines(words, folder, root):
        for text in nested.texts:
            _follow(text, nested.folder, root, found, depth - 1, inner, nested.script or by)
    for goal in goals_of(words, folder, root):
        _add(goal, PurePosixPath("."), root, found, by)
        found.goals.add(goal)


def _of_parallel(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the command of `parallel`, and the words after `:::` that it gets one by one."""
    at = next((at for at, word in enumerate(words) if re.fullmatch(r":::\+?", word)), len(words))
    command, items = words[:at], [word for word in words[at + 1 :] if not word.startswith(":::")]
    command = command[0].split() if len(command) == 1 else command
    return (command, items) if command else (items[:1], [])


def without_wrappers(words: Sequence[str]) -> list[str]:
    """Remove leading `env A=1`, `timeout 30`, `uv run` and similar words."""
    rest = list(words)
    while rest:
        name = _program_name(rest[0])
        verb = next((word for word in rest[1:] if word in ("run", "exec")), None)
        if name in _RUNNERS and verb is not None:
            valued = {
                "--with",
                "-p",
                "--env",
                "--python",
                "--group",
                "--extra",
                *({"-n", "--name"} if name == "conda" else ()),
            }
            rest = _after_options(rest[rest.index(verb) + 1 :], valued)
        elif name in _WRAPPERS:
            rest = _after_options(rest[1:], _WRAPPERS[name])
            if rest and name in _FIRST_WORDS and re.fullmatch(_FIRST_WORDS[name], rest[0]):
                rest = rest[1:]
        else:
            return rest
    return rest


def _program_name(word: str) -> str:
    """Return the name without folders: `env` for `/usr/bin/env`, `.` for `.`."""
    return word.rpartition("/")[2]


def _after_options(words: list[str], valued: set[str]) -> list[str]:
    i = 0
    while i < len(words):
        word = words[i]
        if word in valued:
            i += 2
        elif re.match(r"-|[A-Za-z_]\w*=", word):
            i += 1
        else:
            break
    return words[i:]


def _scripts(words: Sequence[str]) -> Iterator[str]:
    """Yield the paths that a simple command executes, as it writes them."""
    name = _program_name(words[0])
    if any(word in _READS_ONLY.get(name, ()) for word in words[1:]):
        return
    if "/" in words[0] or words[0].endswith(".py"):  # `uv run check.py`
        yield words[0]
    if _PYTHON.fullmatch(name):
        yield from _python_program(words[1:])
    elif name in ("node", "nodejs"):
        for path in _program(words[1:], name):
            yield from (path, f"{path}.js", f"{path}/index.js") if not _is_file_name(path) else (path,)
    elif name in _SHELLS or _INTERPRETER.fullmatch(name):
        yield from _program(words[1:], name)
    elif words[0] == UNKNOWN:  # `$PYTHON check.py`
        yield from (path for path in _program(words[1:]) if _is_file_name(path))
    elif name == "coverage":
        yield from _module(name, words[1:])
    elif name in _TESTERS:
        yield from (_without_selection(word) for word in words[1:] if _is_file_name(word))
    elif name in ("awk", "gawk", "mawk", "sed", "jq", "make", "gmake", "just"):
        yield from (words[i + 1] for i in range(1, len(words) - 1) if words[i] in ("-f", "--file", "--makefile"))
    elif name == "go" and words[1:2] == ["run"]:
        yield from (word for word in words[2:] if word.endswith(".go"))
    yield from _build_files(name, words)


def _program(arguments: Sequence[str], name: str = "") -> Iterator[str]:
    """Yield the script or module that an interpreter runs. `name`: of its program."""
    own, i = _OWN_VALUE_OPTIONS.get(re.sub(r"[\d.]+$", "", name), ""), 0
    while i < len(arguments):
        word = arguments[i]
        if word == "-m" and i + 1 < len(arguments):
            yield from _module(arguments[i + 1], arguments[i + 2 :])
            return
        if word != own and (word in _CODE_OPTIONS or re.fullmatch(r"-[a-z]*c", word)):
            return
        if word == own or word in _VALUE_OPTIONS:
            i += 2
        elif word.startswith("-"):
            i += 1
        elif word in ("run", "test") and i == 0:
            i += 1  # `deno run x.ts`, `node test x.js`
        else:
            yield _without_selection(word)
            if arguments[0] == "--test" or word == UNKNOWN:
                yield from (w for w in arguments[i + 1 :] if _is_file_name(w))
            return


def _python_program(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the script or the files of the module that Python runs: `-W error x.py`, `-Im x`, `-mx`."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        option = _PYTHON_FLAGS.fullmatch(word)
        if word in ("-", "--") or option is None:
            if not word.startswith("-"):
                yield _without_selection(word)
                return
            continue
        value = option["value"] or (rest.pop(0) if option["last"] and rest else "")
        if option["last"] == "m":
            yield from _module(value, rest)
        if option["last"] in ("c", "m"):
            return


def _reads_script(words: Sequence[str]) -> bool:
    """Return whether an interpreter gets no script and no code, and so reads its script from its input."""
    name = _program_name(words[0])
    if not (name in _SHELLS - {"source", "."} or _INTERPRETER.fullmatch(name)) or name in ("java", "deno", "bun"):
        return False
    rest = words[1:-1] if words[-1] == UNKNOWN else words[1:]  # a here string
    return all(word.startswith("-") and not re.search(r"[cem]", word) for word in rest)


def _module(module: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the files of `python -m`, which searches its working folder first: a file there can replace any module."""
    if UNKNOWN in module:
        return
    path = module.replace(".", "/")
    yield f"{path}.py"
    yield f"{path}/__main__.py"
    if module in _TESTERS:
        yield f"{path}/__init__.py"
        yield from (_without_selection(word) for word in arguments if _is_file_name(word))
    elif module in ("coverage", "trace", "cProfile", "pdb", "timeit"):
        rest = _after_options([w for w in arguments if w != "run"], {"--source", "--rcfile", "-o"})
        yield from (word for word in rest[:1] if _is_file_name(word))


def _is_file_name(word: str) -> bool:
    return not word.startswith("-") and bool(re.search(r"\.\w+(::.*)?$", word))


def _without_selection(word: str) -> str:
    """Remove a selection of tests: `tests/test_a.py` for `tests/test_a.py::test_b`."""
    return word.partition("::")[0]


def _build_files(name: str, words: Sequence[str]) -> Iterator[str]:
    if name in _PACKAGE_MANAGERS:
        yield "package.json"
    folder = folder_of_make(words) if words else "."
    for file in _BUILD_FILES.get(name, ()):
        yield f"{folder}/{file}"


class Nested(NamedTuple):
    """Command lines inside another one, with their variables filled in."""

    texts: list[str]
    folder: PurePosixPath
    script: str = ""
    """The script that has them, relative to the workspace."""


def nested_lines(words: Sequence[str], folder: PurePosixPath, root: Path) -> Iterator[Nested]:
    """Yield nested command lines: of `bash -c '...'`, a shell script, a package script or a Makefile's recipes."""
    name = _program_name(words[0])
    if name == "eval":
        yield Nested(filled_in(" ".join(words[1:])), folder)
    if name in _SHELLS and (at := _code_at(words)):
        yield Nested(filled_in(words[at], "", words[at + 2 :]), folder)
    elif name in _SHELLS or "/" in words[0]:
        is_program = "/" in words[0] and name not in _SHELLS
        script = words[0] if is_program else next(_program(words[1:]), "")
        arguments = [word for word in words[1:] if word != script]
        for path in _files_of(script, folder, root):
            if text := _shell_script(root / path):
                own = os.path.relpath(path, folder)
                yield Nested(filled_in(text, own, arguments), folder, path)
    if name in _PACKAGE_MANAGERS:
        for text in package_scripts(build_file_text(root / folder / "package.json"), words[1:]):
            yield Nested(filled_in(text), folder)
    for text, where in makefiles(words, folder, root):
        for recipe in make_recipes(text, words[1:]):
            yield Nested(filled_in(recipe), where)


def _files_of(script: str, folder: PurePosixPath, root: Path) -> list[str]:
    """Return the files that a word means, relative to the workspace: several for a glob, at most 20."""
    path = os.path.normpath(folder / script) if script and UNKNOWN not in script else ""
    if not path or path.startswith(("/", "..")):
        path = os.path.relpath(os.path.normpath(root / folder / script), root) if script.startswith("/") else path
    if not path or path.startswith(("/", "..")):
        return []
    if not re.search(r"[*?\[]", path):
        return [path]
    try:
        places = itertools.islice(root.glob(path), _MOST_FOUND)
        found = sorted(place.relative_to(root).as_posix() for place in places if place.is_file())
    except (ValueError, OSError, NotImplementedError):
        return []
    return found[:_MOST_OF_GLOB]


def _listed(words: Sequence[str]) -> list[str]:
    """Return what a program that lists files prints, as globs."""
    if not words:  # only redirections: `exec 3<>/dev/tcp/…`
        return []
    name = _program_name(words[0])
    plain = [word for word in words[1:] if not word.startswith(("-", "(", "!")) and UNKNOWN not in word]
    if name == "find":
        folders = list(itertools.takewhile(_is_folder_of_find, words[1:])) or ["."]
        return [f"{folder.rstrip('/')}/**/*" for folder in folders]
    if name == "ls":
        return [word if re.search(r"[*?\[.]", word.rpartition("/")[2]) else f"{word.rstrip('/')}/*" for word in plain]
    if name in ("echo", "printf"):
        return [word for word in plain if "/" in word or "*" in word]
    if name == "git" and plain[:1] == ["ls-files"]:
        return [word if "*" in word else f"{word.rstrip('/')}/**/*" for word in plain[1:]]
    return []


def _is_folder_of_find(word: str) -> bool:
    return not word.startswith(("-", "(", "!")) and UNKNOWN not in word


def _searched(words: Sequence[str]) -> Iterator[str]:
    """Yield the files that `find -exec` and `run-parts` execute, as globs."""
    name = _program_name(words[0])
    if name == "run-parts":
        yield from (f"{word.rstrip('/')}/*" for word in words[1:] if not word.startswith("-") and UNKNOWN not in word)
    if name != "find":
        return
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            command = list(itertools.takewhile(lambda each: each not in (";", "+"), words[at + 1 :]))
            for found in _listed(words):
                inner = [each.replace("{}", found) for each in command]
                yield from _scripts(without_wrappers(inner) or ["find"])


def _code_at(words: Sequence[str]) -> int | None:
    for i, word in enumerate(words[:-1]):
        if re.fullmatch(r"-[a-z]*c", word):
            return i + 1
    return None


def _shell_script(path: Path) -> str:
    """Return the file's text if it is a shell script, else an empty text."""
    text = build_file_text(path)
    first = text.partition("\n")[0]
    is_shell = path.suffix in (".sh", ".bash") or (first.startswith("#!") and re.search(r"\b(ba|da|z|k)?sh\b", first))
    return text if is_shell or (text and not path.suffix and not first.startswith("#!")) else ""


def _add(given: str, folder: PurePosixPath, root: Path, found: Executed, by: str) -> None:
    """Add a path and, if it is a link, its target. Files outside the workspace are not added."""
    name = given.rpartition("/")[2]
    if UNKNOWN in given:
        if name and UNKNOWN not in name:
            _put(f"**/{name}", found, by)
        return
    if not given or given == ".":
        return
    path = os.path.normpath(root / folder / given)
    for one in (path, os.path.realpath(path)):
        relative = os.path.relpath(one, os.path.realpath(root))
        if not relative.startswith(".."):
            _put(PurePosixPath(relative).as_posix(), found, by)


def _put(path: str, found: Executed, by: str) -> None:
    found.files.add(path)
    if by:
        found.by_script.setdefault(path, set()).add(by)
    else:
        found.direct.add(path)
